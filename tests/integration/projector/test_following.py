"""The running projector follows the log, resumes after temporary faults, and skips nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from projector import follower, process
from projector.log import Log
from projector.process import ProjectorSettings, connect_model, connect_store, run_sessions
from projector.projection import RecordedEvent
from projector.writer import Writer
from read_side.checkpoint import CheckpointWatch
from tests.databases import with_database
from tests.integration.live_projector import (
    SECONDS,
    caught_up,
    checkpoint_of,
    connected,
    dump,
    head_of,
    project_all,
    projecting,
    rendered,
    until,
)
from tests.integration.projector.random_log import RandomCommands
from tests.integration.projector.sample_log import (
    BODY,
    LEAD,
    SCOPE,
    ContentBuilder,
    fields_of,
    raws,
    rows,
)
from tests.proxy import proxy_to
from write_side import commands as c
from write_side.domain.definition import Field
from write_side.domain.events import Translation
from write_side.repository import Repository

OTHERS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND (application_name = 'contentlog projector' OR query LIKE '%contentlog_event%'
       OR query LIKE '%bytes_before%')"""
ANALYSED = "SELECT FROM pg_stats WHERE schemaname = 'read_model' AND tablename = 'entry_production'"
PLANS = """
SELECT generic_plans, custom_plans FROM pg_prepared_statements
WHERE statement LIKE '-- $1 after position%'"""
LANGUAGES = "SELECT fields::text FROM entry_locale_production_other"


async def test_appended_events_are_projected_at_once(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Seconds; without notifications, an event would wait for the poll.
    monkeypatch.setattr(follower, "POLL", 3600.0)
    monkeypatch.setattr(follower, "WORK_EVERY", 3600.0)
    await builder.magazine()
    async with projecting(database_url), CheckpointWatch(database_url) as watch:
        await caught_up(database_url)
        for n in range(20):
            await builder.entry(f"entry-{n}")
            assert await watch.wait(await head_of(database_url), SECONDS)


@pytest.mark.slow
async def test_an_announced_event_is_read_once(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    read = Log.read

    async def counted(log: Log, after: int) -> list[RecordedEvent]:
        batch = await read(log, after)
        reads.append(len(batch))
        return batch

    monkeypatch.setattr(Log, "read", counted)
    monkeypatch.setattr(follower, "POLL", 60.0)
    monkeypatch.setattr(follower, "WORK_EVERY", 60.0)
    await builder.magazine()
    async with projecting(database_url):
        await caught_up(database_url)
        reads.clear()
        for n in range(20):
            await builder.entry(f"entry-{n}")
            await caught_up(database_url)
    assert sum(reads) == 20
    assert reads.count(0) <= 1, "the first may end before the notice of what preceded it"


async def test_the_live_projector_writes_the_same_tables(
    repository: Repository, database_url: str, model_url: str
) -> None:
    """It follows while commands are executed, so its batches vary."""
    async with projecting(database_url):
        await RandomCommands(repository, 5).execute(100)
        await caught_up(database_url)
        await rendered(database_url)
    await project_all(database_url, model_url)
    assert await dump(database_url) == await dump(model_url)


async def test_event_store_and_read_model_may_be_two_databases(
    builder: ContentBuilder, database_url: str, model_url: str
) -> None:
    await builder.magazine()
    async with projecting(database_url, model_url):
        await caught_up(database_url, model_url)
        await builder.entry("one", translations={"fr-FR": Translation("Un")})
        await caught_up(database_url, model_url)
    assert await rows(model_url, "SELECT slug FROM entry") == [("one",)]
    assert await checkpoint_of(database_url) == 0


async def test_grown_tables_are_analyzed(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise plans made while the tables were empty would scan them."""
    monkeypatch.setattr(follower, "FIRST_ANALYZE", 10)
    await builder.magazine()
    async with projecting(database_url):
        await caught_up(database_url)
        assert await rows(database_url, ANALYSED) == []
        for n in range(20):
            await builder.entry(f"entry-{n}")
        await caught_up(database_url)
        await until(lambda: rows(database_url, ANALYSED))


async def test_tables_that_were_analyzed_are_not_analyzed_after_a_restart(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a million entries this takes seconds, during which no write becomes visible."""
    monkeypatch.setattr(follower, "FIRST_ANALYZE", 3)
    monkeypatch.setattr(follower, "_ANALYZE", "INSERT INTO analyzed VALUES (true)")
    async with connected(database_url) as connection:
        await connection.execute("CREATE TABLE read_model.analyzed (was boolean)")
        await connection.execute("GRANT ALL ON read_model.analyzed TO PUBLIC")
    await builder.magazine()
    analyzed = []
    for session in range(3):
        async with projecting(database_url):
            for n in range(3):
                await builder.entry(f"entry-{session}-{n}")
                await caught_up(database_url)
        analyzed.append(len(await rows(database_url, "SELECT FROM analyzed")))
    assert analyzed == [1, 1, 1]


async def test_a_missed_notification_is_replaced_by_the_poll(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await builder.magazine()
    monkeypatch.setattr(follower.Follower, "_on_event", lambda *_: None)
    async with projecting(database_url):
        await caught_up(database_url)
        await builder.entry("one")
        await caught_up(database_url)


@pytest.mark.slow
async def test_lost_connections_lose_nothing_and_repeat_nothing(
    repository: Repository, database_url: str, model_url: str
) -> None:
    """Each of the projector's connections is cut repeatedly while it follows the log."""
    async with projecting(database_url):
        story = RandomCommands(repository, 6)
        await story.execute(20)
        cuts = 0
        while cuts < 8:
            going_on = asyncio.create_task(story.go_on(20))
            cuts += await cut(database_url)
            await going_on
        await caught_up(database_url)
        await rendered(database_url)
    await project_all(database_url, model_url)
    assert await dump(database_url) == await dump(model_url)


async def cut(url: str) -> int:
    async with connected(url) as connection:
        pids = [row["pid"] for row in await connection.fetch(OTHERS)]
        for pid in pids:
            await connection.execute("SELECT pg_terminate_backend($1::int)", pid)
    return len(pids)


async def test_the_statement_timeout_is_set_by_the_connection(database_url: str) -> None:
    """Statements of a rebuild take minutes, where an installation may allow seconds."""
    async with connected(database_url) as operator:
        name = await operator.fetchval("SELECT current_database()")
        await operator.execute(f"ALTER DATABASE \"{name}\" SET statement_timeout = '7s'")
        model = await connect_model(database_url, patience=None)
        assert await model.fetchval("SHOW statement_timeout") == "0"
        await model.close()


async def test_reads_of_the_log_are_planned_once(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    store = await connect_store(database_url)
    log = Log(store)
    for after in range(2):
        assert await log.read(after)
    assert [tuple(row) for row in await store.fetch(PLANS)] == [(2, 0)]
    await store.close()


async def test_the_checkpoint_names_its_event(builder: ContentBuilder, database_url: str) -> None:
    await builder.magazine()
    entry_id = await builder.entry("one")
    await builder.update(entry_id, title="Two")
    await project_all(database_url, database_url)
    sql = "SELECT position, originator_id, originator_version FROM checkpoint"
    assert await rows(database_url, sql) == [(4, f"entry/{entry_id}", 2)]


async def test_a_batch_is_also_limited_in_bytes(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of thousands of entries of a megabyte each would not fit into memory."""
    monkeypatch.setattr("projector.log.BATCH_BYTES", 30_000)
    await builder.magazine()
    large = raws(body="x" * 10_000)
    for n in range(5):
        await builder.entry(f"large-{n}", fields=large)
    sizes = [len(batch) for batch in await batches(database_url)]
    assert sizes == [
        5,
        2,
    ]  # the third large entry fills a batch, together with the entries before it
    await project_all(database_url, database_url)
    assert await rows(database_url, "SELECT count(*) FROM entry") == [(5,)]


async def batches(url: str) -> list[list[Any]]:
    found: list[list[Any]] = []
    async with connected(url) as connection:
        log = Log(connection)
        while batch := await log.read(found[-1][-1].position if found else 0):
            found.append(batch)
    return found


class TestRendering:
    """A change of a content type is applied to its entries in the background."""

    async def test_entries_are_rendered_again_under_the_newest_version(
        self, builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("projector.background.CHUNK", 3)
        await builder.magazine()
        entries = [await builder.entry(f"e{n}", fields=raws(body="B")) for n in range(10)]
        await builder.translate(entries[0], "fr-FR", title="Un", fields=raws(body="T"))
        async with projecting(database_url):
            await caught_up(database_url)
            await builder.revise_type(LEAD, BODY)
            await caught_up(database_url)
            await rendered(database_url)
        found = await rows(database_url, "SELECT DISTINCT type_version, fields::text FROM entry")
        assert found == [(2, '{"lead":null,"body":"B"}')]
        assert await rows(database_url, LANGUAGES) == [('{"lead":null,"body":"T"}',)]

    async def test_background_work_gets_its_turn_while_events_keep_arriving(
        self, builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """New events keep arriving whenever the projector reaches the end of the log."""
        monkeypatch.setattr("projector.background.CHUNK", 5)
        await builder.magazine()
        entry_ids = [await builder.entry(f"e{n}") for n in range(20)]
        read = Log.read

        async def endless(log: Log, after: int) -> Any:
            while not (batch := await read(log, after)):
                await builder.update(entry_ids[0], title=f"Title {after}")
            return batch

        monkeypatch.setattr(Log, "read", endless)
        async with projecting(database_url):
            await caught_up(database_url)
            await builder.revise_type(LEAD, BODY)
            await caught_up(database_url)
            await rendered(database_url)
        stale = "SELECT count(*) FROM entry WHERE type_version < 2"
        assert await rows(database_url, stale) == [(0,)]

    async def test_a_revision_during_rerendering_restarts_it(
        self, builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("projector.background.CHUNK", 1)
        await builder.magazine()
        for n in range(3):
            await builder.entry(f"e{n}", fields=raws(body="B"))
        await project_all(database_url, database_url)
        for fields in ([LEAD, BODY], [BODY, LEAD]):
            await builder.revise_type(*fields)
            await project_all(database_url, database_url, renderings=2)
        await project_all(database_url, database_url)
        found = await rows(database_url, "SELECT DISTINCT type_version, fields::text FROM entry")
        assert found == [(3, '{"body":"B","lead":null}')]

    async def test_values_of_a_removed_field_are_hidden_and_return(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        faq = Field("faq", "FAQ", "repeater", fields=(BODY, LEAD))
        await builder.workspace()
        await builder.content_type(BODY, faq)
        values = raws(body="B", faq=[{"body": "b", "lead": "l"}])
        entry_id = await builder.entry("one", fields=values)
        shown = {"body": "B", "faq": [{"body": "b", "lead": "l"}]}
        without = Field("faq", "FAQ", "repeater", fields=(LEAD,))
        async with projecting(database_url):
            for fields, expected in (
                ((BODY, faq), shown),
                ((faq,), {"faq": shown["faq"]}),
                ((BODY, without), {"body": "B", "faq": [{"lead": "l"}]}),
                ((BODY, faq), shown),
            ):
                await builder.revise_type(*fields)
                await caught_up(database_url)
                await rendered(database_url)
                assert await fields_of(database_url, entry_id) == expected

    async def test_removing_a_type_ends_its_rerendering(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.magazine()
        entry_id = await builder.entry("one")
        await builder.revise_type(LEAD)
        await builder.delete(entry_id)
        await builder.execute(c.RemoveContentType, scope=SCOPE, slug="posts")
        async with projecting(database_url):
            await caught_up(database_url)
            await rendered(database_url)
        assert await rows(database_url, "SELECT FROM rendering") == []


async def test_two_read_models_are_projected_from_one_log(
    builder: ContentBuilder, database_url: str, model_url: str
) -> None:
    await builder.magazine()
    async with projecting(database_url), projecting(database_url, model_url):
        await builder.entry("one")
        await caught_up(database_url)
        await caught_up(database_url, model_url)
    assert await dump(database_url) == await dump(model_url)


async def test_the_projector_waits_for_an_unavailable_database(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.magazine()
    async with connected(database_url) as connection:
        name = await connection.fetchval("SELECT current_database()")
    async with projecting(database_url):
        await caught_up(database_url)
        async with connected(with_database(database_url, "postgres")) as server:
            await server.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT 0')
            await server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
            )
            await server.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT -1')
        await builder.entry("one")
        await caught_up(database_url)


async def test_a_projector_stops_soon_while_it_reads_ahead_in_a_silent_event_store(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PATIENCE", 120.0)
    monkeypatch.setattr(follower, "BATCH", 4)
    monkeypatch.setattr(Log.read, "__defaults__", (4,))
    await builder.magazine()
    for n in range(4):
        await builder.entry(f"entry-{n}")
    writing = asyncio.Event()

    async def write(*_: object) -> None:
        proxy.be_a_black_hole()
        writing.set()
        await asyncio.sleep(120)

    monkeypatch.setattr(Writer, "write", write)
    async with proxy_to(database_url) as proxy:
        settings = ProjectorSettings(proxy.url, database_url)
        projector = asyncio.create_task(run_sessions(settings))
        await asyncio.wait_for(writing.wait(), SECONDS)
        projector.cancel()
        await asyncio.wait([projector], timeout=30)
        assert projector.cancelled()
