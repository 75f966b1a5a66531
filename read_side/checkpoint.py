"""The read model's checkpoint, and waiting until it has passed a position."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import structlog

from write_side.postgres.connection import connect

CHANNEL = "contentlog_projected"
POLL = 1.0
"""Seconds between two reads of the checkpoint."""
POLL_WAITING = 0.05
"""The same while a request waits, in case notifications fail."""
PATIENCE = 5.0
"""Seconds until a connection on which the database does not respond is replaced."""
_POSITION = "SELECT position FROM read_model.checkpoint"
_log = structlog.get_logger("read_side.checkpoint")


class CheckpointWatch:
    """Follows the checkpoint through the projector's notifications, and also reads it every
    second."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._wanted = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None
        self.position = 0

    async def __aenter__(self) -> CheckpointWatch:
        self._watching = asyncio.create_task(self._watch(), name="checkpoint watch")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._watching is not None
        self._watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watching

    async def wait(self, position: int, patience: float) -> bool:
        """Returns whether the read model has passed the position within ``patience`` seconds."""
        if self.position >= position:
            return True
        passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[passed] = position
        self._wanted.set()
        try:
            # Never wait_for: in Python 3.11 it may swallow the caller's cancellation.
            async with asyncio.timeout(patience):
                await passed
        except TimeoutError:
            return False
        finally:
            self._waiting.pop(passed, None)
        return True

    async def _watch(self) -> None:
        while True:
            try:
                await self._listen()
            except Exception as error:
                _log.warning("the checkpoint cannot be read", fault=repr(error))
                await asyncio.sleep(0.2)

    async def _listen(self) -> None:
        connection = await connect(self._url, timeout=PATIENCE, command_timeout=PATIENCE)
        try:
            await connection.add_listener(CHANNEL, self._on_notification)
            # A restored database may be at an earlier position.
            self.position = 0
            while True:
                known = self.position
                position = await connection.fetchval(_POSITION)
                if position < known:
                    # The same holds for a read model that was rebuilt from a restored log.
                    self.position = position
                self._passed(position)
                await self._pause()
        finally:
            connection.terminate()

    async def _pause(self) -> None:
        """Waits for the next read: a second, or less while a request waits."""
        if not self._waiting:
            self._wanted.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL):
                    await self._wanted.wait()
        await asyncio.sleep(POLL_WAITING)

    def _on_notification(self, *notification: Any) -> None:
        self._passed(int(notification[-1]))

    def _passed(self, position: int) -> None:
        """The read model has passed the position: wakes all that wait for it or an earlier one."""
        # A notification may overtake the result of an earlier read.
        self.position = max(self.position, position)
        for waiting, wanted in list(self._waiting.items()):
            if wanted <= self.position and not waiting.done():
                waiting.set_result(None)


async def wait_until_visible(url: str, position: int, patience: float) -> bool:
    """Like ``CheckpointWatch.wait``, for the read model at a PostgreSQL URL."""
    async with CheckpointWatch(url) as watch:
        return await watch.wait(position, patience)
