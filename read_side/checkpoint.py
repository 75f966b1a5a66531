"""The read model's checkpoint, and waiting until it has passed a position."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec
import structlog
from msgspec import Struct

from read_side.changes import ChangeRecord
from read_side.engine import is_distributed
from read_side.freshness import Freshness
from read_side.high_water_mark import HighWaterMark, open_high_water_mark
from read_side.notices import CHANNEL, decode_notice
from read_side.schema import CHECKPOINT, Workspaces, existing_checkpoint, workspaces_of
from read_side.stamp import position_of, stamp_of
from write_side import tracing
from write_side.domain.identity import Scope
from write_side.postgres.connection import Connection, connect
from write_side.postgres.faults import FaultLog
from write_side.waiting import cancel, wait_until_set

POLL = 0.5
"""Seconds between two reads of the checkpoint."""
POLL_WAITING = 0.05
"""The same while a request waits, in case notifications fail."""
PATIENCE = 5.0
"""Seconds until a connection on which the database does not respond is replaced."""
Arrived = Mapping[Scope, list[ChangeRecord] | None]
_ANNOUNCED = "SELECT epoch, position FROM projector.announced"
_log = structlog.get_logger("read_side.checkpoint")


class LiveCheckpoint(Struct, frozen=True):
    """The checkpoint of the live read model: what was announced, which every reader gets.

    ``latest``: that of the server. On Citus, it may be later than what was announced, but not
    earlier than what any worker shows (ADR 59).
    """

    epoch: int
    position: int
    latest: int
    moved_at: datetime
    workspaces: Workspaces

    @property
    def stamp(self) -> int:
        return stamp_of(self.epoch, self.position)


class CheckpointWatch:
    """Follows the checkpoint through the projector's notices, and also reads it twice a second.

    Raises ``mark`` to each checkpoint before reporting it. ``on_change`` gets the scopes in which
    something changed, or None for all, and for each the new changes in its feed, or None if they
    must be read; they can be read by then. ``workspaces``: those that the read model held when the
    checkpoint was last read.
    """

    def __init__(self, url: str, mark: HighWaterMark | None = None) -> None:
        self._url = url
        self._mark = mark or HighWaterMark()
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._wanted = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None
        self._announced = (-1, -1)
        """The epoch and the position up to which ``on_change`` was called."""
        self._ahead = -1
        self.on_change: Callable[[Arrived | None], None] = lambda _: None
        self.freshness = Freshness(self._mark)
        self.position = 0
        self.is_listening = False
        self.workspaces: Workspaces = None
        self._first_read = asyncio.Event()

    async def __aenter__(self) -> CheckpointWatch:
        self._watching = asyncio.create_task(self._watch(), name="checkpoint watch")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._watching is not None
        await cancel(self._watching)

    def holds(self, workspace: str) -> bool:
        """Whether the read model has this workspace."""
        return self.workspaces is None or workspace in self.workspaces

    async def first_read(self, patience: float) -> None:
        """Waits until the checkpoint was read once, at most this many seconds."""
        await wait_until_set(self._first_read, patience)

    async def wait(self, position: int, patience: float) -> bool:
        """Returns whether the read model has passed the position within ``patience`` seconds."""
        if self.position >= position:
            return True
        passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[passed] = position
        self._wanted.set()
        attributes: tracing.Attributes = {"contentlog.position": position}
        with tracing.span("wait until visible", attributes=attributes) as span:
            try:
                # Never wait_for: in Python 3.11 it may swallow the caller's cancellation.
                async with asyncio.timeout(patience):
                    await passed
            except TimeoutError:
                pass
            finally:
                del self._waiting[passed]
            is_visible = not passed.cancelled()
            span.set("contentlog.visible", is_visible)
            return is_visible

    async def _watch(self) -> None:
        faults = FaultLog(_log, "the checkpoint cannot be read")
        while True:
            try:
                await self._listen()
            except Exception as error:
                faults.add(error)
                await asyncio.sleep(0.2)

    async def _listen(self) -> None:
        connection = await connect(self._url, timeout=PATIENCE, command_timeout=PATIENCE)
        try:
            connection.add_termination_listener(self._on_termination)
            await connection.add_listener(CHANNEL, self._on_notification)
            self.is_listening = True
            # A restored database may be at an earlier position.
            self.position = 0
            self._announced = (-1, -1)
            while True:
                await self._poll(connection)
                await self._pause()
        finally:
            self.is_listening = False
            self.freshness.reset()
            connection.terminate()

    async def _poll(self, connection: Connection) -> None:
        if not self._mark.is_in_place():
            self.freshness.reset()
        known, poll = self.position, self.freshness.begin_poll()
        live = await fetch_checkpoint(connection)
        self.workspaces = live.workspaces
        self._first_read.set()
        if live.latest < poll.mark:
            # By a crash, a failover to a standby that was behind, or a restore (ADR 38, 58).
            before = position_of(poll.mark)
            _log.warning("the read model was set back", position=live.position, before=before)
        self.freshness.end_poll(poll, live.stamp, live.latest)
        if live.position < known:
            # So may a read model that was rebuilt from a restored log.
            self.position = live.position
        self._passed(live.position)
        self._announce_missed(live.epoch, live.position)

    async def _pause(self) -> None:
        """Waits for the next read: half a second, or less while a request waits."""
        if not self._waiting:
            self._wanted.clear()
            await wait_until_set(self._wanted, POLL)
        await asyncio.sleep(POLL_WAITING)

    def _on_notification(self, *notification: Any) -> None:
        try:
            notice = decode_notice(notification[-1])
        except msgspec.DecodeError:
            # From another version: the next poll shows that something was missed.
            self._wanted.set()
            return
        self.freshness.on_notice(notice)
        self._passed(notice.position)
        follows = (notice.epoch, notice.after) == self._announced
        self._announced = (notice.epoch, notice.position)
        is_known = follows and notice.changed is not None
        self.on_change(notice.environments() if is_known else None)

    def _announce_missed(self, epoch: int, position: int) -> None:
        """A poll may be faster than a notice; one that has not arrived by the next poll is lost."""
        known_epoch, known = self._announced
        if epoch != known_epoch or known < self._ahead:
            self._announced = (epoch, position)
            self.on_change(None)
        self._ahead = position if position > self._announced[1] else -1

    def _on_termination(self, _connection: Any) -> None:
        self.freshness.reset()
        # The next server may be behind this one, so a position waits for that one's checkpoint.
        self.position = 0

    def _passed(self, position: int) -> None:
        """The read model has passed the position: wakes all that wait for it or an earlier one."""
        # A notification may overtake the result of an earlier read.
        self.position = max(self.position, position)
        for waiting, wanted in list(self._waiting.items()):
            if wanted <= self.position and not waiting.done():
                waiting.set_result(None)


async def wait_until_visible(url: str, position: int, patience: float) -> bool:
    """Like ``CheckpointWatch.wait``, for the read model at a PostgreSQL URL."""
    with open_high_water_mark(url) as mark:
        async with CheckpointWatch(url, mark) as watch:
            return await watch.wait(position, patience)


async def fetch_checkpoint(connection: Connection) -> LiveCheckpoint:
    row = existing_checkpoint(await connection.fetchrow(CHECKPOINT))
    announced = await connection.fetchrow(_ANNOUNCED) if await is_distributed(connection) else row
    assert announced is not None
    return LiveCheckpoint(
        announced["epoch"],
        announced["position"],
        stamp_of(row["epoch"], row["position"]),
        row["moved_at"],
        workspaces_of(row),
    )
