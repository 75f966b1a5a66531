"""Test databases, created from a template that is migrated once per run."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import itertools
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from deploy.embedded.sockets import OWNER
from deploy.settings import ModelEngine
from read_side import schema
from tests.cluster import OUTSIDE
from write_side.store.migrations import grant_runtime, migrate

DROPS = 5
"""Number of attempts to drop a database."""
_numbers = itertools.count()
_LOCAL = {"citus.enable_ddl_propagation": "off"}
_DISCONNECT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'"
_FIND = "SELECT count(*) FROM pg_database WHERE datname = $1"
RUNTIME = "contentlog"
"""The role that tests run as, and its password on the developer's own server."""


def with_database(url: str, database: str) -> str:
    """Replaces the database in the URL."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


def runtime_url(url: str) -> str:
    """Returns the URL for the role that contentlog runs as."""
    return _with_user(url, RUNTIME, RUNTIME if os.environ.get(OUTSIDE) else None)


def owner_of(url: str) -> str:
    """Returns the URL for the superuser, who owns the event store."""
    outside = urlsplit(os.environ.get(OUTSIDE, ""))
    return _with_user(url, outside.username or OWNER, outside.password)


def _with_user(url: str, user: str, password: str | None) -> str:
    parts = urlsplit(url)
    password = password or parts.password
    credentials = f"{user}:{password}" if password else user
    return urlunsplit(parts._replace(netloc=f"{credentials}@{parts.netloc.rpartition('@')[2]}"))


class Databases:
    """Creates databases on one cluster. Names are unique to the process, so workers can share it.

    The caller must close it.
    """

    def __init__(
        self,
        cluster: str,
        folder: Path,
        nodes: list[str] | None = None,
        set_up_nodes: Callable[[list[str]], Awaitable[None]] | None = None,
        model_engine: ModelEngine = "postgresql",
    ) -> None:
        """``nodes`` are the URLs of all servers of the cluster. ``set_up_nodes`` gets a new
        database's URL on each of them. ``model_engine`` is the engine of read models."""
        self._cluster = cluster
        self._template = f"template_{folder.name}".replace("-", "_").lower()
        self._loop = asyncio.new_event_loop()
        self._nodes = nodes or [cluster]
        self._set_up_nodes = set_up_nodes
        self._model_engine = model_engine
        self._connections: dict[str, asyncpg.Connection[asyncpg.Record]] = {}
        server = hashlib.sha256(cluster.encode()).hexdigest()[:12]
        with _exclusive(folder / f"template-{server}.lock") as first:
            if first or not self._has_template():
                self._make_template()

    @contextmanager
    def new(self, *, empty: bool = False) -> Iterator[str]:
        """Creates a database with the event store and the read model, or an empty one."""
        name = f"t_{os.getpid()}_{next(_numbers)}"
        template = "template0" if empty else self._template
        # Copying the files takes less than half the time of writing them through WAL.
        self._execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
        self._execute(f'GRANT CREATE ON DATABASE "{name}" TO {RUNTIME}')
        try:
            yield with_database(self._cluster if empty else runtime_url(self._cluster), name)
        finally:
            self._drop(name)

    def close(self) -> None:
        for connection in self._connections.values():
            self._loop.run_until_complete(connection.close())
        self._loop.close()

    def _has_template(self) -> bool:
        """False if the other workers have ended, and stopped the server with the template."""
        self._execute("SELECT 1")
        connection = self._connections[self._nodes[0]]
        found = connection.fetchval(_FIND, self._template)
        return bool(self._loop.run_until_complete(found))

    def _make_template(self) -> None:
        self._execute(f'DROP DATABASE IF EXISTS "{self._template}"')
        self._execute(f'CREATE DATABASE "{self._template}" TEMPLATE template0')
        nodes = [with_database(node, self._template) for node in self._nodes]
        if self._set_up_nodes is not None:
            self._loop.run_until_complete(self._set_up_nodes(nodes))
        template = with_database(self._cluster, self._template)
        self._loop.run_until_complete(set_up(template, self._model_engine))
        # A template must have no connections, not even those of the server's own processes.
        self._execute(f'ALTER DATABASE "{self._template}" ALLOW_CONNECTIONS false')
        self._execute(_DISCONNECT.format(self._template))

    def _drop(self, name: str) -> None:
        """On Citus, a session may start after the others were terminated and before the drop."""
        for attempt in itertools.count(1):
            with suppress(asyncpg.ObjectInUseError) if attempt < DROPS else nullcontext():
                self._execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
                return

    def _execute(self, statement: str) -> None:
        async def on_all() -> None:
            await asyncio.gather(*(self._executed(node, statement) for node in self._nodes))

        self._loop.run_until_complete(on_all())

    async def _executed(self, node: str, statement: str) -> None:
        connection = self._connections.get(node)
        if connection is not None:
            try:
                await connection.execute(statement)
                return
            except (
                asyncpg.InterfaceError,
                asyncpg.InternalClientError,
                asyncpg.PostgresConnectionError,
                OSError,
            ):
                # The test has restarted its server.
                connection.terminate()
        self._connections[node] = await asyncpg.connect(node, server_settings=_LOCAL)
        await self._connections[node].execute(statement)


async def set_up(url: str, model_engine: ModelEngine = "postgresql") -> None:
    """Creates the event store (as the owner) and the read model (as the runtime role) in an empty
    database."""
    owner = await asyncpg.connect(owner_of(url))
    await migrate(owner)
    await grant_runtime(owner, RUNTIME, urlsplit(runtime_url(url)).password or RUNTIME)
    await owner.execute(f'GRANT CREATE ON DATABASE "{urlsplit(url).path[1:]}" TO {RUNTIME}')
    await owner.close()
    connection = await asyncpg.connect(runtime_url(url))
    await schema.create(connection, engine=model_engine)
    await connection.close()


@contextmanager
def _exclusive(path: Path) -> Iterator[bool]:
    """Holds the lock file. Yields true to the first holder in the run."""
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file.seek(0, os.SEEK_END) == 0  # not tell(): another process may have written
        file.write("made")
