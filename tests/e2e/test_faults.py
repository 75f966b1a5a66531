"""PostgreSQL faults under load: a database that is down, and one that does not respond.

Projector and API recover by themselves, and readiness is accurate meanwhile. Acknowledged creates
are in the log, and the read model equals a projection from the beginning.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import asyncpg
import pytest

from tests.databases import Databases
from tests.e2e.postgres import Postgres, postgres
from tests.e2e.proxied_service import PATIENCE, Load, Service, serving, under_load
from tests.integration.live_projector import connected, until
from tests.proxy import Proxy, proxy_to

pytestmark = pytest.mark.slow

AWAY = 2.0
CONNECTIONS = 40
_TERMINATE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
_IMPATIENT = """DO $$ BEGIN EXECUTE format(
    'ALTER DATABASE %I SET statement_timeout = ''50ms''', current_database()); END $$"""
_PATIENT = """DO $$ BEGIN EXECUTE format(
    'ALTER DATABASE %I RESET statement_timeout', current_database()); END $$"""
_HOLD_LOG = "SELECT FROM write_side.head FOR UPDATE"
_HOLD_MODEL = "SELECT FROM read_model.checkpoint FOR UPDATE"


class TestOneOfTwoDatabases:
    @pytest.fixture
    async def proxies(self, database_url: str, model_url: str) -> AsyncIterator[dict[str, Proxy]]:
        async with proxy_to(database_url) as store, proxy_to(model_url) as model:
            yield {database_url: store, model_url: model}

    @pytest.fixture
    async def service(
        self, database_url: str, model_url: str, proxies: dict[str, Proxy], tmp_path: Path
    ) -> AsyncIterator[Service]:
        urls = {url: proxy.url for url, proxy in proxies.items()}
        log = tmp_path / "processes.log"
        async with serving(database_url, model_url, log, through=urls.__getitem__) as service:
            yield service

    @pytest.mark.parametrize("away", ["event store", "read model"])
    async def test_requests_that_need_only_the_other_database_continue(
        self, away: str, service: Service, proxies: dict[str, Proxy], fresh_url: str
    ) -> None:
        is_store = away == "event store"
        url = service.store_url if is_store else service.model_url
        proxy = proxies[url]
        async with under_load(service) as load:
            fail, work = load.until_creates_get, load.until_reads_get
            if not is_store:
                fail, work = work, fail
            await terminate_sessions(url)
            await proxy.shut()
            await service.until_unavailable()
            await fail(503)
            await work(200)
            await asyncio.sleep(AWAY)
            await service.until_unavailable()
            await proxy.open()
            await fail(200)
            await service.until_caught_up()  # the projector is working again

            proxy.be_a_black_hole()
            await service.until_unavailable()
            await fail(503)
            await work(200)
            proxy.answers = True
            await fail(200)
            await service.until_ready()
        await service.check(fresh_url)

    async def test_a_process_stops_normally_while_both_databases_are_silent(
        self, service: Service, proxies: dict[str, Proxy]
    ) -> None:
        for proxy in proxies.values():
            proxy.be_a_black_hole()
        await service.until_unavailable()
        for process in service.processes.running.values():
            process.send_signal(signal.SIGTERM)
        for process in service.processes.running.values():
            assert await asyncio.to_thread(process.wait, PATIENCE) == 0


class TestAServerOfItsOwn:
    @pytest.fixture
    def server(self, data: Path) -> Iterator[Postgres]:
        with postgres(data, f"max_connections={CONNECTIONS}") as server:
            yield server

    @pytest.fixture
    def url(self, server: Postgres, tmp_path: Path) -> Iterator[str]:
        with closing(Databases(server.url(), tmp_path)) as databases, databases.new() as url:
            yield url

    async def test_the_service_recovers_from_actions_of_operators(
        self, server: Postgres, url: str, fresh_url: str, tmp_path: Path
    ) -> None:
        async with serving(url, url, tmp_path / "processes.log") as service:
            async with under_load(service) as load:
                for fault in (restart, fill, cut_short):
                    await fault(server, service, load)
                    await load.until_creates_get(200)
                    await load.until_reads_get(200)
                    await service.until_ready()
            await service.check(fresh_url)


async def restart(server: Postgres, service: Service, _load: Load) -> None:
    await asyncio.to_thread(server.stop)
    await service.until_unavailable()
    await asyncio.to_thread(server.start)


async def fill(server: Postgres, service: Service, load: Load) -> None:
    """Takes all connections, including the service's."""
    async with AsyncExitStack() as taken:
        killer = await taken.enter_async_context(connected(service.store_url))
        await killer.execute(_TERMINATE)

        async def full() -> bool:
            with contextlib.suppress(asyncpg.TooManyConnectionsError):
                await taken.enter_async_context(connected(server.url()))
                return False
            # The service has no connection left: all of them are ours.
            return not await killer.fetch(_TERMINATE)

        await until(full, PATIENCE)
        await service.until_unavailable()
        await load.until_creates_get(503)
        await load.until_reads_get(503)


async def cut_short(_server: Postgres, service: Service, load: Load) -> None:
    """Limits statements to 50 ms while other transactions hold rows that they need for longer."""
    url = service.store_url
    async with connected(url) as operator:
        await operator.execute(_IMPATIENT)
        await operator.execute(_TERMINATE)
        async with lock_held(url, _HOLD_LOG), lock_held(url, _HOLD_MODEL):
            await load.until_creates_get(503)
        await operator.execute(_PATIENT)
        await operator.execute(_TERMINATE)


@asynccontextmanager
async def lock_held(url: str, sql: str) -> AsyncIterator[None]:
    # Without the limit of ``cut_short``.
    async with (
        connected(url, statement_timeout="0") as connection,
        connection.transaction(),
    ):
        await connection.execute(sql)
        yield


async def terminate_sessions(url: str) -> None:
    async with connected(url) as connection:
        await connection.execute(_TERMINATE)
