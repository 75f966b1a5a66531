"""The two databases of an installation: by their URLs, or the embedded PostgreSQL."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from deploy.settings import Settings, without_password

if TYPE_CHECKING:
    import asyncpg

    from read_side.pool import Pool
    from write_side.repository import Repository

    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

CHECKING = 5.0  # seconds


class Unreachable(Exception):
    """A database cannot be connected to; the text is one line that names the setting."""


class Databases(Struct, frozen=True):
    event_store_url: str
    read_model_url: str

    def environment(self) -> dict[str, str]:
        """What tells a child process to use the same ones."""
        return {
            "CONTENTLOG_EVENT_STORE_URL": self.event_store_url,
            "CONTENTLOG_READ_MODEL_URL": self.read_model_url,
        }


@contextmanager
def databases(settings: Settings, *, make: bool = True) -> Iterator[Databases]:
    """Both URLs. Where one is not set, the embedded PostgreSQL is in use meanwhile.

    ``make=False`` is for who only looks: raises EmbeddedPostgresError where there is nothing yet.
    Raises MigrationError where the event store is of an unreleased version.
    """
    with _located(settings, make=make) as found:
        asyncio.run(_check_event_store(found.event_store_url))
        yield found


async def _check_event_store(url: str) -> None:
    """A database that cannot be reached is for the command to report, or to wait for."""
    import asyncpg

    from write_side.store.migrations import check_released

    with suppress(OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection = await asyncpg.connect(url, timeout=CHECKING, command_timeout=CHECKING)
        try:
            await check_released(connection)
        finally:
            await connection.close(timeout=CHECKING)


@contextmanager
def _located(settings: Settings, *, make: bool) -> Iterator[Databases]:
    if settings.event_store_url and settings.read_model_url:
        yield Databases(settings.event_store_url, settings.read_model_url)
        return
    from deploy.embedded.place import check_made
    from deploy.embedded.server import use

    if not make:
        check_made(Path(settings.data))
    with ExitStack() as leaving:
        leaving.enter_context(_hearing_again())
        embedded = leaving.enter_context(use(Path(settings.data)))
        # From here on signals are ignored: a server half stopped would stay behind.
        leaving.callback(_grow_deaf)
        yield Databases(settings.event_store_url or embedded, settings.read_model_url or embedded)


@asynccontextmanager
async def open_repository(found: Databases) -> AsyncIterator[Repository]:
    """A repository on the event store. Raises Unreachable."""
    from write_side.repository import Repository
    from write_side.store.mapper import EventMapper
    from write_side.store.recorder import open_recorder

    async with AsyncExitStack() as stack:
        with _named("CONTENTLOG_EVENT_STORE_URL", found.event_store_url):
            opening = open_recorder(found.event_store_url, connections=4)
            recorder = await stack.enter_async_context(opening)
        yield Repository(recorder, EventMapper())


@asynccontextmanager
async def open_read_model(found: Databases) -> AsyncIterator[Pool]:
    """Connections that read the read model. Raises Unreachable."""
    from read_side.pool import open_pool

    async with AsyncExitStack() as stack:
        with _named("CONTENTLOG_READ_MODEL_URL", found.read_model_url):
            pool = await stack.enter_async_context(open_pool(found.read_model_url))
        yield pool


@asynccontextmanager
async def connected(setting: str, url: str) -> AsyncIterator[Connection]:
    """One connection to the database that a setting names. Raises Unreachable."""
    import asyncpg

    with _named(setting, url):
        connection = await asyncpg.connect(url, timeout=20)
    try:
        yield connection
    finally:
        await connection.close()


@contextmanager
def _named(setting: str, url: str) -> Iterator[None]:
    """What keeps a connection from being made, with the setting that it comes from."""
    import asyncpg

    try:
        yield
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        reason = str(error) or type(error).__name__
        raise Unreachable(
            f"PostgreSQL at {without_password(url)} cannot be used ({reason}): see {setting}"
        ) from error


STOPPING = (signal.SIGINT, signal.SIGTERM)


def _grow_deaf() -> None:
    if threading.current_thread() is threading.main_thread():
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def _hearing_again() -> Iterator[None]:
    before = [signal.getsignal(number) for number in STOPPING]
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in zip(STOPPING, before, strict=True):
                signal.signal(number, handler)
