"""The two databases of an installation, at their URLs or in the embedded PostgreSQL. The read model
is the default one or a named one (ADR 58)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from deploy.environment import check_model_name
from deploy.settings import (
    DEFAULT_MODEL,
    PREFIX,
    ModelEngine,
    Settings,
    SettingsError,
    without_password,
)
from deploy.stopping import ignore_stops, run_stoppable, uninterrupted_end
from write_side.domain.refusals import ExplainedError
from write_side.postgres.pooler import PoolerUrl

if TYPE_CHECKING:
    from read_side.pool import Pool
    from write_side.postgres.connection import Connection
    from write_side.repository import Repository

T = TypeVar("T")

CHECK_TIMEOUT = 5.0  # seconds
CONNECTING = 20.0
"""The most seconds that opening a connection or pool may take."""


class DatabaseUnreachable(ExplainedError):
    """A database cannot be reached; the text is one line that names the setting."""


class ReadModel(Struct, frozen=True):
    """``url`` None: the embedded PostgreSQL. ``pool_url``: through a pooler; None if there is none.
    ``workspaces``: those that it holds; None for all."""

    name: str = DEFAULT_MODEL
    url: str | None = None
    pool_url: PoolerUrl | None = None
    workspaces: tuple[str, ...] | None = None
    replica_urls: tuple[str, ...] = ()
    engine: ModelEngine = "postgresql"

    @property
    def setting(self) -> str:
        """The variable with its URL."""
        return f"{self._prefix}URL"

    @property
    def pool_setting(self) -> str:
        """The variable with the URL of its pooler."""
        return f"{self._prefix}POOL_URL"

    @property
    def replica_setting(self) -> str:
        """The variable with the URLs of its standbys."""
        is_default = self.name == DEFAULT_MODEL
        return f"{PREFIX}READ_REPLICA_URLS" if is_default else f"{self._prefix}REPLICA_URLS"

    @property
    def option(self) -> str:
        """The command-line option that selects it, after a space; empty for the default one."""
        return "" if self.name == DEFAULT_MODEL else f" --read-model {self.name}"

    @property
    def _prefix(self) -> str:
        name = "" if self.name == DEFAULT_MODEL else f"{self.name.upper()}_"
        return f"{PREFIX}READ_MODEL_{name}"


def read_models(settings: Settings) -> tuple[ReadModel, ...]:
    """All that the settings name, the default one first."""
    default = ReadModel(
        url=settings.read_model_url,
        pool_url=_pooler(settings.read_model_pool_url),
        replica_urls=settings.replica_urls,
        engine=settings.read_model_engine,
    )
    named = (
        ReadModel(name, one.url, _pooler(one.pool_url), one.slugs, one.replicas, one.engine)
        for name, one in sorted(settings.named_models.items())
    )
    return (default, *named)


def _pooler(url: str | None) -> PoolerUrl | None:
    return PoolerUrl(url) if url else None


def selected(settings: Settings) -> ReadModel:
    """The one that ``CONTENTLOG_READ_MODEL`` or ``--read-model`` names. Raises SettingsError."""
    known = {model.name: model for model in read_models(settings)}
    if settings.read_model not in known:
        check_model_name(settings.read_model)
        names = ", ".join(f"'{name}'" for name in known)
        raise SettingsError(
            f"there is no read model '{settings.read_model}': choose from {names}, or set "
            f"{ReadModel(settings.read_model).setting}"
        )
    return known[settings.read_model]


class Databases(Struct, frozen=True):
    """``owner_url``: of the event store, for the owner of its tables; None if it is the same.
    ``event_store_pool_url``: through a pooler; None if there is none. ``read_model_url``: of
    ``model``, past its pooler."""

    event_store_url: str
    read_model_url: str
    owner_url: str | None = None
    event_store_pool_url: PoolerUrl | None = None
    model: ReadModel = ReadModel()

    def environment(self) -> dict[str, str]:
        """The variables by which a child process uses the same databases."""
        return {
            "CONTENTLOG_EVENT_STORE_URL": self.event_store_url,
            f"{PREFIX}READ_MODEL": self.model.name,
            self.model.setting: self.read_model_url,
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
def open_databases(settings: Settings, *, create: bool = False) -> Iterator[Databases]:
    """The URLs of the event store and the selected read model. If one is not set, the embedded
    PostgreSQL runs meanwhile.

    Raises SettingsError if there is no such read model, EmbeddedPostgresError if there is no
    database yet and ``create`` is false, MigrationError if the event store is of an unreleased
    version, and UnexpectedPooler.
    """
    with _located(settings, create=create) as found:
        run_stoppable(_check(found))
        yield found


async def _check(databases: Databases) -> None:
    """Ignores an unreachable database, because the command reports that or waits."""
    from write_side.postgres.connection import connected
    from write_side.postgres.faults import FAULTS
    from write_side.store.migrations import check_released

    for url in dict.fromkeys((databases.event_store_url, databases.read_model_url)):
        with suppress(ValueError, *FAULTS):
            opening = connected(url, timeout=CHECK_TIMEOUT, command_timeout=CHECK_TIMEOUT)
            async with opening as connection:
                if url == databases.event_store_url:
                    await check_released(connection)


@contextmanager
def _located(settings: Settings, *, create: bool) -> Iterator[Databases]:
    model, pool_url = selected(settings), _pooler(settings.event_store_pool_url)
    databases = partial(Databases, event_store_pool_url=pool_url, model=model)
    if settings.event_store_url and model.url:
        yield databases(settings.event_store_url, model.url, settings.owner_url)
        return
    from deploy.embedded.place import check_exists
    from deploy.embedded.server import use
    from deploy.embedded.sockets import owner_url

    if not create:
        check_exists(Path(settings.data))
    with uninterrupted_end() as stack:
        embedded = stack.enter_context(use(Path(settings.data)))
        # If interrupted, stopping the server would leave it running.
        stack.callback(ignore_stops)
        owner = settings.owner_url if settings.event_store_url else owner_url(embedded)
        yield databases(settings.event_store_url or embedded, model.url or embedded, owner)


@asynccontextmanager
async def open_repository(databases: Databases) -> AsyncIterator[Repository]:
    """A repository on the event store. Raises DatabaseUnreachable."""
    from write_side.repository import Repository
    from write_side.store.mapper import EventMapper
    from write_side.store.recorder import open_recorder

    url = databases.event_store_url
    opening = open_recorder(url, connections=4)
    async with _reached("CONTENTLOG_EVENT_STORE_URL", url, opening) as recorder:
        yield Repository(recorder, EventMapper())


def open_read_model(databases: Databases) -> AbstractAsyncContextManager[Pool]:
    """A pool of connections to the read model. Raises DatabaseUnreachable."""
    from read_side.pool import open_pool

    url = databases.read_model_url
    return _reached(databases.model.setting, url, open_pool(url))


def open_connection(
    setting: str, url: str, timeout: float = CONNECTING
) -> AbstractAsyncContextManager[Connection]:
    """One connection to the database that a setting names. Raises DatabaseUnreachable."""
    from write_side.postgres.connection import connected

    return _reached(setting, url, connected(url, timeout=timeout))


def connect_event_store(databases: Databases) -> AbstractAsyncContextManager[Connection]:
    return open_connection("CONTENTLOG_EVENT_STORE_URL", databases.event_store_url)


def connect_owner(databases: Databases) -> AbstractAsyncContextManager[Connection]:
    """One connection to the event store, as the owner of its tables."""
    if databases.owner_url is None:
        return connect_event_store(databases)
    return open_connection("CONTENTLOG_OWNER_URL", databases.owner_url)


async def check_event_store(databases: Databases) -> None:
    """Raises DatabaseUnreachable if the event store or its pooler cannot be reached, and one of
    NOT_MIGRATED if the event store is not set up."""
    from write_side.store.access import token_key

    async with open_repository(databases) as repository:
        await token_key(repository.recorder.fetch)
    if (pool := databases.event_store_pool_url) is not None:
        async with open_connection("CONTENTLOG_EVENT_STORE_POOL_URL", pool):
            pass


def connect_read_model(databases: Databases) -> AbstractAsyncContextManager[Connection]:
    return open_connection(databases.model.setting, databases.read_model_url)


@asynccontextmanager
async def wrong_urls_named(databases: Databases) -> AsyncIterator[None]:
    """Raises DatabaseUnreachable, which names the setting, if the database or role of a URL turns
    out not to exist."""
    from asyncpg import InvalidAuthorizationSpecificationError, InvalidCatalogNameError

    try:
        yield
    except (InvalidCatalogNameError, InvalidAuthorizationSpecificationError):
        async with connect_event_store(databases), connect_read_model(databases):
            raise  # it exists again, or the URL of a pooler is wrong


@asynccontextmanager
async def _reached(
    setting: str, url: str, opening: AbstractAsyncContextManager[T]
) -> AsyncIterator[T]:
    """Opens a connection or pool. Raises DatabaseUnreachable, which names the setting if it is
    set."""
    from asyncpg import TooManyConnectionsError

    from write_side.postgres.faults import FAULTS, reason_of_fault

    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(CONNECTING):
                opened = await stack.enter_async_context(opening)
        except (ValueError, *FAULTS) as error:
            reason = reason_of_fault(error)
            remedy = f"check {setting}"
            if not os.environ.get(setting):
                remedy = "see postgres.log in the folder of the embedded PostgreSQL"
            if isinstance(error, TooManyConnectionsError):
                remedy = "close some connections, or raise max_connections or the CONNECTION LIMIT"
            raise DatabaseUnreachable(
                f"cannot connect to PostgreSQL at {without_password(url)} ({reason}): {remedy}"
            ) from error
        yield opened
