"""The two databases of an installation: at their URLs, or the embedded PostgreSQL."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from deploy.settings import Settings, without_password
from write_side.postgres.pooler import PoolerUrl

if TYPE_CHECKING:
    import asyncpg

    from read_side.pool import Pool
    from write_side.repository import Repository

CHECK_TIMEOUT = 5.0  # seconds
STOPPING = (signal.SIGINT, signal.SIGTERM)


class DatabaseUnreachable(Exception):
    """A database cannot be reached; the text is one line that names the setting."""


class Databases(Struct, frozen=True):
    """``owner_url``: of the event store, for the owner of its tables; None if it is the same. The
    pool URLs lead to poolers in front of the databases; None if there are none."""

    event_store_url: str
    read_model_url: str
    owner_url: str | None = None
    event_store_pool_url: PoolerUrl | None = None
    read_model_pool_url: PoolerUrl | None = None

    def environment(self) -> dict[str, str]:
        """The variables by which a child process uses the same databases."""
        return {
            "CONTENTLOG_EVENT_STORE_URL": self.event_store_url,
            "CONTENTLOG_READ_MODEL_URL": self.read_model_url,
        }


def role_of(url: str) -> tuple[str, str | None]:
    """The role that a URL connects as, and its password. Raises DatabaseUnreachable if there is
    none."""
    parts = urlsplit(url)
    if not parts.username:
        raise DatabaseUnreachable(
            "CONTENTLOG_EVENT_STORE_URL names no role: with CONTENTLOG_OWNER_URL it takes "
            "postgresql://role@host/database"
        )
    return unquote(parts.username), unquote(parts.password) if parts.password else None


@contextmanager
def databases(settings: Settings, *, create: bool = True) -> Iterator[Databases]:
    """Both URLs. If one is not set, the embedded PostgreSQL runs meanwhile.

    With ``create=False`` raises EmbeddedPostgresError if there is no database yet. Raises
    MigrationError if the event store is of an unreleased version, and PoolerInTheWay.
    """
    with _located(settings, create=create) as found:
        asyncio.run(_check(found))
        yield found


async def _check(found: Databases) -> None:
    """Ignores an unreachable database, because the command reports that or waits."""
    import asyncpg

    from write_side.postgres.connection import connect
    from write_side.store.migrations import check_released

    for url in dict.fromkeys((found.event_store_url, found.read_model_url)):
        with suppress(OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError):
            connection = await connect(url, timeout=CHECK_TIMEOUT, command_timeout=CHECK_TIMEOUT)
            try:
                if url == found.event_store_url:
                    await check_released(connection)
            finally:
                await connection.close(timeout=CHECK_TIMEOUT)


@contextmanager
def _located(settings: Settings, *, create: bool) -> Iterator[Databases]:
    if settings.event_store_url and settings.read_model_url:
        yield _databases(
            settings, settings.event_store_url, settings.read_model_url, settings.owner_url
        )
        return
    from deploy.embedded.place import check_made
    from deploy.embedded.server import use
    from deploy.embedded.sockets import owner_url

    if not create:
        check_made(Path(settings.data))
    handlers = {number: signal.getsignal(number) for number in STOPPING}
    with ExitStack() as stack:
        stack.callback(_set_handlers, handlers)
        embedded = stack.enter_context(use(Path(settings.data)))
        # Called before the server is stopped; if interrupted, stopping would leave it running.
        stack.callback(_set_handlers, dict.fromkeys(STOPPING, signal.SIG_IGN))
        yield _databases(
            settings,
            settings.event_store_url or embedded,
            settings.read_model_url or embedded,
            settings.owner_url if settings.event_store_url else owner_url(embedded),
        )


def _databases(settings: Settings, store: str, model: str, owner: str | None) -> Databases:
    store_pool, model_pool = settings.event_store_pool_url, settings.read_model_pool_url
    return Databases(
        store,
        model,
        owner,
        PoolerUrl(store_pool) if store_pool else None,
        PoolerUrl(model_pool) if model_pool else None,
    )


def _set_handlers(handlers: Mapping[signal.Signals, Any]) -> None:
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            signal.signal(number, handler)


@asynccontextmanager
async def open_repository(found: Databases) -> AsyncIterator[Repository]:
    """A repository on the event store. Raises DatabaseUnreachable."""
    from write_side.repository import Repository
    from write_side.store.mapper import EventMapper
    from write_side.store.recorder import open_recorder

    async with AsyncExitStack() as stack:
        with _named("CONTENTLOG_EVENT_STORE_URL", found.event_store_url):
            recorder = await stack.enter_async_context(
                open_recorder(found.event_store_url, connections=4)
            )
        yield Repository(recorder, EventMapper())


@asynccontextmanager
async def open_read_model(found: Databases) -> AsyncIterator[Pool]:
    """A pool of connections to the read model. Raises DatabaseUnreachable."""
    from read_side.pool import open_pool

    async with AsyncExitStack() as stack:
        with _named("CONTENTLOG_READ_MODEL_URL", found.read_model_url):
            pool = await stack.enter_async_context(open_pool(found.read_model_url))
        yield pool


@asynccontextmanager
async def open_connection(
    setting: str, url: str
) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """One connection to the database that a setting names. Raises DatabaseUnreachable."""
    from write_side.postgres.connection import connect

    with _named(setting, url):
        connection = await connect(url, timeout=20)
    try:
        yield connection
    finally:
        await connection.close()


@contextmanager
def _named(setting: str, url: str) -> Iterator[None]:
    """Turns a failure to connect into DatabaseUnreachable, which names the setting."""
    import asyncpg

    try:
        yield
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        reason = str(error) or type(error).__name__
        raise DatabaseUnreachable(
            f"cannot connect to PostgreSQL at {without_password(url)} ({reason}): check {setting}"
        ) from error
