"""PgBouncer in transaction mode, with the project's configuration, in front of a PostgreSQL with
password authentication (ADR 57)."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import aiohttp
import asyncpg
import pytest

from deploy.databases import ReadModel
from deploy.doctor.installation import check_pooler, check_replica
from tests.databases import RUNTIME, Databases, owner_of, runtime_url
from tests.default_server import default_server
from tests.e2e.proxied_service import SECRET, Service, prepare, serving, under_load
from tests.integration.live_projector import connected
from tests.pgbouncer import PROGRAM, PgBouncer, pgbouncer
from tests.processes import CONTENTLOG, running
from write_side.postgres.connection import Connection, connect, set_defaults
from write_side.postgres.pooler import PoolerUrl, UnexpectedPooler
from write_side.store.recorder import open_recorder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed"),
]

POOL_SIZE = 3
# Seconds. An append is retried for up to twenty.
AWAY = 90.0
BACK = 90.0
UNCACHED = {"CONTENTLOG_CACHE_BYTES": "0"}
PAST_THE_POOLER = 2
"""Connections of each process that bypass the pooler."""
_SECRET = "SELECT rolpassword FROM pg_authid WHERE rolname = $1"
_STEP = "SELECT $1::int || '/' || $2::int AS step"
_PROCESS = "SELECT pg_backend_pid()"
_SESSIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND usename = $1 AND pid <> pg_backend_pid()"""


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    folder = tmp_path_factory.mktemp("poolers")
    with default_server() as server, closing(Databases(server, folder)) as made:
        yield made


@pytest.fixture
async def pooler(database_url: str) -> AsyncIterator[PgBouncer]:
    """A PgBouncer that knows only the password hash that PostgreSQL stores."""
    owner = await asyncpg.connect(owner_of(database_url))
    secret = await owner.fetchval(_SECRET, RUNTIME)
    await owner.close()
    with pgbouncer(database_url, {RUNTIME: secret}, pool_size=POOL_SIZE) as process:
        yield process


@asynccontextmanager
async def client(url: str) -> AsyncIterator[Connection]:
    connection = await connect(url)
    try:
        yield connection
    finally:
        await connection.close()


def pools(url: str) -> dict[str, str]:
    return {f"CONTENTLOG_{name}_POOL_URL": url for name in ("EVENT_STORE", "READ_MODEL")}


@pytest.fixture
async def service(database_url: str, pooler: PgBouncer, tmp_path: Path) -> AsyncIterator[Service]:
    settings = {**pools(pooler.url(database_url)), **UNCACHED}
    async with serving(
        database_url, database_url, tmp_path / "log", environment=settings
    ) as service:
        yield service


async def test_statements_of_many_clients_share_few_sessions(
    pooler: PgBouncer, database_url: str
) -> None:
    url = PoolerUrl(pooler.url(database_url))

    async def asks(number: int) -> None:
        """Runs its own statement and parameters, interleaved with the other clients."""
        async with client(url) as connection:
            for step in range(20):
                assert await connection.fetchval(f"SELECT {number} + $1::int", step) == (
                    number + step
                )
                async with connection.transaction():
                    process = await connection.fetchval(_PROCESS)
                    assert await connection.fetchval(_PROCESS) == process

    await asyncio.gather(*(asks(1000 * number) for number in range(40)))
    async with connected(database_url) as owner:
        assert 0 < await owner.fetchval(_SESSIONS, RUNTIME) <= POOL_SIZE


async def test_sessions_prepare_each_statement_once_for_all_clients(
    pooler: PgBouncer, database_url: str
) -> None:
    """This also holds when a session loses its statements, and when a client reconnects."""
    url = PoolerUrl(pooler.url(database_url))

    async def asks(number: int) -> None:
        async with client(url) as connection:
            for step in range(30):
                [row] = await connection.fetch(_STEP, number, step)
                assert row["step"] == f"{number}/{step}"
                if step % 7 == number % 7:
                    await connection.execute("DEALLOCATE ALL")

    for _ in range(2):
        await asyncio.gather(*map(asks, range(20)))
    prepared = [await _prepared(url) for _ in range(20)]
    assert 0 < max(prepared) <= 2, "the statement, and the one that asks"


async def _prepared(url: PoolerUrl) -> int:
    """The number of prepared statements in a session."""
    async with client(url) as connection:
        await connection.fetch(_STEP, 0, 0)
        [row] = await connection.fetch("SELECT count(*) AS n FROM pg_prepared_statements")
        return int(row["n"])


async def test_no_row_is_misread_after_a_change_of_its_table(
    pooler: PgBouncer, database_url: str
) -> None:
    """Another client may have prepared the statement again, with the new types."""
    url, read = PoolerUrl(pooler.url(database_url)), "SELECT n FROM public.t"
    async with connected(database_url) as owner:
        await owner.execute("CREATE TABLE public.t AS SELECT 1::int AS n")
        await owner.execute("GRANT SELECT ON public.t TO PUBLIC")
        first = await connect(url)
        for change, expected in (
            ("UPDATE public.t SET n = 2", 2),
            ("ALTER TABLE public.t ALTER n TYPE text", "2"),
            ("ALTER TABLE public.t ALTER n TYPE float8 USING 1.5", 1.5),
        ):
            await first.fetch(read)
            await owner.execute(change)
            await first.execute("DEALLOCATE ALL")
            second = await connect(url)
            for connection in (second, first, second, first):
                [row] = await connection.fetch(read)
                assert row["n"] == expected
            await second.close()
        await first.close()


async def test_a_pooler_in_the_way_is_noticed_by_its_process_id(
    pooler: PgBouncer, database_url: str
) -> None:
    """This also works when the pooler ignores startup parameters that it does not know."""
    url = pooler.url(database_url)
    pooler.set("ignore_startup_parameters", "jit, plan_cache_mode")
    pooler.kill()
    pooler.start()
    for _ in range(3):
        with pytest.raises(UnexpectedPooler):
            await connect(url)
    with pytest.raises(UnexpectedPooler):
        async with open_recorder(url):
            pass
    async with open_recorder(PoolerUrl(url)) as recorder:
        for _ in range(3):
            assert await recorder.pool.fetchval("SELECT $1::int", 7) == 7
            [row] = await recorder.pool.fetch(_STEP, 1, 2)
            assert row["step"] == "1/2"


@pytest.mark.parametrize("command", ["api", "projector", "doctor"])
@pytest.mark.parametrize("setting", ["CONTENTLOG_EVENT_STORE_URL", "CONTENTLOG_READ_MODEL_URL"])
def test_a_command_with_a_pooler_in_the_way_ends_and_says_what_to_set(
    pooler: PgBouncer, database_url: str, command: str, setting: str
) -> None:
    urls = dict.fromkeys(("CONTENTLOG_EVENT_STORE_URL", "CONTENTLOG_READ_MODEL_URL"), database_url)
    ended = subprocess.run(
        [CONTENTLOG, command],
        env={**os.environ, **urls, setting: pooler.url(database_url)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"contentlog: a connection pooler responds at '127.0.0.1:{pooler.port}'")


async def test_requests_are_503_while_the_pooler_is_away_and_go_on_when_it_is_back(
    service: Service, pooler: PgBouncer
) -> None:
    async with under_load(service) as load:
        for _ in range(2):
            pooler.kill()
            async with asyncio.timeout(AWAY):
                await load.until_creates_get(503)
                await load.until_reads_get(503)
            pooler.start()
            async with asyncio.timeout(BACK):
                await load.until_creates_get(200)
                await load.until_reads_get(200)
    assert {*load.creates, *load.reads} == {200, 503}
    await service.until_caught_up()
    async with connected(service.store_url) as owner:
        rows = await owner.fetch("SELECT id::text FROM read_model.entry")
    assert load.created <= {row["id"] for row in rows}


async def test_many_processes_need_few_connections_to_postgresql(
    database_url: str, pooler: PgBouncer, tmp_path: Path
) -> None:
    """Four API processes and 80 clients, without the response cache."""
    await prepare(database_url)
    settings = {**pools(pooler.url(database_url)), **UNCACHED, "CONTENTLOG_WORKERS": "4"}
    found = []
    with running(database_url, tmp_path / "log", **settings) as processes:
        await processes.caught_up()
        headers = {"Authorization": f"Bearer {SECRET}"}
        async with aiohttp.ClientSession(processes.url, headers=headers) as session:

            async def asks(number: int) -> None:
                for step in range(10):
                    body = {"contentTypeSlug": "posts", "title": f"Post {number}-{step}"}
                    async with session.post("/v1/content", json=body) as response:
                        assert response.status == 200, await response.text()
                    async with session.get("/v1/content/posts?status=draft") as response:
                        assert response.status == 200, await response.text()
                    if number == 0:
                        async with connected(database_url) as owner:
                            found.append(await owner.fetchval(_SESSIONS, RUNTIME))

            await asyncio.gather(*map(asks, range(80)))
    assert POOL_SIZE < max(found) <= POOL_SIZE + PAST_THE_POOLER * (4 + 1)


async def test_doctor_sees_a_pooler_that_is_right_away_or_of_another_database(
    database_url: str, empty_database_url: str, pooler: PgBouncer
) -> None:
    url, setting = PoolerUrl(pooler.url(database_url)), "CONTENTLOG_READ_MODEL_POOL_URL"
    right = await check_pooler("read model", setting, database_url, url)
    # `contentlog migrate` turns jit off; test databases are created without it.
    assert (right.level, right.text[:10]) == ("warning", "jit is on ")
    async with client(database_url) as connection:
        await set_defaults(connection)
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert (await check_pooler("read model", setting, database_url, url)).level == "ok"
    pooled = await check_replica(pooler.url(database_url), ReadModel())
    assert pooled.fix.endswith("REPLICAS_POOLED=true")
    pooled = await check_replica(pooler.url(database_url), ReadModel("eu"))
    assert pooled.fix == "name the standby itself in CONTENTLOG_READ_MODEL_EU_REPLICA_URLS"
    assert "not a standby" in (await check_replica(url, ReadModel())).text
    other = PoolerUrl(pooler.url(runtime_url(empty_database_url)))
    assert (
        "another database" in (await check_pooler("read model", setting, database_url, other)).text
    )
    pooler.kill()
    away = await check_pooler("read model", setting, database_url, url)
    assert (away.level, away.fix) == ("problem", f"start it, or unset {setting}")
