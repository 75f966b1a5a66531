"""The eventsourcing library's own classes with our mapper and our store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from eventsourcing.persistence import EventStore, IntegrityError, Notification
from msgspec.structs import replace

from tests.integration.write_side import library_recorder
from tests.integration.write_side.library_recorder import SynchronousRecorder
from tests.integration.write_side.sample_commands import plain
from tests.unit.samples import NOON, created, deleted, updated
from write_side.domain.identity import entry_stream
from write_side.store.mapper import EventMapper, StreamEvent

STREAM = entry_stream("018f0000-0000-7000-8000-000000000001")
EVENTS = [
    StreamEvent(STREAM, 1, created()),
    StreamEvent(STREAM, 2, updated(title="New title", at=NOON)),
    StreamEvent(STREAM, 3, deleted(at=NOON)),
]


def got(store: EventStore[Any], **options: Any) -> list[StreamEvent]:
    """The stream's events, at the time of the samples."""
    found: list[Any] = list(store.get(STREAM, **options))
    return [replace(one, event=replace(one.event, at=NOON)) for one in found]


@pytest.fixture
def synchronous(database_url: str) -> Iterator[SynchronousRecorder]:
    recorder = SynchronousRecorder(database_url)
    yield recorder
    recorder.close()


def test_event_store_of_the_library_puts_and_gets_our_events(
    synchronous: SynchronousRecorder,
) -> None:
    store = EventStore(EventMapper(), synchronous)
    recordings = store.put(EVENTS)
    assert [recording.notification.id for recording in recordings] == [1, 2, 3]
    assert [recording.notification.topic for recording in recordings] == [
        "entry.created.v1",
        "entry.updated.v1",
        "entry.deleted.v1",
    ]
    assert got(store) == EVENTS
    assert got(store, gt=1) == EVENTS[1:]
    assert got(store, lte=2) == EVENTS[:2]
    assert got(store, desc=True, limit=1) == EVENTS[2:]


def test_event_store_of_the_library_refuses_a_version_twice(
    synchronous: SynchronousRecorder,
) -> None:
    store = EventStore(EventMapper(), synchronous)
    store.put(EVENTS[:2])
    with pytest.raises(IntegrityError):
        store.put(EVENTS[1:])
    assert got(store) == EVENTS[:2]


def test_putting_no_events_stores_nothing(synchronous: SynchronousRecorder) -> None:
    assert EventStore(EventMapper(), synchronous).put([]) == []
    assert synchronous.max_notification_id() is None


def test_threads_share_one_recorder(synchronous: SynchronousRecorder) -> None:
    def put(n: int) -> int:
        positions = synchronous.insert_events(plain(f"test/{n}").events)
        assert positions is not None
        return positions[0]

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(put, range(40))) == list(range(1, 41))


def test_subscription_is_woken_by_the_append(
    synchronous: SynchronousRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without polling: the second event is announced while the reader waits."""
    monkeypatch.setattr(library_recorder, "POLL_SECONDS", 3600.0)
    with synchronous.subscribe() as subscription:
        _until_listening(synchronous)
        first = _next_in_thread(subscription)
        synchronous.insert_events(plain("test/a").events)
        assert first() == 1
        second = _next_in_thread(subscription)
        synchronous.insert_events(plain("test/b").events)
        assert second() == 2


def test_subscription_from_a_position_to_chosen_topics(synchronous: SynchronousRecorder) -> None:
    EventStore(EventMapper(), synchronous).put(EVENTS)
    with synchronous.subscribe(gt=1) as subscription:
        assert [next(subscription).id, next(subscription).id] == [2, 3]
    with synchronous.subscribe(topics=["entry.deleted.v1"]) as subscription:
        assert next(subscription).id == 3


def test_recorder_that_cannot_open_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    with pytest.raises(OSError, match="No such file"):
        SynchronousRecorder("postgresql://contentlog@/contentlog?host=/nowhere")
    assert threading.active_count() == before


def _until_listening(recorder: SynchronousRecorder) -> None:
    statement = """
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'LISTEN%' AND state = 'idle'"""
    while not recorder._wait(recorder._recorder.fetch(statement)):
        pass


def _next_in_thread(subscription: Iterator[Notification]) -> Callable[[], int]:
    """Starts to wait for the next event. The result is its position."""
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(next(subscription).id))
    thread.start()

    def position() -> int:
        thread.join(timeout=20)
        return found[0]

    return position
