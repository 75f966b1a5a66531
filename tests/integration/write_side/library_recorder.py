"""A synchronous recorder of the eventsourcing library, on our event store.

The library calls it from any thread; the asynchronous recorder runs on an event loop in a thread of
its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar
from uuid import UUID

import asyncpg
from eventsourcing.persistence import (
    ApplicationRecorder,
    IntegrityError,
    ListenNotifySubscription,
    Notification,
    OperationalError,
    StoredEvent,
    Subscription,
)

from write_side.store.append import Append
from write_side.store.conflicts import Conflict, StoreUnavailable
from write_side.store.recorder import Recorder, open_recorder

T = TypeVar("T")
EVENTS = "contentlog_event"
"""The channel on which every append announces the position of its last event."""
POLL_SECONDS = 1.0
LARGEST = 2**63 - 1
STREAM = """
SELECT originator_id, originator_version, topic, state FROM write_side.event
WHERE originator_id = $1 AND originator_version > $2 AND originator_version <= $3
ORDER BY CASE WHEN $4 THEN -originator_version ELSE originator_version END LIMIT $5"""
LOG = """
SELECT notification_id, originator_id, originator_version, topic, state FROM write_side.event
WHERE notification_id >= $1 AND notification_id <= $2 AND ($4::text[] = '{}' OR topic = ANY ($4))
ORDER BY notification_id LIMIT $3"""


class SynchronousRecorder(ApplicationRecorder):
    """The library's application recorder on our event store. Close it after use."""

    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._opened: AbstractAsyncContextManager[Recorder] = open_recorder(url)
        try:
            self._recorder: Recorder = self._wait(self._opened.__aenter__())
        except BaseException:
            self._end()
            raise

    def close(self) -> None:
        """Closes the connections. Stop the subscriptions before."""
        try:
            self._wait(self._opened.__aexit__(None, None, None))
        finally:
            self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **_kwargs: Any
    ) -> Sequence[int] | None:
        """Appends all events or none. Raises IntegrityError if a stream has one of the versions."""
        if not stored_events:
            return []
        try:
            appended = self._wait(self._recorder.append(Append(events=stored_events)))
        except Conflict as error:
            raise IntegrityError(str(error)) from error
        return list(range(appended.position, appended.last + 1))

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        last = LARGEST if lte is None else lte
        rows = self._wait(
            self._recorder.fetch(
                STREAM, str(originator_id), -1 if gt is None else gt, last, desc, limit
            )
        )
        return [StoredEvent(**_columns(row)) for row in rows]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        first = (start or 0) + (0 if inclusive_of_start else 1)
        last = LARGEST if stop is None else stop
        rows = self._wait(self._recorder.fetch(LOG, first, last, limit, list(topics)))
        return [_notification(row) for row in rows]

    def max_notification_id(self) -> int | None:
        return self._wait(self._recorder.head()) or None

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        return _Subscription(self, gt, topics)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except StoreUnavailable as error:
            raise OperationalError(str(error)) from error

    async def listen(self, arrived: threading.Event) -> None:
        """Sets the event at every append, and once a second, until cancelled."""

        def wake(*_: object) -> None:
            arrived.set()

        async with self._recorder.pool.acquire() as connection:
            await connection.add_listener(EVENTS, wake)
            try:
                while True:
                    await asyncio.sleep(POLL_SECONDS)
                    arrived.set()
            finally:
                await connection.remove_listener(EVENTS, wake)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop


class _Subscription(ListenNotifySubscription[SynchronousRecorder]):
    """The library's subscription, woken by the store's notifications."""

    def __init__(self, recorder: SynchronousRecorder, gt: int | None, topics: Sequence[str]):
        super().__init__(recorder=recorder, gt=gt, topics=topics)
        self._listening = asyncio.run_coroutine_threadsafe(
            recorder.listen(self._has_been_notified), recorder.loop
        )
        self._listening.add_done_callback(self._fail)

    def _fail(self, listening: Future[None]) -> None:
        """Ends the iteration if listening has failed, because nothing would wake it."""
        if not listening.cancelled():
            self._thread_error = listening.exception()
            super().stop()

    def stop(self) -> None:
        self._listening.cancel()
        super().stop()


def _notification(row: asyncpg.Record) -> Notification:
    return Notification(id=row["notification_id"], **_columns(row))


def _columns(row: asyncpg.Record) -> dict[str, Any]:
    return {
        "originator_id": row["originator_id"],
        "originator_version": row["originator_version"],
        "topic": row["topic"],
        "state": row["state"].encode(),
    }
