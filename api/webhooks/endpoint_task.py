"""Delivers the changes of one endpoint, one after another.

The next change is not sent before the one before it was delivered. An outcome is recorded while the
next change is sent, so that a process that dies repeats at most two deliveries.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from urllib.parse import urlsplit

import structlog
from msgspec import Struct

from api.webhooks.message import (
    PAGE,
    DeliverablePage,
    FeedChanges,
    Message,
)
from api.webhooks.sender import GONE, Sender
from read_side.refusals import ReadModelUnavailable
from write_side import tracing
from write_side.domain.webhook import Webhook
from write_side.fair_queue import FairQueue
from write_side.postgres.connection import PAUSED, is_transient
from write_side.store.conflicts import StoreUnavailable
from write_side.store.webhook_cursors import Cursors, Move, MoveRecorder, Outcome
from write_side.waiting import raise_if_cancelled

SKIPPED = 1_000
"""Positions without a selected change after which the cursor is moved over them."""
HEALTHY, FAILING = 256, 64
"""Deliveries at a time to endpoints whose last delivery succeeded, and to the others."""
FRESH = 1.0
"""Seconds for which the entries and secrets that were read with a page are used."""
FAULT_PAUSE = 5.0
MARGIN = 1.0
"""Seconds between the end of a lease and the moment at which another process takes over."""
FIRST = 4.0
"""Seconds, at most, until the first retry."""
LONGEST = 3600.0
PATIENCE = 3 * 86_400.0
"""Seconds of failures after which an endpoint is switched off."""
_log = structlog.get_logger("api.webhooks")

SwitchOff = Callable[[Webhook, str], Awaitable[None]]


class DeliveryLimits:
    """Endpoints that fail have a separate limit, so that any number of them cannot delay the
    others. A workspace has only its share of each limit, because endpoints may also be slow."""

    def __init__(self) -> None:
        self._healthy = FairQueue(HEALTHY, sys.maxsize, per_client=None)
        self._failing = FairQueue(FAILING, sys.maxsize, per_client=None)

    def turn(self, workspace: str, attempt: int) -> AbstractAsyncContextManager[None]:
        turns = self._healthy if attempt == 0 else self._failing
        return turns.turn(workspace, patient=True)


class Lease:
    """How long this process may deliver without asking the database whether it is the active one.
    Measured by the monotonic clock, which continues while a process is paused."""

    def __init__(self) -> None:
        self._until = 0.0

    def renew(self, began: float) -> None:
        """``began``: the time before the database confirmed it."""
        self._until = began + PAUSED - MARGIN

    def check(self) -> None:
        """Raises LeaseExpired."""
        if time.monotonic() > self._until:
            raise LeaseExpired


class LeaseExpired(Exception):
    """Another process may be active."""


class DeliveryContext(Struct, frozen=True):
    """What the tasks of all endpoints share. ``cause``: the trace context of the request that an
    event came from, by its position."""

    changes: FeedChanges
    cursors: Cursors
    recorder: MoveRecorder
    sender: Sender
    switch_off: SwitchOff
    limits: DeliveryLimits
    lease: Lease
    cause: Callable[[int], Awaitable[str | None]]


class CursorMoved(Exception):
    """The cursor is no longer where this task left it: it was replayed, or another process
    delivers."""


class EndpointTask:
    """``wake`` announces that there may be changes."""

    def __init__(self, endpoint: Webhook, shared: DeliveryContext) -> None:
        self.endpoint = endpoint
        self._shared = shared
        self._arrived = asyncio.Event()
        # The cursor as it is stored, and the position up to which no change is left.
        self._stored = self._seen = self._attempt = 0
        self._limit = PAGE
        self._recording: asyncio.Task[float | None] | None = None

    def wake(self) -> None:
        self._arrived.set()

    async def run(self) -> None:
        """Delivers until it is cancelled, or the endpoint is switched off."""
        try:
            await self._run()
        finally:
            if self._recording is not None:
                self._recording.cancel()

    async def _run(self) -> None:
        while True:
            try:
                if await self._follow():
                    return
            except CursorMoved:
                pass
            except LeaseExpired:
                await asyncio.sleep(MARGIN)
            except Exception as error:
                raise_if_cancelled(error)
                await self._wait_after(error)

    async def _wait_after(self, error: Exception) -> None:
        if isinstance(error, StoreUnavailable | ReadModelUnavailable):
            _log.warning("deliveries wait for a database", **self._about, fault=repr(error))
            await asyncio.sleep(FAULT_PAUSE / 5)
            return
        if not is_transient(error):
            _log.error("deliveries failed unexpectedly", **self._about, exc_info=error)
        await asyncio.sleep(FAULT_PAUSE)

    @property
    def _about(self) -> dict[str, str]:
        """For logs. The URL may have a secret in its query."""
        return {"workspace": self.endpoint.workspace, "webhook": self.endpoint.name}

    async def _follow(self) -> bool:
        """Returns True when the endpoint was switched off."""
        await self._open()
        while True:
            self._arrived.clear()
            page = await self._shared.changes.page(self.endpoint, self._seen, self._limit)
            if not page.messages:
                await self._skip(page.position)
                await self._arrived.wait()
            elif await self._deliver(page):
                return True

    async def _open(self) -> None:
        """Raises CursorMoved if the endpoint is not in the log: it will be removed here too."""
        self._recording = None
        found = await self._shared.cursors.open([self.endpoint])
        cursor = found.get(self.endpoint.key)
        if cursor is None or cursor.created != self.endpoint.created:
            await asyncio.sleep(FAULT_PAUSE)
            raise CursorMoved
        self._stored = self._seen = cursor.position
        self._attempt = cursor.attempt
        await asyncio.sleep(cursor.wait)

    async def _skip(self, position: int) -> None:
        await self._recorded()
        self._seen = max(self._seen, position)
        if self._seen - self._stored >= SKIPPED:
            if not await self._shared.cursors.skip(self.endpoint, self._stored, self._seen):
                raise CursorMoved
            self._stored = self._seen

    async def _deliver(self, page: DeliverablePage) -> bool:
        """Delivers the page, up to the first failure or until it is no longer fresh. In the latter
        case, the next page has only as many changes as were delivered. Returns True if the
        endpoint was switched off."""
        began = time.monotonic()
        secrets = await self._shared.cursors.secrets(*self.endpoint.key)
        for number, message in enumerate(page.messages, 1):
            outcome = await self._send(message, secrets)
            await self._recorded()
            if outcome.error is not None:
                return await self._failed(outcome)
            if self._attempt:
                _log.info("deliveries succeed again", **self._about)
            self._record(message.position, outcome)
            self._seen, self._attempt = message.position, 0
            if time.monotonic() - began > FRESH:
                self._limit = number
                return False
        self._limit = min(2 * self._limit, PAGE)
        return False

    async def _send(self, message: Message, secrets: list[str]) -> Outcome:
        attempt = self._attempt + 1
        if not secrets:
            reason = "no secret to sign with: run `contentlog webhook rotate`"
            return Outcome(message_id=message.id, type=message.type, attempt=attempt, error=reason)
        check = self._shared.lease.check
        async with self._shared.limits.turn(self.endpoint.workspace, self._attempt):
            check()
            with await self._span(message, attempt) as span:
                outcome = await self._shared.sender.send(
                    self.endpoint.url, message, secrets, attempt, check
                )
                _describe(span, outcome)
                return outcome

    async def _span(self, message: Message, attempt: int) -> tracing.Span:
        """Linked with the trace of the request that made the change."""
        if tracing.tracer() is None:
            return tracing.NO_SPAN
        about: tracing.Attributes = {
            "http.request.method": "POST",
            "http.request.resend_count": attempt - 1,
            "server.address": urlsplit(self.endpoint.url).hostname or "",
            "contentlog.workspace": self.endpoint.workspace,
            "contentlog.webhook": self.endpoint.name,
            "contentlog.change": message.type,
            "contentlog.position": message.position,
        }
        cause = await self._shared.cause(message.position)
        return tracing.caused(cause, "POST webhook", "client", about)

    async def _failed(self, outcome: Outcome) -> bool:
        """Waits for the next try, or switches the endpoint off and returns True."""
        if not self._attempt:
            _log.warning("deliveries fail", **self._about, reason=outcome.error)
        self._attempt += 1
        delay = retry_delay(self._attempt)
        self._record(self._stored, outcome, delay)
        failing = await self._recorded()
        if outcome.status == GONE or failing >= PATIENCE:
            reason = self._reason(outcome)
            _log.error("switched off", **self._about, reason=reason)
            await self._shared.switch_off(self.endpoint, reason)
            return True
        await asyncio.sleep(delay)
        return False

    def _reason(self, outcome: Outcome) -> str:
        if outcome.status == GONE:
            return "the endpoint answered 410 Gone"
        days = f"{PATIENCE / 86_400:.0f} days"
        return f"no delivery has succeeded for {days}; the last failure: {outcome.error}"

    def _record(self, position: int, outcome: Outcome, delay: float = 0.0) -> None:
        move = Move(
            endpoint=self.endpoint,
            after=self._stored,
            position=position,
            outcome=outcome,
            delay=delay,
        )
        self._stored = position
        self._recording = asyncio.create_task(self._shared.recorder.record(move))

    async def _recorded(self) -> float:
        """Waits until the last outcome is recorded; returns since how many seconds the endpoint
        fails. Raises CursorMoved."""
        recording, self._recording = self._recording, None
        if recording is None:
            return 0.0
        failing = await recording
        if failing is None:
            raise CursorMoved
        return failing


def _describe(span: tracing.Span, outcome: Outcome) -> None:
    if outcome.status is not None:
        span.set("http.response.status_code", outcome.status)
    if outcome.error is not None:
        span.fail("no response" if outcome.status is None else str(outcome.status))


def retry_delay(attempt: int) -> float:
    """Seconds until the next try after so many failed ones: doubled each time up to LONGEST, and
    between half of that and all of it at random, so that endpoints of one host do not retry
    together."""
    longest = min(FIRST * 2 ** min(attempt - 1, 30), LONGEST)
    return random.uniform(longest / 2, longest)  # noqa: S311
