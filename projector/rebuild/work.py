"""Long work on the read models: one at a time, and how it goes, for whoever asks."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import asyncpg
from msgspec import Struct

from read_side import schema
from write_side.postgres.connection import Connection

LOCK = 0x636C_6F67_0004
BEAT = 0.5
# Of the server's side: the lock of a machine that is gone is free again after half a minute.
_KEPT_ALIVE = {
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "4",
    "application_name": "contentlog at work",
}
_TRY_LOCK = "SELECT pg_try_advisory_lock($1)"
_BEGIN = """
INSERT INTO projector.work (name, phase, done, total) VALUES ($1, '', 0, 0)
ON CONFLICT (one) DO UPDATE SET
    name = $1, phase = '', done = 0, total = 0, started_at = now(), heartbeat_at = now()"""
_SAY = "UPDATE projector.work SET phase = $1, done = $2, total = $3, heartbeat_at = now()"
_END = "DELETE FROM projector.work"


class AtWork(Exception):
    """Another rebuild, rollback or verify is under way on this database."""

    def __init__(self) -> None:
        super().__init__(
            "another rebuild, rollback or verify is at work on this read model: "
            "see contentlog status, and wait until it is done"
        )


class Progress(Struct, frozen=True):
    """``done`` of ``total``: events, or steps of a phase that has no number of its own."""

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


Tell = Callable[[Progress], None]


class Work:
    """Where the work is, and telling of it."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._phase, self._done, self._total = "", 0, 0
        self._began = time.monotonic()

    def begin(self, phase: str, total: int = 1) -> None:
        """The phase before it has ended."""
        self.end()
        self._phase, self._done, self._total = phase, 0, total
        self._began = time.monotonic()
        self._tell(self.progress())

    def go_on(self, done: int) -> None:
        self._done += done
        self._tell(self.progress())

    def end(self) -> None:
        if self._done < self._total:
            self.go_on(self._total - self._done)

    def progress(self) -> Progress:
        return Progress(self._phase, self._done, self._total, time.monotonic() - self._began)


@asynccontextmanager
async def at_work(read_model_url: str, name: str, tell: Tell) -> AsyncIterator[Work]:
    """The work of this name, alone, its progress kept where ``status`` finds it. Raises AtWork."""
    connection = await asyncpg.connect(read_model_url, timeout=20, server_settings=_KEPT_ALIVE)
    beating: asyncio.Task[None] | None = None
    try:
        with contextlib.suppress(schema.AnotherShape):
            await schema.create(connection)
        if not await connection.fetchval(_TRY_LOCK, LOCK):
            raise AtWork
        await connection.execute(_BEGIN, name)
        work = Work(tell)
        beating = asyncio.create_task(_beat(connection, work))
        yield work
        work.end()
    finally:
        await _end(connection, beating)


async def _end(connection: Connection, beating: asyncio.Task[None] | None) -> None:
    with contextlib.suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
        if beating is not None:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            await connection.execute(_END, timeout=2)
        await connection.close(timeout=2)
    connection.terminate()


async def _beat(connection: Connection, work: Work) -> None:
    while True:
        now = work.progress()
        await connection.execute(_SAY, now.phase, now.done, now.total)
        await asyncio.sleep(BEAT)
