"""Rebuild, switch, rollback and verify of a distributed read model: what its nodes might do
differently. The tests beside these run on Citus too."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from projector.log import Log
from projector.rebuild import operations as module
from projector.rebuild.build import Build
from projector.rebuild.comparison import snapshot
from projector.rebuild.progress import Operation
from projector.rebuild.switch import TO_NEXT, Candidate
from read_side.schema import LIVE, NEXT, PREVIOUS
from tests.databases import owner_of
from tests.engines import Citus, engine
from tests.integration.live_projector import (
    connected,
    dump,
    head_of,
    project_all,
    projecting,
    until,
)
from tests.integration.projector.random_log import WORKSPACES, Story
from tests.integration.projector.rebuilds import build_settings, rebuild, rollback, schemas, silent
from tests.integration.projector.sample_log import Given
from tests.integration.projector.slow_proxy import SlowProxy, slow_proxy
from write_side.domain.identity import Scope
from write_side.postgres.connection import Connection
from write_side.repository import Repository

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not isinstance(engine(), Citus), reason="only with --engine citus"),
]

ENTRIES = 3
MARKS = ("UPDATE {}.entry SET title = $1", "UPDATE {}.workspace SET name = $1")
ONE_WORKSPACE = """
SELECT e.title, w.name, c.epoch, count(*) AS n FROM read_model.entry e
JOIN read_model.workspace w ON w.slug = e.workspace CROSS JOIN read_model.checkpoint c
WHERE e.workspace = 'acme' GROUP BY 1, 2, 3"""
ALL_WORKSPACES = """
SELECT e.title, w.name, count(*) AS n FROM read_model.entry e
JOIN read_model.workspace w ON w.slug = e.workspace GROUP BY 1, 2"""


async def mark(connection: Connection, schema: str, number: int) -> None:
    """Every row says which read model it is of."""
    for statement in MARKS:
        await connection.execute(statement.format(schema), str(number))


class Reader:
    """Reads over and over with one prepared statement, as a pool's connection does."""

    def __init__(self, connection: Connection, query: str, entries: int) -> None:
        self._connection = connection
        self._query = query
        self._entries = entries
        self._seen = 0
        self.reads: Counter[int] = Counter()

    async def read(self) -> None:
        [row] = await self._connection.fetch(self._query)
        assert (row["title"], row["n"]) == (row["name"], self._entries)
        number = int(row["title"])
        assert number >= self._seen
        self._seen = number
        self.reads[number] += 1


@asynccontextmanager
async def meanwhile(*work: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Does each over and over; what it raises is raised."""

    async def repeat(once: Callable[[], Awaitable[None]]) -> None:
        while True:
            await once()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(repeat(once)) for once in work]
        yield
        for task in tasks:
            task.cancel()


@pytest.fixture
async def marked(repository: Repository, database_url: str) -> str:
    """The database of a log with some entries in each of two workspaces, projected."""
    for workspace in WORKSPACES:
        given = Given(repository, Scope(workspace, "production"))
        await given.magazine()
        for number in range(ENTRIES):
            await given.entry(f"entry-{number}")
    await project_all(database_url, database_url)
    async with connected(database_url) as connection:
        await mark(connection, LIVE, 0)
    return database_url


@asynccontextmanager
async def candidate_with_mark(url: str, number: int) -> AsyncIterator[Candidate]:
    settings = build_settings(url)
    async with module.connections(settings, NEXT) as (store, model):
        build = Build(settings, NEXT, store, model, Operation(silent))
        candidate = await build.make(await Log(store).head())
        await mark(model, NEXT, number)
        yield candidate


async def test_no_read_mixes_two_read_models_or_goes_back(marked: str) -> None:
    """On one worker or on several, while read models are switched back and forth."""
    async with connected(marked) as one, connected(marked) as several:
        readers = [
            Reader(one, ONE_WORKSPACE, ENTRIES),
            Reader(several, ALL_WORKSPACES, ENTRIES * len(WORKSPACES)),
        ]

        async def all_read(number: int) -> bool:
            return all(reader.reads[number] >= 5 for reader in readers)

        async with (
            candidate_with_mark(marked, 1) as candidate,
            meanwhile(*(reader.read for reader in readers)),
        ):
            await until(lambda: all_read(0))
            await candidate.go_live(TO_NEXT, Operation(silent))
            await until(lambda: all_read(1))
            for number in range(2, 6):
                await mark(candidate.model, PREVIOUS, number)
                await rollback(marked)
                await until(lambda number=number: all_read(number))  # type: ignore[misc]
    assert await schemas(marked) == [LIVE, PREVIOUS]


async def test_a_long_read_holds_up_the_switch_but_no_other_read(marked: str) -> None:
    async with connected(marked) as long, connected(marked) as other:
        transaction = long.transaction()
        await transaction.start()
        before = await long.fetch(ALL_WORKSPACES)
        async with candidate_with_mark(marked, 1) as candidate:
            switching = asyncio.create_task(candidate.go_live(TO_NEXT, Operation(silent)))
            for _ in range(2):
                await until(lambda: is_locking(other))
                assert await other.fetch(ALL_WORKSPACES) == before
            assert not switching.done()
            assert await long.fetch(ALL_WORKSPACES) == before
            await transaction.commit()
            await switching
        assert [row["title"] for row in await other.fetch(ALL_WORKSPACES)] == ["1"]


async def is_locking(connection: Connection) -> bool:
    return bool(
        await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LOCK TABLE%' "
            "AND wait_event_type = 'Lock' AND datname = current_database()"
        )
    )


PREPARED = "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()"
WORKERS = """
SELECT nodeid, nodename, nodeport, get_shard_id_for_distribution_column('read_model.entry', 'acme')
    IN (SELECT shardid FROM pg_dist_placement p WHERE p.groupid = n.groupid) AS is_read
FROM pg_dist_node n WHERE groupid > 0"""
ANNOUNCED = "SELECT epoch FROM projector.announced"
BEHIND_PROXY = "SELECT citus_update_node($1, '127.0.0.1', $2)"


@asynccontextmanager
async def behind_proxy(
    url: str, coordinator: Connection
) -> AsyncIterator[tuple[Connection, SlowProxy]]:
    """The worker that has the workspace of ONE_WORKSPACE, and the coordinator's way to it."""
    [node] = [row for row in await coordinator.fetch(WORKERS) if row["is_read"]]
    async with (
        slow_proxy(node["nodename"], node["nodeport"]) as proxy,
        connected(on_node(url, node)) as worker,
    ):
        await coordinator.execute(BEHIND_PROXY, node["nodeid"], proxy.port)
        yield worker, proxy


async def test_a_worker_cut_off_in_the_midst_of_the_commit_is_repaired(marked: str) -> None:
    """It has prepared the switch, and the process that switched is gone too. What is read
    meanwhile is of one read model, or an error."""
    expected = await dump(marked)
    async with (
        connected(marked) as coordinator,
        behind_proxy(marked, coordinator) as (worker, proxy),
    ):
        async with candidate_with_mark(marked, 1) as candidate:
            switching = await cut_off_after_prepare(candidate, proxy, worker)
            candidate.model.terminate()
            await asyncio.gather(switching, return_exceptions=True)
        assert await worker.fetchval(PREPARED) == 1
        proxy.is_slow = False
        reader = Reader(coordinator, ONE_WORKSPACE, ENTRIES)
        for _ in range(20):
            try:
                await reader.read()
            except asyncpg.PostgresError:
                continue
        # As Citus does by itself once a minute.
        await until(lambda: recovered(coordinator, worker))
        await reader.read()
        await rebuild(marked, accept=True)
        assert await dump(marked) == {**expected, **await unmarked(marked)}
        assert await schemas(marked) == [LIVE, PREVIOUS]


async def test_a_switch_that_a_worker_did_not_confirm_is_announced_by_the_projector(
    marked: str,
) -> None:
    async with (
        connected(marked) as coordinator,
        behind_proxy(marked, coordinator) as (worker, proxy),
    ):
        before = await coordinator.fetchval(ANNOUNCED)
        async with candidate_with_mark(marked, 1) as candidate:
            switching = await cut_off_after_prepare(candidate, proxy, worker)
            with pytest.raises(ConnectionError, match="may not have committed"):
                await switching
        assert await worker.fetchval(PREPARED) == 1
        assert await coordinator.fetchval(ANNOUNCED) == before
        proxy.is_slow = False
        async with projecting(marked):
            await until(lambda: recovered(coordinator, worker))
            await until(lambda: is_announced_after(coordinator, before))


async def is_announced_after(coordinator: Connection, epoch: int) -> bool:
    return bool(await coordinator.fetchval(ANNOUNCED) > epoch)


async def cut_off_after_prepare(
    candidate: Candidate, proxy: SlowProxy, worker: Connection
) -> asyncio.Task[None]:
    """The switch whose commit the worker has prepared and will not hear of."""
    proxy.is_slow = True
    switching = asyncio.create_task(candidate.switch(TO_NEXT))
    await until(lambda: worker.fetchval(PREPARED))
    proxy.cut_off()
    return switching


async def recovered(coordinator: Connection, worker: Connection) -> bool:
    await coordinator.execute("SELECT recover_prepared_transactions()")
    return not int(await worker.fetchval(PREPARED))


async def unmarked(url: str) -> dict[str, list[str]]:
    """The two tables of which the marks are gone, because they were built again."""
    found = await dump(url)
    return {table: found[table] for table in ("entry", "workspace")}


def on_node(url: str, node: asyncpg.Record) -> str:
    parts = urlsplit(owner_of(url))
    login = parts.netloc.rpartition("@")[0]
    return parts._replace(netloc=f"{login}@{node['nodename']}:{node['nodeport']}").geturl()


LAST_CHANGES = "SELECT workspace, max(position) AS last, count(*) AS n FROM change GROUP BY 1"


async def test_a_snapshot_has_the_same_checkpoint_on_every_node(
    repository: Repository, database_url: str
) -> None:
    givens = [Given(repository, Scope(workspace, "production")) for workspace in WORKSPACES]
    for given in givens:
        await given.magazine()
    others = await head_of(database_url) - len(WORKSPACES)
    numbers = itertools.count()

    async def write() -> None:
        for given in givens:
            await given.entry(f"entry-{next(numbers)}")

    async with projecting(database_url), meanwhile(write, write):
        for _ in range(10):
            async with snapshot(database_url) as connection:
                found = await connection.fetch(LAST_CHANGES)
                await asyncio.sleep(0.05)
                position = await connection.fetchval("SELECT position FROM checkpoint")
                assert await connection.fetch(LAST_CHANGES) == found
                if position > others + len(WORKSPACES):
                    assert max(row["last"] for row in found) == position
                    assert sum(row["n"] for row in found) == position - others


CHANGES: dict[str, tuple[str, str]] = {
    "api_key": ("name = 'other'", "id = id || 'x'"),
    "change": ("actor = 'other'", "position = position + 1000000"),
    "content_type": ("name = 'other'", "slug = slug || 'x', id = gen_random_uuid()"),
    "entry": ("title = 'other'", "id = gen_random_uuid()"),
    "entry_count": ("n = n + 1", "block = block + 1000000"),
    "entry_locale": ("title = 'other'", "locale = 'other'"),
    "entry_search": ("status = 'other'", "locale = 'other'"),
    "entry_value": ("key = key || 'x'::bytea", "position = position + 1000000"),
    "import_run": ("file_name = 'other'", "id = id || 'x'"),
    "locale_count": ("n = n + 1", "locale = 'other'"),
    "media": ("name = 'other'", "id = id || 'x'"),
    "past_slug": ("until = until + interval '1 s'", "position = position + 1000000"),
    "past_type": ("until = until + interval '1 s'", "position = position + 1000000"),
    "past_version": ("version = version + 1", "position = position + 1000000"),
    "webhook": ("url = 'other'", "name = name || 'x'"),
    "workspace": ("name = 'other'", "slug = 'third'"),
}
"""Of each table: a value to change, and a part of the key to change in a row that is added."""
WRONG: dict[str, tuple[str, ...]] = {
    "missing": ("DELETE FROM {shard}",),
    "different": ("UPDATE {shard} SET {value}",),
    "unknown": (
        "CREATE TEMPORARY TABLE added AS SELECT * FROM {shard} LIMIT 1",
        "UPDATE added SET {key}",
        "INSERT INTO {shard} SELECT * FROM added",
        "DROP TABLE added",
    ),
}
SHARDS = """
SELECT DISTINCT relation, 'read_model.' || relation || '_' || get_shard_id_for_distribution_column(
    ('read_model.' || relation)::regclass, 'acme') AS shard
FROM unnest($1::text[]) AS relation"""
DIGESTED = "SELECT DISTINCT relation FROM read_model.digest WHERE workspace = 'acme'"
DIRECTLY = {"citus.enable_manual_changes_to_shards": "on"}


@pytest.mark.parametrize("kind", WRONG)
async def test_what_is_wrong_on_one_worker_is_found_in_each_table(
    kind: str, repository: Repository, database_url: str
) -> None:
    await Story(repository, 5).tell(250)
    await project_all(database_url, database_url)
    async with connected(database_url) as coordinator:
        tables = {row["relation"] for row in await coordinator.fetch(DIGESTED)}
        assert tables == CHANGES.keys()
        [node] = [row for row in await coordinator.fetch(WORKERS) if row["is_read"]]
        shards = await coordinator.fetch(SHARDS, list(tables))
    async with connected(on_node(database_url, node), **DIRECTLY) as worker:
        for table, shard in shards:
            value, key = CHANGES[table]
            for statement in WRONG[kind]:
                await worker.execute(statement.format(shard=shard, value=value, key=key))
    seen: Any = await module.verify(build_settings(database_url, workers=1), silent)
    assert {one.relation for one in seen.read_model} == tables
