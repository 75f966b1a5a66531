"""Runs one rebuild, rollback or verify at a time, and reports its progress."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

from read_side.engine import Engine, EngineMismatch
from read_side.schema import ShapeMismatch, Workspaces, WorkspacesMismatch, create
from write_side.domain.refusals import ExplainedError
from write_side.postgres.connection import Connection, connect, try_lock
from write_side.postgres.faults import FAULTS

LOCK = 0x636C_6F67_0004
HEARTBEAT = 0.5
PATIENCE = 30.0
"""Seconds to wait for a server that does not respond. After the same time, the server releases the
lock of a machine that is gone."""
_KEEPALIVE = {
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "4",
    "application_name": "contentlog at work",
}
_BEGIN = """
INSERT INTO projector.work (name, phase, done, total) VALUES ($1, '', 0, 0)
ON CONFLICT (one) DO UPDATE SET
    name = $1, phase = '', done = 0, total = 0, started_at = now(), heartbeat_at = now()"""
_UPDATE = "UPDATE projector.work SET phase = $1, done = $2, total = $3, heartbeat_at = now()"
_END = "DELETE FROM projector.work"


class OperationInProgress(ExplainedError):
    """Another rebuild, rollback or verify is running on this database."""

    def __init__(self) -> None:
        super().__init__(
            "another rebuild, rollback or verify is running on this read model: "
            "see contentlog status, and wait until it is done"
        )


class Progress(Struct, frozen=True):
    """``done`` of ``total``: events, or 1 in a phase that counts nothing."""

    phase: str
    done: int
    total: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.done / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        return (self.total - self.done) / self.rate if self.rate else None


Report = Callable[[Progress], None]


class Operation:
    """The phase of an operation, reported whenever it changes. ``begin`` and ``advance`` raise the
    error that ended ``heartbeat``, whose connection holds the lock."""

    def __init__(self, report: Report) -> None:
        self.heartbeat: asyncio.Task[None] | None = None
        self._report = report
        self._phase, self._done, self._total = "", 0, 0
        self._began = time.monotonic()

    def begin(self, phase: str, total: int = 1) -> None:
        """Begins a phase and ends the previous one."""
        self.end()
        self._phase, self._done, self._total = phase, 0, total
        self._began = time.monotonic()
        self.advance(0)

    def advance(self, done: int) -> None:
        if self.heartbeat is not None and self.heartbeat.done():
            self.heartbeat.result()
        self._done += done
        self._report(self.progress())

    def end(self) -> None:
        if self._done < self._total:
            self._done = self._total
            self._report(self.progress())

    def progress(self) -> Progress:
        return Progress(self._phase, self._done, self._total, time.monotonic() - self._began)


@asynccontextmanager
async def exclusive_operation(
    read_model_url: str,
    name: str,
    report: Report,
    workspaces: Workspaces = None,
    engine: Engine = "postgresql",
) -> AsyncIterator[Operation]:
    """Runs an operation while no other runs; ``projector.work`` shows its progress. Creates the
    read model if there is none. Raises OperationInProgress, EngineRefused."""
    connection = await connect(read_model_url, timeout=20, server_settings=_KEEPALIVE)
    operation = Operation(report)
    try:
        with contextlib.suppress(ShapeMismatch, WorkspacesMismatch, EngineMismatch):
            await create(connection, workspaces, engine)
        if not await try_lock(connection, LOCK):
            raise OperationInProgress
        await connection.execute(_BEGIN, name)
        operation.heartbeat = asyncio.create_task(_heartbeat(connection, operation))
        yield operation
        operation.end()
    finally:
        await _end(connection, operation.heartbeat)


async def _end(connection: Connection, heartbeat: asyncio.Task[None] | None) -> None:
    with contextlib.suppress(*FAULTS):
        if heartbeat is not None:
            heartbeat.cancel()
            await asyncio.gather(heartbeat, return_exceptions=True)
            await connection.execute(_END, timeout=2)
        await connection.close(timeout=2)
    connection.terminate()


async def _heartbeat(connection: Connection, operation: Operation) -> None:
    while True:
        now = operation.progress()
        await connection.execute(_UPDATE, now.phase, now.done, now.total, timeout=PATIENCE)
        await asyncio.sleep(HEARTBEAT)
