"""A worker of a distributed read model is cut off in the middle of a commit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import asyncpg
import pytest

from projector.rebuild.switch import TO_NEXT, Candidate
from read_side.engine import CITUS_DEFAULTS
from read_side.schema import LIVE, PREVIOUS
from read_side.status import read_size
from tests.databases import runtime_url
from tests.engines import Citus, engine
from tests.integration.api.server import ACME, Client, serving
from tests.integration.live_projector import connected, dump, projecting, until
from tests.integration.projector.citus_workers import (
    ProxiedWorker,
    proxied_workers,
    worker_of_acme,
)
from tests.integration.projector.marked_read_models import (
    ENTRIES,
    ONE_WORKSPACE,
    Reader,
    candidate_with_mark,
    project_with_marks,
)
from tests.integration.projector.rebuilds import rebuild, schemas
from write_side.postgres.connection import Connection
from write_side.repository import Repository

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not isinstance(engine(), Citus), reason="only with --engine citus"),
]
PREPARED = "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()"
ANNOUNCED = "SELECT epoch FROM projector.announced"
SHARDS = """
SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'read_model' AND c.relkind = 'r' AND c.relname ~ '_[0-9]{6}$'"""
RECOVER = "SELECT recover_prepared_transactions()"


@pytest.fixture
async def workers(empty_database_url: str) -> AsyncIterator[list[ProxiedWorker]]:
    async with proxied_workers(empty_database_url) as workers:
        yield workers


@pytest.fixture
def database_url(empty_database_url: str, workers: list[ProxiedWorker]) -> str:
    return runtime_url(empty_database_url)


@pytest.fixture
async def acme(
    repository: Repository, database_url: str, workers: list[ProxiedWorker]
) -> ProxiedWorker:
    """The worker that has this workspace. Each of the two workers has entries, which are
    projected."""
    await project_with_marks(repository, database_url)
    async with connected(database_url) as coordinator:
        _, port = await worker_of_acme(coordinator)
    return next(one for one in workers if one.proxy.port == port)


async def prepared(worker: ProxiedWorker) -> bool:
    async with connected(worker.url) as connection:
        return bool(await connection.fetchval(PREPARED))


async def recovered(url: str, worker: ProxiedWorker) -> bool:
    """Citus does this by itself once a minute. A new session is used, because an old one may have
    kept a connection to the worker that was cut off."""
    async with connected(url) as coordinator:
        await coordinator.execute(RECOVER)
    return not await prepared(worker)


async def cut_off_after_prepare(candidate: Candidate, worker: ProxiedWorker) -> None:
    """A switch whose commit the worker has prepared, but is not notified of."""
    worker.proxy.cut_when = partial(prepared, worker)
    with pytest.raises(ConnectionError, match="may not have committed"):
        await candidate.switch(TO_NEXT)
    assert await prepared(worker)


async def test_a_worker_cut_off_in_the_midst_of_the_commit_is_repaired(
    database_url: str, acme: ProxiedWorker
) -> None:
    """Reads meanwhile return one read model or fail."""
    expected = await dump(database_url)
    async with candidate_with_mark(database_url, 1) as candidate:
        await cut_off_after_prepare(candidate, acme)
    acme.proxy.admits = True
    async with connected(database_url) as coordinator:
        reader = Reader(coordinator, ONE_WORKSPACE, ENTRIES)
        for _ in range(20):
            try:
                await reader.read()
            except asyncpg.PostgresError:
                continue
        await until(lambda: recovered(database_url, acme))
        await reader.read()
    await rebuild(database_url, accept=True)
    assert await dump(database_url) == {**expected, **await unmarked(database_url)}
    assert await schemas(database_url) == [LIVE, PREVIOUS]


async def test_requests_for_a_worker_that_is_away_or_behind_may_be_repeated(
    repository: Repository, database_url: str, acme: ProxiedWorker
) -> None:
    # so that the reader keeps no result
    async with serving(database_url, repository, projector=False, cache_bytes=0) as server:
        await server.key(ACME, "acme")
        client = server.client()
        assert await status(client) == 200
        acme.proxy.cut_off()
        assert await status(client) == 503
        acme.proxy.admits = True
        assert await status(client) == 200
        async with candidate_with_mark(database_url, 1) as candidate:
            await cut_off_after_prepare(candidate, acme)
        acme.proxy.admits = True
        assert await status(client) == 503
        await until(lambda: recovered(database_url, acme))
        assert await status(client) == 200


async def status(client: Client) -> int:
    """The status of a list that has entries."""
    answer = await client.get("/v1/content/posts?status=draft")
    if answer.status == 503:
        assert answer.headers["Retry-After"] == "1"
    else:
        assert len(answer.data) == ENTRIES
    return answer.status


async def test_the_size_is_that_of_all_nodes_or_unknown(
    database_url: str, empty_database_url: str, workers: list[ProxiedWorker]
) -> None:
    shards = 0
    for node in (empty_database_url, *(one.url for one in workers)):
        async with connected(node, **CITUS_DEFAULTS) as connection:
            shards += await connection.fetchval(SHARDS)
    async with connected(database_url) as coordinator:
        assert await read_size(coordinator) == pytest.approx(shards, rel=0.1)
        workers[0].proxy.cut_off()
        assert await read_size(coordinator) is None


async def test_a_switch_that_a_worker_did_not_confirm_is_announced_by_the_projector(
    database_url: str, acme: ProxiedWorker
) -> None:
    async with connected(database_url) as coordinator:
        before = await coordinator.fetchval(ANNOUNCED)
        async with candidate_with_mark(database_url, 1) as candidate:
            await cut_off_after_prepare(candidate, acme)
        assert await coordinator.fetchval(ANNOUNCED) == before
        acme.proxy.admits = True
        async with projecting(database_url):
            await until(lambda: recovered(database_url, acme))
            await until(lambda: is_announced_after(coordinator, before))


async def is_announced_after(coordinator: Connection, epoch: int) -> bool:
    return bool(await coordinator.fetchval(ANNOUNCED) > epoch)


async def unmarked(url: str) -> dict[str, list[str]]:
    """The two tables without marks, because they were built again."""
    found = await dump(url)
    return {table: found[table] for table in ("entry", "workspace")}
