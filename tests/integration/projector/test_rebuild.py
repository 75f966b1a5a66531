"""A rebuild builds the same tables from the log alone and replaces the live ones."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from projector.checkpoint import CheckpointConflict
from projector.log import BATCH, Gap, Halted
from projector.projection import Inconsistent
from projector.rebuild import operations as module
from projector.rebuild.build import Build
from projector.rebuild.operations import ReadModelMismatch
from projector.rebuild.progress import OperationInProgress, Progress, exclusive_operation
from projector.rebuild.switch import Candidate
from projector.rebuild.worker import Job, replay_in_workers
from read_side.schema import LIVE, NEXT, PREVIOUS
from tests.integration.live_projector import (
    checkpoint_of,
    connected,
    dump,
    head_of,
    project_all,
    status_of,
    until,
)
from tests.integration.projector.random_log import RandomCommands
from tests.integration.projector.rebuilds import build_settings, rebuild, schemas, silent
from tests.integration.projector.sample_log import LEAD, ContentBuilder, rows
from write_side.repository import Repository
from write_side.store import log_reader

APPEND = """
WITH at AS (UPDATE write_side.head SET position = position + 1 RETURNING position)
INSERT INTO write_side.event SELECT position, $1, $2, $3, $4, now() FROM at"""

DELETE_ONE = """
DELETE FROM read_model.{table} WHERE ctid = (SELECT min(ctid) FROM read_model.{table})"""

NOT_COMPARED = """
WITH compared AS (
    SELECT table_name::text, column_name::text FROM information_schema.view_column_usage
    WHERE (view_schema, view_name) = ('read_model', 'digest'))
SELECT table_name::text, column_name::text FROM information_schema.columns
WHERE table_schema = 'read_model' AND table_name IN (SELECT table_name FROM compared)
EXCEPT SELECT table_name, column_name FROM compared"""

END_OPERATION = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = 'contentlog at work' AND datname = current_database()"""


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ranges, so that a short log has several and several workers have work."""
    monkeypatch.setattr(log_reader, "EVENTS_IN_A_RANGE", 10)


async def execute(url: str, sql: str, *parameters: object) -> None:
    """Executes a statement as the owner, who can damage the log."""
    async with connected(url, session_replication_role="replica") as connection:
        await connection.execute(sql, *parameters)


@pytest.mark.parametrize(
    ("seed", "workers"), [*(pytest.param(n, 1, marks=pytest.mark.slow) for n in (1, 2)), (3, 2)]
)
async def test_the_tables_are_the_same_as_those_that_were_followed(
    seed: int, workers: int, repository: Repository, database_url: str, small_ranges: None
) -> None:
    await RandomCommands(repository, seed).execute(150)
    await project_all(database_url, database_url, [BATCH, 3])
    expected = await dump(database_url)
    done = await rebuild(database_url, workers=workers)
    assert (done.position, done.differences) == (await head_of(database_url), [])
    found = await dump(database_url)
    for table, its_rows in expected.items():
        assert found[table] == its_rows, table
    assert await schemas(database_url) == [LIVE, PREVIOUS]


async def test_a_rebuilt_model_is_followed_and_can_be_rebuilt_again(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    one = await builder.entry("one")
    await project_all(database_url, database_url)
    for _ in range(3):
        await builder.update(one, title="Changed")
        await rebuild(database_url)
        await builder.entry(f"entry-{await head_of(database_url)}")
        await project_all(database_url, database_url)
    assert await checkpoint_of(database_url) == await head_of(database_url)
    assert len(await rows(database_url, "SELECT FROM entry")) == 4


async def test_an_empty_log_gives_an_empty_read_model(database_url: str) -> None:
    done = await rebuild(database_url)
    assert (done.position, done.not_compared) == (0, "it is empty")


async def test_a_new_read_model_in_another_database_begins_at_the_head(
    builder: ContentBuilder, database_url: str, model_url: str
) -> None:
    await builder.magazine()
    await builder.entry("one")
    await project_all(database_url, database_url)
    assert (await rebuild(database_url, model_url)).position == 3
    assert await dump(model_url) == await dump(database_url)


CHANGES = {
    "different": ("UPDATE read_model.entry SET title = 'Tampered'", "entry"),
    "missing": ("DELETE FROM read_model.entry", "entry"),
    "unknown": (
        "INSERT INTO read_model.media VALUES ('acme', 'ghost', 'https://x', 'x', 'image/png')",
        "media",
    ),
}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind == "different" else pytest.mark.slow) for kind in CHANGES],
)
async def test_differences_are_listed_and_stop_the_switch(
    kind: str, builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    entry_id = await builder.entry("one")
    await project_all(database_url, database_url)
    expected = await dump(database_url)
    change, relation = CHANGES[kind]
    await execute(database_url, change)
    tampered = await dump(database_url)
    with pytest.raises(ReadModelMismatch, match="--accept-differences") as refused:
        await rebuild(database_url)
    assert await dump(database_url) == tampered
    [one] = refused.value.differences
    assert (one.relation, one.kind) == (relation, kind)
    assert entry_id in one.key or "ghost" in one.key
    done = await rebuild(database_url, accept=True)
    assert done.differences == [one]
    assert await dump(database_url) == expected


async def test_each_table_is_compared(repository: Repository, database_url: str) -> None:
    await RandomCommands(repository, 4).execute(250)
    await project_all(database_url, database_url)
    tables = await dump(database_url)
    compared = tables.keys() - {"rendering", "indexing", "locale_partition"}
    for table in compared:
        assert tables[table], f"the story tells nothing of {table}"
    await execute(database_url, ";".join(DELETE_ONE.replace("{table}", one) for one in compared))
    with pytest.raises(ReadModelMismatch) as refused:
        await rebuild(database_url)
    assert {one.relation for one in refused.value.differences} == compared


async def test_each_stored_value_is_compared(database_url: str) -> None:
    renderings = {("entry", one) for one in ("stage", "type_version")}
    renderings |= {("entry_locale", one) for one in ("texts", "fields")}
    assert set(await rows(database_url, NOT_COMPARED)) == renderings


async def test_renderings_are_not_compared(builder: ContentBuilder, database_url: str) -> None:
    """Entries that wait to be rendered again are not a difference: readers see the new
    rendering."""
    await builder.magazine()
    await builder.entry("one")
    await builder.revise_type(LEAD)
    await project_all(database_url, database_url, renderings=0)
    assert (await rebuild(database_url)).differences == []
    assert await rows(database_url, "SELECT FROM rendering") == []


async def test_a_missing_event_stops_it(builder: ContentBuilder, database_url: str) -> None:
    await builder.magazine()
    for slug in ("one", "two"):
        await builder.entry(slug)
    await project_all(database_url, database_url)
    await execute(database_url, "DELETE FROM write_side.event WHERE notification_id = 3")
    before = await dump(database_url)
    with pytest.raises(Gap, match="up to position 4 has 3 events"):
        await rebuild(database_url)
    assert await dump(database_url) == before


@pytest.mark.parametrize("workers", [1, 2])
async def test_an_unreadable_event_stops_it_and_is_named(
    workers: int, builder: ContentBuilder, database_url: str, small_ranges: None
) -> None:
    await builder.magazine()
    for n in range(20 * (workers - 1) + 1):
        await builder.entry(f"entry-{n}")
    await project_all(database_url, database_url)
    head = await head_of(database_url)
    await execute(database_url, APPEND, "entry/strange", 1, "entry.sold.v1", "{}")
    await execute(
        database_url,
        "UPDATE read_model.checkpoint SET position = position + 1, "
        "originator_id = 'entry/strange', originator_version = 1",
    )
    with pytest.raises(Halted, match=f"position {head + 1}, stream entry/strange: .*entry.sold.v1"):
        await rebuild(database_url, workers=workers)
    assert LIVE in await schemas(database_url)


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_stream_with_a_hole_stops_it(
    workers: int, builder: ContentBuilder, database_url: str, small_ranges: None
) -> None:
    await builder.magazine()
    for n in range(20 * (workers - 1)):
        await builder.entry(f"entry-{n}")
    await builder.update(await builder.entry("one"), title="Two")
    await project_all(database_url, database_url)
    head = await head_of(database_url)
    await execute(
        database_url,
        "UPDATE write_side.event SET originator_version = 3 WHERE notification_id = $1",
        head,
    )
    await execute(database_url, "UPDATE read_model.checkpoint SET originator_version = 3")
    with pytest.raises(Inconsistent, match=f"version 3 at position {head}, but 2 was expected"):
        await rebuild(database_url, workers=workers)


async def test_a_worker_stops_if_the_tables_belong_to_another_rebuild(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    await builder.entry("one")
    await project_all(database_url, database_url)
    head = await head_of(database_url)
    job = Job(database_url, database_url, None, LIVE, epoch=-1, through=head, page_bytes=10_000)
    async with connected(database_url) as store:
        ranges = await log_reader.ranges_of_entries(store, head)
    with pytest.raises(CheckpointConflict, match="another process has begun"):
        await replay_in_workers(1, job, ranges, lambda _: None)


async def test_after_a_restore_of_the_log_it_must_be_accepted(
    builder: ContentBuilder, database_url: str
) -> None:
    """Reads would go back in time, so an operator must decide."""
    await builder.magazine()
    for slug in ("one", "two"):
        await builder.entry(slug)
    await project_all(database_url, database_url)
    await execute(database_url, "DELETE FROM write_side.event WHERE notification_id > 3")
    await execute(database_url, "UPDATE write_side.head SET position = 3")
    with pytest.raises(ReadModelMismatch, match="beyond the log's head 3"):
        await rebuild(database_url)
    assert (await rebuild(database_url, accept=True)).position == 3
    assert await rows(database_url, "SELECT slug FROM entry") == [("one",)]


async def test_a_rebuild_stops_if_the_log_is_restored_to_an_earlier_point_meanwhile(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await builder.magazine()
    await project_all(database_url, database_url)
    head, make = await head_of(database_url), Build.make

    async def before_the_restore(build: Build, through: int) -> Candidate:
        candidate = await make(build, through)
        await builder.entry("one")
        await project_all(database_url, database_url)
        await execute(database_url, "DELETE FROM write_side.event WHERE notification_id > $1", head)
        await execute(database_url, "UPDATE write_side.head SET position = $1", head)
        return candidate

    monkeypatch.setattr(Build, "make", before_the_restore)
    with pytest.raises(Gap, match=f"the log up to position {head + 1} has {head} events"):
        await rebuild(database_url)


@pytest.mark.slow
async def test_a_live_read_model_of_a_different_shape_is_replaced_if_accepted(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    await builder.entry("one")
    await project_all(database_url, database_url)
    expected = await dump(database_url)
    await execute(database_url, "UPDATE read_model.checkpoint SET shape = 'older'")
    with pytest.raises(ReadModelMismatch, match="a different shape"):
        await rebuild(database_url)
    assert (await rebuild(database_url, accept=True)).position == 3
    assert await dump(database_url) == expected


async def test_only_one_operation_runs_at_a_time(database_url: str) -> None:
    async with exclusive_operation(database_url, "verify", silent) as work:
        work.begin("replay", 10)
        with pytest.raises(OperationInProgress, match="contentlog status"):
            await rebuild(database_url)
    assert (await rebuild(database_url)).position == 0


async def test_status_shows_it_while_it_runs(database_url: str) -> None:
    reported: list[Progress] = []
    async with exclusive_operation(database_url, "rebuild", reported.append) as work:
        work.begin("replay", 10)
        work.advance(4)

        async def notified() -> bool:
            status = (await status_of(database_url)).work
            expected = ("rebuild", "replay", 4, 10)
            return status is not None and expected == (
                status.name,
                status.phase,
                status.done,
                status.total,
            )

        await until(notified)
        work.begin("index")
    assert (await status_of(database_url)).work is None
    # Each phase is reported to its end.
    assert [(one.phase, one.done, one.total) for one in reported] == [
        *[("replay", done, 10) for done in (0, 4, 10)],
        *[("index", done, 1) for done in (0, 1)],
    ]


async def test_an_operation_that_loses_its_lock_fails(database_url: str) -> None:
    async def work() -> None:
        async with exclusive_operation(database_url, "rebuild", silent) as operation:
            await execute(database_url, END_OPERATION)

            async def is_unaffected() -> bool:
                operation.advance(0)
                return False

            await until(is_unaffected, 10)

    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
        await work()


async def test_an_operation_whose_heartbeat_hangs_fails(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projector.rebuild.progress.PATIENCE", 0.2)
    async with (
        exclusive_operation(database_url, "rebuild", silent) as operation,
        connected(database_url) as other,
        other.transaction(),
    ):
        await other.execute("LOCK TABLE projector.work IN ACCESS EXCLUSIVE MODE")
        assert operation.heartbeat is not None
        await asyncio.wait([operation.heartbeat], timeout=5)
        with pytest.raises(TimeoutError):
            operation.advance(0)


@pytest.mark.slow
async def test_a_cancelled_rebuild_leaves_the_live_read_model_unchanged(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    await builder.entry("one")
    await project_all(database_url, database_url)
    before = await dump(database_url)
    for phase in ("replay", "index", "follow", "compare", "switch"):

        def cancel(progress: Progress, at: str = phase) -> None:
            if progress.phase == at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await module.rebuild(
                build_settings(database_url), accept_differences=False, report=cancel
            )
        assert await dump(database_url) == before
        assert NEXT in await schemas(database_url)
    assert (await rebuild(database_url)).differences == []
    assert await schemas(database_url) == [LIVE, PREVIOUS]
