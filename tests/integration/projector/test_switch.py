"""The moment of the switch: readers, writers, projectors, and the projector that is fenced off."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator

import asyncpg
import pytest
from msgspec.structs import replace

from projector.checkpoint import CheckpointConflict, begin_epoch
from projector.log import Log
from projector.rebuild import operations as module
from projector.rebuild.build import Build
from projector.rebuild.operations import NoPreviousReadModel
from projector.rebuild.progress import Operation
from projector.rebuild.replay import Replay
from projector.rebuild.switch import TO_NEXT, terminated_after
from projector.writer import Writer
from read_side.notices import CHANNEL, Notice, decode_notice
from read_side.pool import Pool, at_one_moment, open_pool, snapshot
from read_side.refusals import EntryNotFound, ReadModelUnavailable
from read_side.schema import DISCARDED, LIVE, NEXT, PREVIOUS
from tests.databases import RUNTIME
from tests.integration.live_projector import (
    blocked,
    caught_up,
    checkpoint_of,
    connected,
    dump,
    head_of,
    project_all,
    projecting,
    until,
)
from tests.integration.projector.rebuilds import (
    build_settings,
    rebuild,
    rollback,
    schemas,
    silent,
)
from tests.integration.projector.sample_log import ContentBuilder, rows
from write_side.postgres.connection import Connection
from write_side.store.log_reader import ENTRIES

ROUNDS = 3
LOST = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)
COUNT = "SELECT count(*) FROM read_model.entry"
POSITION = "SELECT position FROM read_model.checkpoint"


@contextlib.asynccontextmanager
async def in_background(*coroutines: object) -> AsyncIterator[None]:
    """Runs coroutines in the background. An error in one is raised."""
    tasks = [asyncio.ensure_future(one) for one in coroutines]  # type: ignore[call-overload]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("is_refused", [False, True])
async def test_a_read_of_several_statements_is_of_one_read_model(
    builder: ContentBuilder, database_url: str, is_refused: bool
) -> None:
    """Each statement looks up its tables, so the later ones would read the new tables, in which the
    snapshot of the transaction has no rows."""
    await builder.magazine()
    await builder.entry("first")
    await project_all(database_url, database_url)
    attempts: list[tuple[int, int]] = []

    async def read(connection: Connection) -> tuple[int, int]:
        first = await connection.fetchval(COUNT)
        if not attempts:
            await rebuild(database_url)
            # PostgreSQL learns of the switch at the latest when it locks another table.
            await connection.fetchval(POSITION)
        attempts.append((first, await connection.fetchval(COUNT)))
        if is_refused and not attempts[-1][1]:
            raise EntryNotFound
        return attempts[-1]

    async with open_pool(database_url) as pool:
        for _ in range(2):
            assert await at_one_moment(pool, "acme", read) == (1, 1)
    assert attempts == [(1, 0), (1, 1), (1, 1)]


async def test_a_large_page_that_may_mix_two_read_models_is_discarded(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()

    async def read(pool: Pool, *, switches: bool) -> int:
        async with snapshot(pool) as connection:
            if switches:
                await connection.fetchval(POSITION)
                await rebuild(database_url)
            return int(await connection.fetchval(COUNT))

    async with open_pool(database_url) as pool:
        with pytest.raises(ReadModelUnavailable):
            await read(pool, switches=True)
        assert await read(pool, switches=False) == 0


async def test_a_rebuild_whose_connection_is_lost_after_the_switch_is_done(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await builder.magazine()
    await rebuild(database_url)
    drops: list[str] = []

    async def drop_once(_connection: Connection, name: str) -> None:
        drops.append(name)
        if len(drops) > 1:
            raise ConnectionResetError

    monkeypatch.setattr(module, "drop_read_model", drop_once)
    assert (await rebuild(database_url)).position == await head_of(database_url)
    assert drops == [DISCARDED, DISCARDED]


@pytest.mark.slow
async def test_readers_and_writers_notice_nothing(
    builder: ContentBuilder, database_url: str
) -> None:
    """No read is empty, fails or returns fewer entries, and each create becomes visible soon,
    across three switches."""
    await builder.magazine()
    await builder.entry("first")
    written, seen, numbers = [1], [0, 0], itertools.count()

    async def write() -> None:
        while True:
            await builder.entry(f"entry-{next(numbers)}")
            written[0] += 1

    async def read(who: int) -> None:
        async with connected(database_url) as connection:
            while True:
                position = await connection.fetchval(POSITION)
                count = await connection.fetchval(COUNT)
                assert count >= max(1, seen[who])
                assert await connection.fetchval(POSITION) >= position
                seen[who] = count

    async with projecting(database_url):
        await caught_up(database_url)
        async with in_background(write(), write(), read(0), read(1)):
            for _ in range(ROUNDS):
                before = written[0]
                done = await rebuild(database_url)
                assert (done.differences, done.not_compared) == ([], None)

                async def went_on(before: int = before) -> bool:
                    return written[0] > before + 20 and seen[0] > before

                await until(went_on)
        await caught_up(database_url)
    # The last append of each writer may have been committed when the writer was stopped.
    [(count,)] = await rows(database_url, "SELECT count(*) FROM entry")
    assert written[0] <= count <= written[0] + 2
    live = await dump(database_url)
    await rebuild(database_url)
    assert await dump(database_url) == live


class SlowHead(Log):
    """In the middle of a switch, the head is returned only when the live projector waits."""

    def __init__(self, store: Connection, watching: Connection) -> None:
        super().__init__(store)
        self._watching = watching
        self.is_asked = asyncio.Event()

    async def head(self) -> int:
        self.is_asked.set()
        await until(lambda: blocked(self._watching))
        return await super().head()


async def test_a_batch_that_waits_for_the_switch_is_fenced_off_and_not_notified(
    builder: ContentBuilder, database_url: str
) -> None:
    """It was written to the old tables, so readers who were notified of it would not find it."""
    await builder.magazine()
    await project_all(database_url, database_url)
    settings = build_settings(database_url)
    notices: list[str] = []
    async with (
        module.connections(settings, NEXT) as (store, model),
        module.connections(settings, LIVE) as (other_store, live),
        connected(database_url) as watching,
    ):
        await watching.add_listener(CHANNEL, lambda *args: notices.append(args[-1]))
        log = SlowHead(store, watching)
        epoch, checkpoint = await begin_epoch(live)
        made = await Build(settings, NEXT, store, model, Operation(silent)).make(
            checkpoint.position
        )
        await builder.entry("one")
        batch = await Log(other_store).read(checkpoint.position)
        made.log = log
        switching = asyncio.create_task(made.switch(TO_NEXT))
        await log.is_asked.wait()
        with pytest.raises(CheckpointConflict):
            await Writer(live, epoch).write(batch, checkpoint)
        await switching
        assert made.checkpoint == checkpoint
        await watching.execute("SELECT 1")
    position = checkpoint.position
    begun = Notice(epoch=epoch, after=position, position=position)
    assert [decode_notice(one) for one in notices] == [begun, replace(begun, epoch=epoch + 2)]
    assert await checkpoint_of(database_url) == checkpoint.position
    assert await rows(database_url, "SELECT FROM entry") == []
    assert await rows(database_url, "SELECT FROM read_model_previous.entry") == []


class UnresponsiveHead(Log):
    """In the middle of a switch, the head is never returned."""

    async def head(self) -> int:
        return int(await self._connection.fetchval("SELECT pg_sleep(600)::text"))


async def test_a_switch_that_waits_for_a_silent_store_is_aborted_and_blocks_no_one(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    await project_all(database_url, database_url)
    settings = build_settings(database_url)
    async with module.connections(settings, NEXT) as (store, model):
        made = await Build(settings, NEXT, store, model, Operation(silent)).make(2)
        made.log = UnresponsiveHead(store)
        with pytest.raises(LOST), terminated_after(0.2, model, store):
            await made.switch(TO_NEXT)
    await builder.entry("one")
    await project_all(database_url, database_url)
    assert await rows(database_url, "SELECT slug FROM entry") == [("one",)]
    assert await schemas(database_url) == [LIVE, NEXT]


async def test_the_projector_continues_in_the_new_model_at_once(
    builder: ContentBuilder, database_url: str
) -> None:
    """It keeps its connections, because writers are waiting."""
    await builder.magazine()
    async with projecting(database_url):
        await caught_up(database_url)
        async with connected(database_url) as connection:
            before = await connection.fetch(WHO)
            await rebuild(database_url)
            await builder.entry("one")
            await caught_up(database_url)
            assert await connection.fetch(WHO) == before != []
    assert await rows(database_url, "SELECT slug FROM entry") == [("one",)]


WHO = """
SELECT pid FROM pg_stat_activity WHERE application_name = 'contentlog projector'
AND datname = current_database() ORDER BY 1"""


async def test_rollback_catches_up_and_can_be_repeated(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    await builder.entry("one")
    await project_all(database_url, database_url)
    await mark(database_url, "first")
    await rebuild(database_url)
    await mark(database_url, "second")
    await builder.entry("two")
    await project_all(database_url, database_url)
    expected = await dump(database_url)
    for name in ("first", "second", "first"):
        assert await rollback(database_url) == await head_of(database_url)
        assert await name_of(database_url) == name
        assert await dump(database_url) == expected
        assert await schemas(database_url) == [LIVE, PREVIOUS]
        await builder.entry(f"after-{await head_of(database_url)}")
        await project_all(database_url, database_url)
        expected = await dump(database_url)


async def mark(url: str, name: str) -> None:
    """Makes a read model distinguishable from an equal one."""
    async with connected(url) as connection:
        await connection.execute(f"COMMENT ON TABLE read_model.entry IS '{name}'")


async def name_of(url: str) -> str:
    async with connected(url) as connection:
        found = await connection.fetchval("SELECT obj_description('read_model.entry'::regclass)")
    return str(found)


async def test_rollback_needs_a_previous_one_that_this_version_can_write(
    builder: ContentBuilder, database_url: str
) -> None:
    with pytest.raises(NoPreviousReadModel, match="only a rebuild leaves one"):
        await rollback(database_url)
    await builder.magazine()
    await project_all(database_url, database_url)
    await rebuild(database_url)
    async with connected(database_url) as connection:
        await connection.execute("UPDATE read_model_previous.checkpoint SET shape = 'older'")
        with pytest.raises(NoPreviousReadModel, match="a different shape"):
            await rollback(database_url)
        await connection.execute("UPDATE read_model_previous.checkpoint SET position = 99")
    assert await schemas(database_url) == [LIVE, PREVIOUS]


async def test_rollback_of_a_projector_that_follows(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    async with projecting(database_url):
        await builder.entry("one")
        await caught_up(database_url)
        await rebuild(database_url)
        await builder.entry("two")
        await caught_up(database_url)
        assert await rollback(database_url) >= 4
        await builder.entry("three")
        await caught_up(database_url)
    found = await rows(database_url, "SELECT slug FROM entry ORDER BY position")
    assert found == [("one",), ("two",), ("three",)]


async def test_writes_of_an_earlier_build_are_refused(
    builder: ContentBuilder, database_url: str
) -> None:
    """Its worker may outlive a build that was killed, and would find the tables of the next one."""
    await builder.magazine()
    await builder.entry("one")
    await project_all(database_url, database_url)
    settings = build_settings(database_url)
    async with module.connections(settings, NEXT) as (store, model):
        first = Build(settings, NEXT, store, model, Operation(silent))
        await first.make(3)
        await Build(settings, NEXT, store, model, Operation(silent)).make(3)
        left_over = Replay(Log(store), model, first.epoch, 3, 1_000_000)
        with pytest.raises(CheckpointConflict):
            await left_over.replay(ENTRIES, lambda _: None)
        assert await model.fetchval("SELECT count(*) FROM entry") == 1


async def test_leftovers_of_a_switch_are_removed(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    await project_all(database_url, database_url)
    async with connected(database_url) as connection:
        for name in (DISCARDED, NEXT):
            await connection.execute(f"CREATE SCHEMA {name}")
            await connection.execute(f"CREATE TABLE {name}.left_over ()")
            await connection.execute(f"ALTER TABLE {name}.left_over OWNER TO {RUNTIME}")
            await connection.execute(f"ALTER SCHEMA {name} OWNER TO {RUNTIME}")
    await rebuild(database_url)
    assert await schemas(database_url) == [LIVE, PREVIOUS]


async def test_an_append_that_is_not_yet_committed_is_never_skipped(
    builder: ContentBuilder, database_url: str
) -> None:
    """It holds the head, so other appends wait for it and no position is skipped."""
    await builder.magazine()
    await project_all(database_url, database_url)
    async with connected(database_url) as slow:
        transaction = slow.transaction()
        await transaction.start()
        await slow.execute("UPDATE write_side.head SET position = position + 1")
        await slow.execute(
            "INSERT INTO write_side.event SELECT position, 'media/acme/late', 1, "
            "'media.added.v1', $1, now() FROM write_side.head",
            LATE,
        )
        writing = asyncio.create_task(builder.entry("one"))
        async with connected(database_url) as connection:
            await until(lambda: blocked(connection))
        assert (await rebuild(database_url)).position == 2
        assert not writing.done()
        await transaction.commit()
        await writing
    assert (await rebuild(database_url)).position == 4
    assert await rows(database_url, "SELECT id FROM media") == [("late",)]
    await project_all(database_url, database_url)
    assert await rows(database_url, "SELECT slug FROM entry") == [("one",)]


LATE = (
    '{"workspace":"acme","actor":{"kind":"operator","id":"test"},"at":"2026-01-01T00:00:00Z",'
    '"media_id":"late","url":"https://x","name":"x","content_type":"image/png"}'
)
