"""The read model's PostgreSQL fails over to a standby that lagged behind.

Acknowledged changes are missing until the projector has caught up from the log. A client with a
position waits for it, webhook deliveries are neither repeated nor omitted, and operators can see
the failover.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path

import aiohttp
import pytest
from msgspec import Struct

from deploy.embedded.sockets import OWNER
from tests.e2e.commands import Commands
from tests.e2e.postgres import Postgres, postgres
from tests.integration.api.deliveries import SECRET, create_webhook
from tests.integration.api.hook_server import HookServer, hook_server
from tests.integration.live_projector import checkpoint_of, head_of, until
from tests.integration.projector.sample_log import ContentBuilder
from tests.processes import Processes, open_folder
from write_side import commands as c
from write_side.repository import Repository

pytestmark = pytest.mark.slow

KEY = "a-secret-of-acme-for-the-failover"
BEFORE, LOST = 5, 20
"""The number of entries that the standby has, and that it lacks."""


class FailoverSetup(Struct):
    primary: Postgres
    standby: Postgres
    processes: Processes
    commands: Commands
    hooks: HookServer
    session: aiohttp.ClientSession
    store_url: str

    async def create(self, number: int) -> str:
        """Creates an entry, waits until it can be read, and returns its position token."""
        body = {"contentTypeSlug": "posts", "title": "T", "slug": f"e{number}"}
        url = f"{self.processes.url}/v1/content"
        async with self.session.post(url, json={**body, "status": "published"}) as new:
            assert new.status == 200
            token = str(new.headers["X-Content-Position"])
        await self.until_read(number, token)
        return token

    async def until_read(self, number: int, token: str) -> None:
        """Repeats the read of an entry while it is 503."""

        async def is_read() -> bool:
            status = await self.read(f"/v1/content/posts/e{number}", token)
            assert status in (200, 503)
            return status == 200

        await until(is_read)

    async def read(self, path: str, token: str) -> int:
        headers = {"X-Content-Position": token}
        async with self.session.get(f"{self.processes.url}{path}", headers=headers) as found:
            return found.status


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture
def servers(folder: Path) -> Iterator[tuple[Postgres, Postgres]]:
    with ExitStack() as stack:
        primary = stack.enter_context(postgres(folder / "primary"))
        primary.run("createdb", "model")
        standby = Postgres(folder / "standby")
        standby.make_standby_of(primary)
        standby.start()
        stack.callback(standby.stop)
        yield primary, standby


@pytest.fixture
async def builder(repository: Repository) -> ContentBuilder:
    builder = ContentBuilder(repository)
    await builder.magazine()
    await builder.execute(
        c.IssueKey,
        workspace="acme",
        name="client",
        permissions=("content.view", "content.edit"),
        secret_hash=hashlib.sha256(KEY.encode()).hexdigest(),
    )
    return builder


@pytest.fixture
async def setup(
    servers: tuple[Postgres, Postgres], builder: ContentBuilder, database_url: str, tmp_path: Path
) -> AsyncIterator[FailoverSetup]:
    hosts = ",".join(f"127.0.0.1:{one.port}" for one in servers)
    environment = {
        "CONTENTLOG_READ_MODEL_EU_URL": (
            f"postgresql://{OWNER}@{hosts}/model?target_session_attrs=read-write"
        ),
        "CONTENTLOG_READ_MODEL": "eu",
        "CONTENTLOG_READ_YOUR_WRITES_MS": "3000",
    }
    commands = Commands(database_url, database_url, tmp_path, **environment)
    await commands.run("migrate")
    networks = {"CONTENTLOG_WEBHOOK_NETWORKS": "127.0.0.0/8"}
    processes = Processes(database_url, tmp_path / "log", None, **environment, **networks)
    headers = {"Authorization": f"Bearer {KEY}"}
    try:
        async with hook_server() as hooks, aiohttp.ClientSession(headers=headers) as session:
            await create_webhook(builder, hooks, events=("entry.created",))
            for name in ("projector", "api", "webhooks"):
                processes.start(name)
            await processes.caught_up()
            yield FailoverSetup(*servers, processes, commands, hooks, session, database_url)
    finally:
        await asyncio.to_thread(processes.stop)


async def test_a_failover_to_a_standby_that_was_behind_is_noticed_and_made_up_for(
    setup: FailoverSetup, tmp_path: Path
) -> None:
    for number in range(BEFORE):
        await setup.create(number)
    tokens = await lose(setup)
    lost = await head_of(setup.store_url) - await checkpoint_of(setup.standby.url("model"))
    assert lost >= LOST
    await check_reads_of_acknowledged_writes(setup, tokens)
    status = (await setup.commands.run("status", "--json")).result
    assert status["lag"]["events"] == lost
    await until(partial(logged, tmp_path / "log", "the read model was set back"))
    # Nothing is delivered again, because the cursor is ahead of the read model.
    assert len(setup.hooks.received) == BEFORE + LOST
    setup.processes.start("projector")
    await setup.processes.caught_up()
    for number, token in tokens.items():
        await setup.until_read(number, token)
    await setup.create(BEFORE + LOST)
    await each_was_delivered(setup, BEFORE + LOST + 1)
    verified = await setup.commands.run("verify", "--json")
    assert (verified.result["readModel"], verified.result["notCompared"]) == (0, None)


async def lose(setup: FailoverSetup) -> dict[int, str]:
    """Creates entries that are read and delivered but missing on the standby, then promotes it.
    Returns their position tokens, by number. The projector is stopped first, so that it does not
    catch up."""
    await until(lambda: has_caught_up(setup))
    setup.standby.run("psql", "-qc", "ALTER SYSTEM SET primary_conninfo = ''", "postgres")
    setup.standby.run("psql", "-qc", "SELECT pg_reload_conf()", "postgres")
    await until(lambda: is_cut(setup.standby))
    tokens = {n: await setup.create(n) for n in range(BEFORE, BEFORE + LOST)}
    await setup.hooks.has(BEFORE + LOST)
    setup.processes.kill("projector")
    reading = asyncio.create_task(check_reads_of_acknowledged_writes(setup, tokens))
    setup.primary.kill()
    await asyncio.to_thread(setup.standby.promote)
    await reading
    return tokens


async def check_reads_of_acknowledged_writes(setup: FailoverSetup, tokens: dict[int, str]) -> None:
    """During and after the failover, reads with a position return 503 or what the client has
    already seen, never 404. Then all are 503."""
    newest = max(tokens)
    statuses: set[int] = set()
    paths = [f"/v1/content/posts/e{newest}", "/v1/content/posts", "/v1/content", "/v1/changes"]
    rounds = 0
    async with asyncio.timeout(60):
        while rounds < 3 or statuses != {503}:
            rounds += 1
            reads = (setup.read(path, tokens[newest]) for path in paths)
            statuses = set(await asyncio.gather(*reads))
            assert statuses <= {200, 503}


async def has_caught_up(setup: FailoverSetup) -> bool:
    return await checkpoint_of(setup.standby.url("model")) == await head_of(setup.store_url)


async def is_cut(standby: Postgres) -> bool:
    receivers = ("psql", "-Atc", "SELECT count(*) FROM pg_stat_wal_receiver", "postgres")
    return standby.run(*receivers).strip() == "0"


async def logged(log: Path, text: str) -> bool:
    return text in await asyncio.to_thread(log.read_text)


async def each_was_delivered(setup: FailoverSetup, number: int) -> None:
    await until(lambda: has_received(setup, number), 60)
    received = [
        int(one.verified(SECRET)["data"]["entry"]["slug"][1:]) for one in setup.hooks.received
    ]
    assert set(received) == set(range(number))
    for before, after in pairwise(received):
        # After a lost connection, at most two deliveries are repeated.
        assert before - 2 <= after <= before + 1


async def has_received(setup: FailoverSetup, number: int) -> bool:
    slugs = {one.json["data"]["entry"]["slug"] for one in setup.hooks.received}
    return len(slugs) == number
