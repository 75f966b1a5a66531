"""The state of deliveries beside the log: cursors, the last deliveries, and signing secrets.

A rebuild of the read model does not affect it. Everything is bounded per endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple

from write_side.domain.webhook import Name, Webhook
from write_side.postgres.connection import Fetch
from write_side.postgres.statements import statement
from write_side.waiting import raise_if_cancelled

KEPT = 200
"""Deliveries that are kept for each endpoint."""
BATCH = 500
"""Outcomes that one statement records."""
CHANNEL = "contentlog_webhook"
"""Notified when a command or the dashboard moves a cursor, with the workspace and the name of the
endpoint: ``acme/search``."""
ACTIVE_LOCK = 0x636C_6F67_0007
"""The session lock of the process that delivers."""
_OPEN = statement("write_side", "open_webhook_cursors")
_CURSORS = statement("write_side", "webhook_cursors")
_RECORD = statement("write_side", "record_deliveries")
_RECORD_TEST = statement("write_side", "record_test_delivery")
_SKIP = statement("write_side", "skip_webhook_changes")
_DELIVERIES = statement("write_side", "webhook_deliveries")
_MOVE = statement("write_side", "move_webhook_cursor")
_SECRETS = statement("write_side", "webhook_secrets")
_TIME_AT = "SELECT at FROM write_side.event WHERE notification_id = $1"
_TOTALS = statement("write_side", "webhook_totals")

DeliveryOutcome = Literal["", "delivered", "failed", "3xx", "4xx", "5xx", "none"]


class Cursor(Struct, frozen=True):
    """``position``: of the last change that was delivered. ``attempt``: failed tries of the next
    one. ``wait``: seconds until it is tried again."""

    created: int
    position: int
    attempt: int = 0
    deliveries: int = 0
    failures: int = 0
    failing_since: datetime | None = None
    wait: float = 0.0


class Outcome(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a delivery. ``error`` is None if it was delivered, ``status`` if there was no
    response. ``response``: its beginning. The fields are in the order of the parameters of
    ``record_deliveries`` and ``record_test_delivery``."""

    message_id: str
    type: str
    attempt: int = 1
    status: int | None = None
    error: str | None = None
    duration_ms: int = 0
    response: str = ""


class Move(Struct, frozen=True, kw_only=True):
    """An outcome that moves a cursor from ``after`` to ``position``, the same if the delivery
    failed; the next try is then in ``delay`` seconds."""

    endpoint: Webhook
    after: int
    position: int
    outcome: Outcome
    delay: float = 0.0


class Delivery(Outcome, frozen=True, kw_only=True):
    """A delivery that was made; ``number`` counts those of its endpoint."""

    number: int
    at: datetime


class Totals(Struct, frozen=True):
    """The sums over all endpoints. ``active``: whether a process delivers."""

    deliveries: int
    failures: int
    active: bool


class Cursors:
    """Reads and writes through ``fetch``, and raises what that raises."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    async def open(self, endpoints: Sequence[Webhook]) -> dict[Name, Cursor]:
        """The cursors of the endpoints. A new endpoint's is at the event that created it."""
        if not endpoints:
            return {}
        opened = [(*one.key, one.created, one.changed_at) for one in endpoints]
        await self._fetch(_OPEN, *map(list, zip(*opened, strict=True)))
        return await self.find(one.key for one in endpoints)

    async def find(self, names: Iterable[Name]) -> dict[Name, Cursor]:
        wanted = list(names)
        rows = await self._fetch(_CURSORS, [one[0] for one in wanted], [one[1] for one in wanted])
        return {(workspace, name): Cursor(*state) for workspace, name, *state in rows}

    async def record(self, moves: Sequence[Move]) -> dict[Name, float]:
        """Records deliveries, at most one of each endpoint, and moves their cursors.

        Returns for how many seconds each endpoint has been failing, 0 if it is not. A cursor that
        is no longer at ``after`` is not moved, and its endpoint is missing.
        """
        made = [
            (
                *move.endpoint.key,
                move.endpoint.created,
                move.after,
                move.position,
                move.outcome.error is None,
                move.delay,
                *astuple(move.outcome),
            )
            for move in moves
        ]
        rows = await self._fetch(_RECORD, *map(list, zip(*made, strict=True)), KEPT)
        return {(row["workspace"], row["name"]): row["failing"] for row in rows}

    async def skip(self, endpoint: Webhook, after: int, position: int) -> bool:
        """Moves the cursor over changes that the endpoint does not select. False if it is no longer
        at ``after``."""
        place = (endpoint.workspace, endpoint.name, endpoint.created)
        return bool(await self._fetch(_SKIP, *place, after, position))

    async def record_test(self, workspace: str, name: str, outcome: Outcome) -> None:
        """Records a delivery that is not of a change."""
        await self._fetch(_RECORD_TEST, workspace, name, *astuple(outcome), KEPT)

    async def deliveries(
        self,
        workspace: str,
        name: str,
        *,
        outcome: DeliveryOutcome = "",
        since: datetime | None = None,
        limit: int = KEPT,
    ) -> list[Delivery]:
        """The last deliveries, newest first. ``outcome`` "none": without a response; "": any."""
        rows = await self._fetch(_DELIVERIES, workspace, name, outcome, since, limit)
        return [Delivery(**row) for row in rows]

    async def move(self, workspace: str, name: str, position: int) -> bool:
        """Continues after the position, and forgets earlier failures. False without a cursor."""
        return bool(await self._fetch(_MOVE, workspace, name, position))

    async def secrets(self, workspace: str, name: str) -> list[str]:
        """The secrets that sign, the newest first."""
        return [row["secret"] for row in await self._fetch(_SECRETS, workspace, name)]

    async def time_at(self, position: int) -> datetime | None:
        """The time of the event at the position."""
        rows = await self._fetch(_TIME_AT, position)
        return rows[0]["at"] if rows else None

    async def totals(self) -> Totals:
        [row] = await self._fetch(_TOTALS, ACTIVE_LOCK)
        return Totals(**row)


_Waiting: TypeAlias = tuple[Move, asyncio.Future[float | None]]


class MoveRecorder:
    """Records the outcomes of all endpoints together, with one statement for those that have
    arrived while the one before it ran."""

    def __init__(self, cursors: Cursors) -> None:
        self._cursors = cursors
        self._waiting: list[_Waiting] = []
        self._arrived = asyncio.Event()

    async def record(self, move: Move) -> float | None:
        """For how many seconds the endpoint has been failing, 0 if it is not; None if something
        else moved its cursor, so that the outcome is not recorded. The outcomes of one endpoint are
        recorded one after another.

        Raises what the statement raises.
        """
        recorded: asyncio.Future[float | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((move, recorded))
        self._arrived.set()
        return await recorded

    async def run(self) -> None:
        """Records until it is cancelled."""
        while True:
            await self._arrived.wait()
            batch = self._take()
            if not self._waiting:
                self._arrived.clear()
            await self._record(batch)

    def _take(self) -> list[_Waiting]:
        """The next moves, at most one of each endpoint. A replayed endpoint has a new task, and the
        move of its previous task may still be waiting."""
        batch: dict[Name, _Waiting] = {}
        left: list[_Waiting] = []
        for one in self._waiting:
            name = one[0].endpoint.key
            if name in batch or len(batch) == BATCH:
                left.append(one)
            else:
                batch[name] = one
        self._waiting = left
        return list(batch.values())

    async def _record(self, batch: list[_Waiting]) -> None:
        try:
            found = await self._cursors.record([move for move, _ in batch])
        except Exception as error:
            for _, recorded in batch:
                if not recorded.done():
                    recorded.set_exception(error)
            raise_if_cancelled(error)
            return
        for move, recorded in batch:
            if not recorded.done():
                recorded.set_result(found.get(move.endpoint.key))
