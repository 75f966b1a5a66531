"""The engine of a read model, and when a checkpoint of a distributed one is announced (ADR 59).

A read model with ``announced.sql`` is a distributed one for all processes, here without Citus.
"""

from __future__ import annotations

import asyncio
from importlib import resources

import pytest

from projector.checkpoint import announce, begin_epoch, committed_everywhere
from projector.process import connect_model
from projector.rebuild.operations import verify
from read_side import schema
from read_side.checkpoint import POLL_WAITING, CheckpointWatch, fetch_checkpoint
from read_side.engine import EngineRefused, is_distributed
from read_side.notices import CHANNEL, Notice, decode_notice
from read_side.pool import fetch_text, open_pool
from read_side.status import read_status
from tests.integration.live_projector import SECONDS, caught_up, connected, head_of, projecting
from tests.integration.projector.random_log import RandomCommands
from tests.integration.projector.rebuilds import build_settings, schemas, silent
from write_side.repository import Repository

ANNOUNCED = (resources.files("read_side") / "announced.sql").read_text("utf-8")
MOVE = "UPDATE read_model.checkpoint SET position = $1"
ANNOUNCE = "UPDATE projector.announced SET position = $1"
WARN = "DO $$ BEGIN RAISE WARNING 'failed to commit transaction on worker:5432'; END $$"
DURABLE = "SHOW synchronous_commit"


async def spread(url: str) -> None:
    async with connected(url) as connection:
        await connection.execute(ANNOUNCED)
        await connection.execute("ALTER TABLE projector.announced OWNER TO contentlog")


async def test_a_database_without_citus_is_refused(empty_database_url: str) -> None:
    async with connected(empty_database_url) as connection:
        with pytest.raises(EngineRefused, match="CREATE EXTENSION citus"):
            await schema.create(connection, engine="citus")


async def test_a_rebuild_makes_no_read_model_of_another_engine(
    database_url: str, empty_database_url: str
) -> None:
    """If there is no read model, a rebuild creates one first, as ``contentlog migrate`` does."""
    settings = build_settings(database_url, empty_database_url, engine="citus")
    with pytest.raises(EngineRefused, match="CREATE EXTENSION citus"):
        await verify(settings, silent)
    assert await schemas(empty_database_url) == []


async def test_a_read_model_of_another_engine_can_be_verified(
    database_url: str,
) -> None:
    verified = await verify(build_settings(database_url, engine="citus", workers=1), silent)
    assert verified.not_compared is None


async def test_a_read_model_of_another_engine_is_refused(database_url: str) -> None:
    await spread(database_url)
    async with connected(database_url) as connection:
        with pytest.raises(EngineRefused, match="engine is 'citus', but its settings say 'postg"):
            await schema.create(connection)


async def test_a_read_model_that_was_dropped_may_have_another_engine(database_url: str) -> None:
    await spread(database_url)
    async with connected(database_url) as connection:
        await connection.execute("DROP SCHEMA read_model CASCADE")
        assert await schema.create(connection)
    async with connected(database_url) as connection:
        assert not await is_distributed(connection)


async def test_a_role_that_may_only_read_entries_can_ask_for_the_engine(database_url: str) -> None:
    async with connected(database_url) as connection:
        await connection.execute("SET ROLE pg_signal_backend")  # this role may not read our schemas
        assert not await is_distributed(connection)


async def test_a_pool_from_before_the_read_model_learns_its_engine(
    empty_database_url: str,
) -> None:
    """Citus finds the worker by the values of parameters, which a generic plan does not have."""
    async with open_pool(empty_database_url) as pool:
        async with connected(empty_database_url) as connection:
            await schema.create(connection)
        await spread(empty_database_url)
        [row] = await fetch_text(pool, "SHOW plan_cache_mode")
    assert row["plan_cache_mode"] == "force_custom_plan"


async def test_projected_changes_are_announced(repository: Repository, database_url: str) -> None:
    await spread(database_url)
    async with projecting(database_url):
        await RandomCommands(repository, 59).execute(40)
        await caught_up(database_url)
    async with connected(database_url) as connection:
        live = await fetch_checkpoint(connection)
    assert live.position == await head_of(database_url)
    assert live.stamp == live.latest


async def test_a_position_is_waited_for_until_it_is_announced(database_url: str) -> None:
    """The coordinator commits before the workers. No notification is sent here, as if it was
    lost."""
    await spread(database_url)
    async with CheckpointWatch(database_url) as watch, connected(database_url) as connection:
        await connection.execute(MOVE, 5)
        assert not await watch.wait(5, 3 * POLL_WAITING)
        assert (await read_status(connection)).position == 0
        await connection.execute(ANNOUNCE, 5)
        assert await watch.wait(5, SECONDS)
        assert (await read_status(connection)).position == 5


async def test_a_projector_that_comes_too_late_announces_nothing(database_url: str) -> None:
    await spread(database_url)
    heard: asyncio.Queue[Notice] = asyncio.Queue()
    model = await connect_model(database_url)
    async with connected(database_url) as reader:
        await reader.add_listener(CHANNEL, lambda *args: heard.put_nowait(decode_notice(args[-1])))
        older, _ = await begin_epoch(model)
        newer, _ = await begin_epoch(model)
        await announce(model, Notice(epoch=older, after=0, position=7))
        await announce(model, Notice(epoch=newer, after=0, position=3))
        assert [(await heard.get()).epoch for _ in range(3)] == [older, newer, newer]
        live = await fetch_checkpoint(reader)
    await model.close()
    assert (live.epoch, live.position) == (newer, 3)


async def test_a_commit_that_a_worker_did_not_confirm_is_not_announced(database_url: str) -> None:
    await spread(database_url)
    model = await connect_model(database_url)
    with pytest.raises(ConnectionError, match="failed to commit transaction on worker:5432"):
        async with committed_everywhere(model), model.transaction():
            await model.execute(WARN)
    async with committed_everywhere(model):
        pass
    await model.close()


async def test_commits_of_a_distributed_read_model_wait_for_the_disk(database_url: str) -> None:
    model = await connect_model(database_url)
    assert await model.fetchval(DURABLE) == "off"
    await model.close()
    await spread(database_url)
    model = await connect_model(database_url)
    assert await model.fetchval(DURABLE) == "on"
    await begin_epoch(model)
    assert await model.fetchval(DURABLE) == "on"
    await model.close()


async def test_so_do_those_of_a_projector_that_came_before_the_read_model(
    empty_database_url: str,
) -> None:
    model = await connect_model(empty_database_url)
    async with connected(empty_database_url) as connection:
        await schema.create(connection)
    await spread(empty_database_url)
    await begin_epoch(model)
    assert await model.fetchval(DURABLE) == "on"
    await model.close()
