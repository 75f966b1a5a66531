"""When it must not continue, the projector halts, reports why, and changes nothing."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from projector.checkpoint import Checkpoint
from projector.follower import Heartbeat
from projector.log import Halted, Log
from projector.process import RETRY_HALTED
from read_side.schema import SHAPE
from tests.databases import RUNTIME
from tests.integration.live_projector import (
    caught_up,
    checkpoint_of,
    connected,
    dump,
    head_of,
    project_all,
    projecting,
    status_of,
    until,
    until_halted,
)
from tests.integration.projector.sample_log import ContentBuilder, rows
from write_side.domain.identity import entry_stream

APPEND = """
WITH at AS (UPDATE write_side.head SET position = position + 1 RETURNING position)
INSERT INTO write_side.event SELECT position, $1, 1, $2, $3, now() FROM at"""
RESTORE = "DELETE FROM write_side.event WHERE notification_id > $1"
HEAD = "UPDATE write_side.head SET position = $1"
SAID = "SELECT halted FROM projector.process"
FAIL = """
CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE 'no room' USING ERRCODE = '53100', HINT = 'Check free disk space.'; END $$"""
DISK_IS_FULL = """
CREATE TRIGGER full_disk BEFORE INSERT ON read_model.content_type EXECUTE FUNCTION public.fail()"""
REFUSE_ONE = "ALTER TABLE read_model.entry ADD CONSTRAINT refused CHECK (slug <> 'one')"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """It tries again after one second instead of five."""
    assert RETRY_HALTED > 1
    monkeypatch.setattr("projector.process.RETRY_HALTED", 1)


async def execute(url: str, *steps: tuple[object, ...]) -> None:
    """Executes a statement as the owner, who can damage the log."""
    async with connected(url, session_replication_role="replica") as connection:
        for sql, *parameters in steps:
            await connection.execute(str(sql), *parameters)


async def test_a_gap_in_the_log_halts_it_before_the_gap(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    for slug in ("one", "two", "three"):
        await builder.entry(slug)
    await execute(database_url, ("DELETE FROM write_side.event WHERE notification_id = 4",))
    before = await dump(database_url)
    async with projecting(database_url):
        await until_halted(database_url, "has 4 events from 1 to 5: events are missing")
    assert await dump(database_url) == before
    assert await checkpoint_of(database_url) == 0


async def test_a_gap_after_the_checkpoint_halts_it_too(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    async with projecting(database_url):
        await caught_up(database_url)
        async with connected(database_url) as connection, connection.transaction():
            await connection.execute(HEAD, 3)
            await connection.execute(
                "INSERT INTO write_side.event VALUES (4, 'x/1', 1, 'x', '{}', now())"
            )
            await connection.execute("SELECT pg_notify('contentlog_event', '4')")
        await until_halted(database_url, "after position 2 has 1 event from 4 to 4")
    assert await checkpoint_of(database_url) == 2


class TestUnknownTopic:
    async def test_the_projector_halts_at_exactly_the_bad_event_and_continues_after_repair(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.magazine()
        await builder.entry("one")
        await execute(database_url, (APPEND, "comet/1", "comet.seen.v1", "{}"))
        await builder.entry("two")
        async with projecting(database_url):
            await until_halted(database_url, "at position 4, stream comet/1")
            assert await checkpoint_of(database_url) == 3
            assert await rows(database_url, "SELECT slug FROM entry") == [("one",)]
            await execute(
                database_url,
                (
                    "UPDATE write_side.event SET topic = 'media.removed.v1', state = $1 "
                    "WHERE notification_id = 4",
                    '{"workspace":"acme","actor":{"kind":"operator","id":"x"},"media_id":"m",'
                    '"at":"2026-01-31T12:00:00Z"}',
                ),
            )
            await caught_up(database_url)
            assert await rows(database_url, "SELECT count(*) FROM entry") == [(2,)]

            async def goes_on() -> bool:
                return (await status_of(database_url)).projectors[0].halted is None

            await until(goes_on)

    async def test_the_reason_is_kept_while_it_is_tried_again(
        self, builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Otherwise readiness checks would sometimes succeed."""
        await builder.magazine()
        await execute(database_url, (APPEND, "comet/1", "comet.seen.v1", "{}"))
        reasons: list[str | None] = []
        take_over = Heartbeat.take_over

        async def take_over_and_look(presence: Heartbeat) -> None:
            await take_over(presence)
            reasons.append(await presence._connection.fetchval(SAID))

        monkeypatch.setattr(Heartbeat, "take_over", take_over_and_look)
        async with projecting(database_url), connected(database_url) as watcher:
            await until_halted(database_url, "comet.seen.v1")
            while len(reasons) < 3:
                assert await watcher.fetchval(SAID), "between its lives too"
                await asyncio.sleep(0.01)
        assert [text is None for text in reasons] == [True, False, False]

    async def test_state_that_does_not_decode_halts_it_too(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.magazine()
        await execute(database_url, (APPEND, "media/a/1", "media.removed.v1", '{"at": 7}'))
        async with projecting(database_url):
            await until_halted(database_url, "at position 3, stream media/a/1")
        assert await checkpoint_of(database_url) == 2


class TestRestoredLog:
    """After the log is restored to an earlier point, positions are used again."""

    async def test_a_checkpoint_beyond_the_head_halts_it(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.magazine()
        await builder.entry("one")
        await project_all(database_url, database_url)
        await execute(database_url, (RESTORE, 2), (HEAD, 2))
        async with projecting(database_url):
            await until_halted(database_url, "at 3, beyond the log's head 2")
        assert await checkpoint_of(database_url) == 3

    async def test_a_checkpoint_at_another_event_halts_it(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.magazine()
        entry_id = await builder.entry("one")
        await project_all(database_url, database_url)
        await execute(
            database_url, (RESTORE, 2), (HEAD, 2), ("DELETE FROM write_side.entry_claim",)
        )
        await builder.entry("two")
        await builder.entry("three")
        assert await head_of(database_url) == 4
        async with projecting(database_url):
            await until_halted(database_url, entry_stream(entry_id))
            await until_halted(database_url, "rebuild the read model")
        assert await rows(database_url, "SELECT slug FROM entry") == [("one",)]

    async def test_a_checkpoint_of_the_same_stream_at_another_version_is_detected(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.magazine()
        async with connected(database_url) as connection:
            log = Log(connection)
            projected = await log.checkpoint_at(1)
            await log.check(projected)
            with pytest.raises(Halted):
                await log.check(replace(projected, version=2))

    async def test_the_same_version_of_a_recreated_stream_is_detected(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        """An entry is edited, the log is restored to an earlier point, and the entry is edited
        again."""
        await builder.magazine()
        entry_id = await builder.entry("one")
        await builder.update(entry_id, title="Lost")
        await project_all(database_url, database_url)
        await execute(database_url, (RESTORE, 3), (HEAD, 3))
        await asyncio.sleep(0.002)  # times of events have milliseconds
        await builder.update(entry_id, title="New")
        async with projecting(database_url):
            await until_halted(database_url, f"position 4 holds {entry_stream(entry_id)} version 2")
            await until_halted(database_url, "rebuild the read model")
        assert await rows(database_url, "SELECT title FROM entry") == [("Lost",)]

    async def test_position_0_matches_any_log(self, database_url: str) -> None:
        async with connected(database_url) as connection:
            await Log(connection).check(Checkpoint(0))


async def test_an_event_that_does_not_fit_the_read_model_halts_it(
    builder: ContentBuilder, database_url: str
) -> None:
    """Either the log or the read model is damaged. Which one, an operator must decide."""
    await builder.magazine()
    entry_id = await builder.entry("one")
    await project_all(database_url, database_url)
    await execute(database_url, ("DELETE FROM read_model.entry",))
    await builder.update(entry_id, title="Two")
    async with projecting(database_url):
        await until_halted(database_url, f"entry/{entry_id} at position 4 was never created")
    assert await checkpoint_of(database_url) == 3


async def test_an_unexpected_fault_halts_it_and_is_reported(
    builder: ContentBuilder, database_url: str
) -> None:
    """The fault would recur after a restart, so ending the process would not help."""
    await builder.magazine()
    await execute(database_url, (REFUSE_ONE,))
    await builder.entry("one")
    async with projecting(database_url):
        await until_halted(database_url, "unexpected error")
        assert await checkpoint_of(database_url) == 0
        await execute(database_url, ("ALTER TABLE read_model.entry DROP CONSTRAINT refused",))
        await caught_up(database_url)


async def test_a_full_disk_halts_it_until_there_is_space(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    await execute(database_url, (FAIL,), (DISK_IS_FULL,))
    async with projecting(database_url):
        reason = "a disk of PostgreSQL is full: free or add space (no room)"
        await until_halted(database_url, reason)
        await execute(database_url, ("DROP TRIGGER full_disk ON read_model.content_type",))
        await caught_up(database_url)


@pytest.mark.parametrize(
    "undone",
    ["DROP SCHEMA write_side CASCADE", f"REVOKE USAGE ON SCHEMA write_side FROM {RUNTIME}"],
    ids=["not installed", "privileges not restored"],
)
async def test_without_a_migration_it_says_what_to_run(database_url: str, undone: str) -> None:
    await execute(database_url, (undone,))
    async with projecting(database_url):
        await until_halted(database_url, "run `contentlog migrate`")


async def test_a_read_model_of_a_different_shape_is_not_written(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    await execute(
        database_url,
        ("UPDATE read_model.checkpoint SET shape = 'older'",),
        ("ALTER TABLE read_model.checkpoint DROP COLUMN happened_at",),
    )
    async with projecting(database_url):
        await until_halted(database_url, "a different shape than this version writes: rebuild it")
    assert await checkpoint_of(database_url) == 0


async def test_only_the_last_halt_is_reported_and_none_after_a_projector_continues(
    builder: ContentBuilder, database_url: str
) -> None:
    """Two projectors that halt pass the lock to each other."""
    await builder.magazine()
    await execute(database_url, ("UPDATE read_model.checkpoint SET shape = 'older'",))
    have_halted = set[str]()
    async with projecting(database_url), projecting(database_url):

        async def both_have_halted() -> bool:
            halted = [p.id for p in (await status_of(database_url)).projectors if p.halted]
            assert len(halted) <= 1
            have_halted.update(halted)
            return len(have_halted) == 2

        await until(both_have_halted)
        await execute(database_url, ("UPDATE read_model.checkpoint SET shape = $1", SHAPE))
        await caught_up(database_url)

        async def none_is() -> bool:
            return not any(p.halted for p in (await status_of(database_url)).projectors)

        await until(none_is)
