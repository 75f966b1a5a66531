"""The engines that conformance and round-trip tests can run on: ``deploy/dev test --engine NAME``.

An engine defines how the run's cluster is started, which settings an API needs on a test database,
and which tests are skipped, with the reason.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from deploy.settings import ModelEngine
from tests.cluster import OUTSIDE, SETTINGS, use_cluster
from tests.databases import RUNTIME
from tests.default_server import default_server
from tests.pgbouncer import PgBouncer, pgbouncer
from write_side.postgres.pooler import PoolerUrl

ENGINE = "CONTENTLOG_TEST_ENGINE"
CITUS_URL = "CONTENTLOG_TEST_CITUS_URL"  # a superuser's URL on a coordinator
_NODES = "SELECT nodename, nodeport FROM pg_dist_node WHERE isactive ORDER BY groupid"
_ROLE = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'contentlog') THEN
        CREATE ROLE contentlog LOGIN PASSWORD 'contentlog';
    END IF;
END $$;
ALTER ROLE contentlog SET citus.shard_count = 4;
ALTER ROLE contentlog SET citus.override_table_visibility = off;"""
_ONE_STATEMENT = tuple(
    f"tests/integration/projector/test_write_transaction.py::test_{name}"
    for name in (
        "new_entries_are_one_statement",
        "a_change_is_loaded_and_written",
        "counts_that_fall_are_written_with_the_rest",
    )
)
_PLANS = tuple(
    f"tests/integration/read_side/{name}"
    for name in (
        "test_past_statements.py::test_a_list_as_of_a_moment_reads_a_bounded_number_of_versions",
        "test_past_statements.py::test_combinations_of_past_versions_are_found_by_skipping",
        "test_query_plans.py::",
        "test_rare_lists.py::",
        "test_search_bounds.py::",
        "test_statements.py::",
    )
)
_MEET_SWITCH = tuple(
    f"tests/integration/projector/test_switch.py::test_{name}"
    for name in (
        "a_read_of_several_statements_is_of_one_read_model",
        "a_large_page_that_may_mix_two_read_models_is_discarded",
    )
)
_ADD_COORDINATOR = "SELECT citus_set_coordinator_host($1, $2)"
_ADD_WORKER = "SELECT citus_add_node($1, $2)"


class UnknownEngine(ValueError):
    """No engine has this name. The message lists the known names on one line."""


class Engine:
    """PostgreSQL, as the whole suite uses it."""

    left_out: ClassVar[Mapping[str, str]] = {}
    """The reasons to skip tests, by test id or its prefix, for example
    ``tests/conformance/test_x.py::``."""
    model_engine: ClassVar[ModelEngine] = "postgresql"

    @contextmanager
    def cluster(self, folder: Path) -> Iterator[str]:
        """Yields a superuser's URL on the cluster of this run. ``folder`` is the run's folder."""
        with use_cluster(folder) as url:
            yield url

    def url_for_requests(self, url: str) -> str:
        """Returns the URL that connection pools use for a test database."""
        return url

    def nodes(self, cluster: str) -> list[str]:
        """Returns a superuser's URL for each server of the cluster. A database is created on all of
        them."""
        return [cluster]

    async def set_up(self, nodes: list[str]) -> None:
        """Prepares a new database, given its URL on each node."""

    def settings(self, url: str) -> dict[str, Any]:
        """The settings that an API needs on a test database."""
        return {"event_store_url": url, "read_model_url": url}

    def reason_to_leave_out(self, test: str) -> str | None:
        return next((why for name, why in self.left_out.items() if test.startswith(name)), None)


class PgBouncerEngine(Engine):
    """The API reads and writes through PgBouncer in transaction mode."""

    def __init__(self) -> None:
        self._process: PgBouncer | None = None

    @contextmanager
    def cluster(self, folder: Path) -> Iterator[str]:  # noqa: ARG002
        """Starts a server for each worker: the shared one has no password authentication."""
        with (
            default_server(settings=SETTINGS) as url,
            # The pool is so small that requests have to share connections.
            pgbouncer(url, {RUNTIME: urlsplit(url).password or ""}, pool_size=3) as self._process,
        ):
            yield url

    def url_for_requests(self, url: str) -> str:
        assert self._process is not None
        return PoolerUrl(self._process.url(url))

    def settings(self, url: str) -> dict[str, Any]:
        pooled = self.url_for_requests(url)
        pools = {"event_store_pool_url": pooled, "read_model_pool_url": pooled}
        return {**super().settings(url), **pools}


class Citus(Engine):
    """The developer's own Citus cluster. Event store and read model share a database."""

    left_out: ClassVar[Mapping[str, str]] = {
        "tests/e2e/test_rebuild_processes.py::"
        "test_a_rebuild_of_several_processes_can_be_killed_and_run_again": (
            "one process replays there"
        ),
        "tests/integration/projector/test_engines.py::": "it is about databases without Citus",
        "tests/integration/projector/test_following.py::test_grown_tables_are_analyzed": (
            "it looks for the statistics on the coordinator; they are where the rows are"
        ),
        "tests/integration/projector/test_many_locales.py::": (
            "it has a PostgreSQL of its own, with default settings"
        ),
        "tests/integration/projector/test_rebuild.py::test_each_table_is_compared": (
            "it finds a row by its place on one server; test_rebuild_on_citus.py has its like"
        ),
        **dict.fromkeys(_PLANS, "it explains the plans of one PostgreSQL"),
        **dict.fromkeys(
            _MEET_SWITCH, "a switch there waits for a transaction that has begun to read"
        ),
        **dict.fromkeys(_ONE_STATEMENT, "a batch is one statement only on one PostgreSQL"),
    }
    model_engine: ClassVar[ModelEngine] = "citus"

    @contextmanager
    def cluster(self, folder: Path) -> Iterator[str]:  # noqa: ARG002
        url = os.environ[CITUS_URL]
        os.environ[OUTSIDE] = url
        yield url

    def nodes(self, cluster: str) -> list[str]:
        rows = asyncio.run(_fetched(cluster, _NODES))
        assert len(rows) > 1, f"{CITUS_URL} names a coordinator without workers"
        return [with_address(cluster, *row) for row in rows]

    async def set_up(self, nodes: list[str]) -> None:
        connections = [await asyncpg.connect(node) for node in nodes]
        coordinator = connections[0]
        for connection in connections:
            await connection.execute("CREATE EXTENSION citus")
        for number, node in enumerate(nodes):
            parts = urlsplit(node)
            add = _ADD_WORKER if number else _ADD_COORDINATOR
            await coordinator.execute(add, parts.hostname, parts.port)
        await coordinator.execute(_ROLE)
        for connection in connections:
            await connection.close()

    def reason_to_leave_out(self, test: str) -> str | None:
        if CITUS_URL not in os.environ:
            return f"{CITUS_URL} does not name a Citus cluster"
        return super().reason_to_leave_out(test)


async def _fetched(url: str, query: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch(query)
    finally:
        await connection.close()


def with_address(url: str, host: str, port: int) -> str:
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}{at}{host}:{port}"))


ENGINES: Mapping[str, Engine] = {
    "plain": Engine(),
    "pgbouncer": PgBouncerEngine(),
    "citus": Citus(),
}


def engine_named(name: str) -> Engine:
    """Returns the engine with this name. Raises UnknownEngine."""
    if name not in ENGINES:
        raise UnknownEngine(f"unknown engine '{name}'; expected one of: {', '.join(ENGINES)}")
    return ENGINES[name]


def engine() -> Engine:
    """Returns the engine of this run. Raises UnknownEngine."""
    return engine_named(os.environ.get(ENGINE) or "plain")
