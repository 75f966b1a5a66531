"""Locales that have grown get partitions of their own, without any effect on readers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from projector import partitions
from projector.checkpoint import begin_epoch
from projector.partitions import LivePartitions
from projector.process import connect_model
from projector.rebuild.operations import verify
from read_side.lookups import locales
from read_side.paging import list_of_type
from read_side.pool import Pool, open_pool
from tests.integration.live_projector import (
    caught_up,
    connected,
    dump,
    project_all,
    projecting,
    until,
)
from tests.integration.projector.random_log import LOCALES, RandomCommands
from tests.integration.projector.rebuilds import build_settings, rebuild, rollback, silent
from tests.integration.projector.sample_log import SCOPE, ContentBuilder, raws, rows
from write_side.domain.events import Translation
from write_side.repository import Repository

FRENCH = {"fr-FR": Translation("Titre")}
PLACES = "SELECT partition_key, count(*) FROM entry_locale GROUP BY 1 ORDER BY 1"
STATES = "SELECT environment, locale, state FROM locale_partition ORDER BY 1, 2"
SETTLED = ("production", "fr-FR", "settled")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few translations are enough for a partition, and rows move in small steps."""
    monkeypatch.setattr(partitions, "GROWN", 5)
    monkeypatch.setattr(partitions, "CHUNK", 2)
    monkeypatch.setattr(partitions, "CHECK_EVERY", 0.0)


async def french(builder: ContentBuilder, n: int = 5) -> list[str]:
    """Ids of entries that have a translation."""
    await builder.magazine()
    return [await builder.entry(f"e{i}", status="published", translations=FRENCH) for i in range(n)]


async def grow(url: str, steps: int = 1_000) -> int:
    """Takes this number of steps with a projector that has just started, or all steps. Returns
    their number."""
    model = await connect_model(url)
    try:
        partitions, taken = LivePartitions(model, (await begin_epoch(model))[0]), 0
        while taken < steps and await partitions.step():
            taken += 1
        return taken
    finally:
        await model.close()


async def titles(pool: Pool, locale: str = "fr-FR") -> list[str]:
    found = await list_of_type(
        pool,
        SCOPE,
        type_slug="posts",
        status="published",
        language="en-US",
        locale=locale,
        limit=100,
        offset=0,
    )
    return [row.title for row in found.rows]


async def test_a_locale_that_has_grown_gets_its_own_partition(
    builder: ContentBuilder, database_url: str
) -> None:
    entry_ids = await french(builder)
    await builder.translate(entry_ids[0], "de-DE", title="Titel")
    async with projecting(database_url), open_pool(database_url) as pool:
        await caught_up(database_url)
        await until(lambda: has_settled(database_url))
        assert await rows(database_url, PLACES) == [
            ("production/fr-FR", 5),
            ("production/other", 1),
        ]
        await builder.translate(entry_ids[0], "fr-FR", title="Autre")
        await builder.translate(entry_ids[1], "fr-FR", title="")
        await builder.delete(entry_ids[2])
        await builder.entry("new", status="published", translations=FRENCH)
        await caught_up(database_url)
        assert await titles(pool) == ["Titre", "Titre", "Titre", "E1", "Autre"]
        assert await titles(pool, "de-DE") == ["New", "E4", "E3", "E1", "Titel"]
        assert await locales(pool, SCOPE) == {"de-DE": 1, "fr-FR": 4}
    assert await rows(database_url, PLACES) == [("production/fr-FR", 4), ("production/other", 1)]


async def has_settled(url: str) -> bool:
    return await rows(url, STATES) == [SETTLED]


async def test_a_locale_that_has_not_grown_shares_a_partition(
    builder: ContentBuilder, database_url: str
) -> None:
    await french(builder, 4)
    await project_all(database_url, database_url)
    assert await grow(database_url) == 0
    assert await rows(database_url, PLACES) == [("production/other", 4)]


@pytest.mark.slow
async def test_no_read_misses_or_repeats_rows_while_they_move(
    builder: ContentBuilder, database_url: str
) -> None:
    await french(builder, 40)
    await project_all(database_url, database_url)
    async with open_pool(database_url) as pool:
        await titles(pool)  # so that there is a plan made before the partition existed
        async with projecting(database_url):
            settled = asyncio.create_task(until(lambda: has_settled(database_url)))
            reads = 0
            while not settled.done():
                assert await titles(pool) == ["Titre"] * 40
                reads += 1
            await settled
    assert reads > 20
    assert await rows(database_url, PLACES) == [("production/fr-FR", 40)]


async def test_nothing_moves_before_every_reader_knows_the_partition(
    builder: ContentBuilder, database_url: str
) -> None:
    """A statement with an older plan could miss the rows that moved."""
    await french(builder)
    await project_all(database_url, database_url)
    async with connected(database_url) as reader:
        async with reader.transaction():
            assert await reader.fetchval("SELECT count(*) FROM read_model.entry_locale") == 5
            assert await grow(database_url) == 1
            assert await rows(database_url, STATES) == [("production", "fr-FR", "attached")]
            assert await reader.fetchval("SELECT count(*) FROM read_model.entry_locale") == 5
        assert await grow(database_url) > 2
    assert await rows(database_url, STATES) == [SETTLED]


@pytest.mark.slow
async def test_a_projector_that_is_killed_between_any_two_steps_loses_nothing(
    repository: Repository,
    database_url: str,
    model_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each step is one or two transactions. Between them a new projector projects events."""
    monkeypatch.setattr(partitions, "GROWN", 3)
    story = RandomCommands(repository, 6)
    await story.execute(80)
    for _ in range(10):
        await project_all(database_url, database_url)
        await grow(database_url, 1)
        await story.go_on(5)
    await project_all(database_url, database_url)
    assert {locale for _, locale, _ in await rows(database_url, STATES)} <= set(LOCALES)
    states = {state for _, _, state in await rows(database_url, STATES)}
    await project_all(database_url, model_url)
    assert await without_places(database_url) == await without_places(model_url)
    assert len(await rows(database_url, PLACES)) > 2, states
    result = await verify(build_settings(database_url), silent)
    assert (result.read_model, result.not_compared) == ([], None)


async def without_places(url: str) -> dict[str, list[Any]]:
    """All rows, without their partition."""
    found: dict[str, list[Any]] = dict(await dump(url))
    del found["locale_partition"]
    found["entry_locale"] = await rows(
        url,
        "SELECT workspace, split_part(partition_key, '/', 1), locale, id, title, fields::text "
        "FROM entry_locale ORDER BY 1, 2, 3, 4",
    )
    return found


async def test_an_environment_has_a_maximum_number_of_partitions(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "MOST", 1)
    entry_ids = await french(builder, 6)
    for entry_id in entry_ids[:5]:
        await builder.translate(entry_id, "de-DE", title="Titel")
    await project_all(database_url, database_url)
    await grow(database_url)
    assert await rows(database_url, PLACES) == [("production/fr-FR", 6), ("production/other", 5)]


@pytest.mark.slow
async def test_a_rebuild_chooses_partitions_by_its_own_counts(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partitions may differ, but the read models are equal. A rollback restores the other
    partitions."""
    await french(builder, 7)
    await project_all(database_url, database_url)
    assert (await rebuild(database_url)).differences == []
    moving = [("production", "fr-FR", "moving")]
    assert await rows(database_url, STATES) == moving, "the live projector moves earlier rows"
    assert (await rebuild(database_url)).differences == []
    await grow(database_url)
    assert await rows(database_url, PLACES) == [("production/fr-FR", 7)]
    monkeypatch.setattr(partitions, "GROWN", 8)
    assert (await rebuild(database_url)).differences == []
    assert await rows(database_url, PLACES) == [("production/other", 7)]
    await builder.entry("eight", translations=FRENCH)
    await rollback(database_url)
    assert await rows(database_url, PLACES) == [("production/fr-FR", 8)]


async def test_a_lost_count_is_a_difference(builder: ContentBuilder, database_url: str) -> None:
    await french(builder)
    await project_all(database_url, database_url)
    async with connected(database_url) as connection:
        await connection.execute("UPDATE read_model.locale_count SET n = n + 1")
    result = await verify(build_settings(database_url), silent)
    assert [found.relation for found in result.read_model] == ["locale_count"]


async def test_a_new_partition_waits_for_a_lock_in_small_steps(
    builder: ContentBuilder, database_url: str
) -> None:
    """Otherwise readers would queue behind the projector."""
    entry_ids = await french(builder)
    async with projecting(database_url), connected(database_url) as holder:
        async with holder.transaction():
            await holder.execute("LOCK read_model.entry_locale IN SHARE UPDATE EXCLUSIVE MODE")
            await builder.update(entry_ids[0], fields=raws(body="B"))
            await caught_up(database_url)
            await asyncio.sleep(0.5)
            assert await rows(database_url, STATES) == []
        await until(lambda: has_settled(database_url))
