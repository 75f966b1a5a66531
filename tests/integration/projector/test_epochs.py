"""One projector at a time: the lock admits one, and the epoch fences off its predecessor."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from projector import writer as writer_module
from projector.background import update_chunk
from projector.checkpoint import Checkpoint, CheckpointConflict, begin_epoch
from projector.entry_search import EntrySearch
from projector.follower import Heartbeat
from projector.log import Log
from projector.process import connect_model
from projector.writer import Writer
from read_side.checkpoint import fetch_checkpoint
from read_side.schema import IncompleteReadModel
from tests.integration.live_projector import (
    caught_up,
    checkpoint_of,
    connected,
    dump,
    project_all,
    projecting,
    status_of,
    until,
)
from tests.integration.projector.rebuilds import rebuild
from tests.integration.projector.sample_log import LEAD, ContentBuilder, rows
from write_side.domain.events import Translation
from write_side.postgres.connection import Connection, is_transient
from write_side.process_state import ProcessState

KILLED_STANDBY = """
INSERT INTO projector.process (id, role, heartbeat_at)
VALUES ('killed', 'standby', now() - interval '61 seconds')"""


@pytest.fixture
async def models(database_url: str) -> AsyncIterator[tuple[Connection, Connection]]:
    """Connections of two projectors that write the same read model."""
    async with contextlib.AsyncExitStack() as stack:
        older, newer = await connect_model(database_url), await connect_model(database_url)
        stack.push_async_callback(older.close)
        stack.push_async_callback(newer.close)
        yield older, newer


async def test_a_heartbeat_during_the_status_is_zero_seconds_ago(
    models: tuple[Connection, Connection], database_url: str
) -> None:
    """The heartbeat may be committed after the statement that reads it has begun."""
    await models[0].execute(
        "INSERT INTO projector.process (id, role, heartbeat_at) VALUES ('p', 'active', $1)",
        datetime.now(UTC) + timedelta(hours=1),
    )
    [projector] = (await status_of(database_url)).projectors
    assert projector.heartbeat_age == 0


async def test_a_read_model_that_is_being_restored_is_waited_for(
    models: tuple[Connection, Connection],
) -> None:
    await models[0].execute("DELETE FROM checkpoint")
    with pytest.raises(IncompleteReadModel) as projector:
        await begin_epoch(models[0])
    with pytest.raises(IncompleteReadModel) as reader:
        await fetch_checkpoint(models[1])
    assert is_transient(projector.value)
    assert is_transient(reader.value)


async def test_the_active_projector_is_first_because_a_standby_may_have_halted_earlier(
    models: tuple[Connection, Connection], database_url: str
) -> None:
    """Its reason of a halt is the one that `/readyz` and `contentlog doctor` give."""
    await models[0].execute(
        "INSERT INTO projector.process (id, role, halted) "
        "VALUES ('p', 'standby', 'earlier'), ('q', 'active', 'now')"
    )
    status = await status_of(database_url)
    assert [projector.halted for projector in status.projectors] == ["now", "earlier"]
    assert status.halted == "now"


async def test_a_projector_that_was_killed_is_not_shown_beside_its_successor(
    models: tuple[Connection, Connection], database_url: str
) -> None:
    await models[0].execute(
        "INSERT INTO projector.process (id, role, halted) VALUES "
        "('killed', 'active', NULL), ('halted', 'active', 'reason'), ('other', 'standby', NULL)"
    )
    await Heartbeat(models[0], "successor", ProcessState()).resume()
    shown = [(one.id, one.role) for one in (await status_of(database_url)).projectors]
    assert shown == [("successor", "active"), ("other", "standby")]


async def test_the_older_writer_is_fenced_off_and_writes_nothing(
    builder: ContentBuilder, database_url: str, models: tuple[Connection, Connection]
) -> None:
    await builder.magazine()
    await builder.entry("one", translations={"fr-FR": Translation("Un")})
    older, newer = models
    epoch, checkpoint = await begin_epoch(older)
    writer = Writer(older, epoch)
    assert await begin_epoch(newer) == (epoch + 1, checkpoint)
    before = await dump(database_url)
    async with connected(database_url) as store:
        batch = await Log(store).read(0)
    with pytest.raises(CheckpointConflict):
        await writer.write(batch, checkpoint)
    assert await dump(database_url) == before
    assert await checkpoint_of(database_url) == 0
    moved = await Writer(newer, epoch + 1).write(batch, checkpoint)
    assert moved.position == 3


async def test_a_newer_writer_that_already_wrote_fences_off_the_older_one(
    builder: ContentBuilder, database_url: str, models: tuple[Connection, Connection]
) -> None:
    """Even within one epoch: the checkpoint moves only from the position that was read."""
    await builder.magazine()
    epoch, checkpoint = await begin_epoch(models[0])
    async with connected(database_url) as store:
        batch = await Log(store).read(0)
    await Writer(models[0], epoch).write(batch, checkpoint)
    before = await dump(database_url)
    with pytest.raises(CheckpointConflict):
        await Writer(models[1], epoch).write(batch, checkpoint)
    assert await dump(database_url) == before


async def test_one_of_two_simultaneous_writers_writes(
    builder: ContentBuilder, database_url: str, models: tuple[Connection, Connection]
) -> None:
    await builder.magazine()
    await builder.entry("one")
    epoch, checkpoint = await begin_epoch(models[0])
    async with connected(database_url) as store:
        batch = await Log(store).read(0)
    outcomes = await asyncio.gather(
        *(Writer(model, epoch).write(batch, checkpoint) for model in models),
        return_exceptions=True,
    )
    assert sum(isinstance(outcome, Checkpoint) for outcome in outcomes) == 1
    assert await rows(database_url, "SELECT DISTINCT n FROM entry_count") == [(1,)]


@pytest.mark.parametrize("change", ["create", "update", "delete"])
async def test_a_projector_behind_at_a_switch_is_fenced_off_and_not_halted(
    change: str,
    builder: ContentBuilder,
    database_url: str,
    models: tuple[Connection, Connection],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rebuild has projected more of the log than the projector, so its batch is behind."""
    monkeypatch.setattr(writer_module, "COPY_FROM", 1)
    await builder.magazine()
    one = await builder.entry("one")
    await project_all(database_url, database_url)
    epoch, checkpoint = await begin_epoch(models[0])
    if change == "create":
        await builder.entry("two")
    elif change == "update":
        await builder.update(one, title="Two")
    else:
        await builder.delete(one)
    async with connected(database_url) as store:
        batch = await Log(store).read(checkpoint.position)
    await rebuild(database_url)
    before = await dump(database_url)
    with pytest.raises(CheckpointConflict):
        await Writer(models[0], epoch).write(batch, checkpoint)
    assert await dump(database_url) == before


async def test_renderings_are_fenced_too(
    builder: ContentBuilder, database_url: str, models: tuple[Connection, Connection]
) -> None:
    await builder.magazine()
    await builder.entry("one")
    await project_all(database_url, database_url)
    older, newer = models
    epoch, checkpoint = await begin_epoch(older)
    await builder.revise_type(LEAD)
    async with connected(database_url) as store:
        batch = await Log(store).read(checkpoint.position)
    await Writer(older, epoch).write(batch, checkpoint)
    await begin_epoch(newer)
    with pytest.raises(CheckpointConflict):
        await update_chunk(older, epoch, EntrySearch(older))
    assert await rows(database_url, "SELECT type_version FROM entry") == [(1,)]


async def test_looking_for_background_work_does_not_wait_for_the_checkpoint(
    builder: ContentBuilder, database_url: str, models: tuple[Connection, Connection]
) -> None:
    await builder.magazine()
    await builder.entry("one")
    await project_all(database_url, database_url)
    model, other = models
    epoch, _ = await begin_epoch(model)
    async with other.transaction():
        await other.execute("SELECT FROM checkpoint FOR UPDATE")
        async with asyncio.timeout(60):
            assert not await update_chunk(model, epoch, EntrySearch(model))


async def test_an_idle_projector_notices_that_it_was_replaced(
    builder: ContentBuilder, database_url: str, models: tuple[Connection, Connection]
) -> None:
    await builder.magazine()
    await project_all(database_url, database_url)
    older, newer = models
    epoch, _ = await begin_epoch(older)
    await begin_epoch(newer)
    with pytest.raises(CheckpointConflict):
        await update_chunk(older, epoch, EntrySearch(older))


async def test_a_second_projector_stands_by_and_takes_over(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    async with connected(database_url) as connection:
        await connection.execute(KILLED_STANDBY)

    async def roles() -> list[str]:
        return sorted(projector.role for projector in (await status_of(database_url)).projectors)

    async def one_of_each() -> bool:
        return await roles() == ["active", "standby"]

    async def one_alone() -> bool:
        return await roles() == ["active"]

    async with contextlib.AsyncExitStack() as second:
        async with projecting(database_url):
            await caught_up(database_url)
            await second.enter_async_context(projecting(database_url))
            await until(one_of_each)
            epoch = (await status_of(database_url)).epoch
        await builder.entry("one")
        await caught_up(database_url)
        await until(one_alone)
        assert (await status_of(database_url)).epoch == epoch + 1
    # A projector that was asked to stop removes its row, and one that begins those of killed ones.
    assert await rows(database_url, "SELECT id FROM projector.process") == []
