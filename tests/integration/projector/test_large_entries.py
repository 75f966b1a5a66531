"""Limits on what is held and sent at once: with the lowest limits, the tables are the same."""

from __future__ import annotations

import asyncio
from itertools import islice

import pytest

from projector import (
    background,
    entry_rows,
    entry_values,
    log,
    stored_rows,
    writer,
)
from projector.checkpoint import begin_epoch
from projector.process import connect_model
from tests.integration.live_projector import (
    caught_up,
    connected,
    dump,
    project_all,
    projecting,
    rendered,
)
from tests.integration.projector.random_log import RandomCommands
from tests.integration.projector.sample_log import BODY, LEAD, ContentBuilder, fields_of, raws, rows
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field
from write_side.domain.locales import supported_locales
from write_side.domain.refusals import InvalidEntry
from write_side.repository import Repository


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement, a batch and a chunk have room for one entry each; caches, for one batch."""
    monkeypatch.setattr(stored_rows, "TYPES_KEPT", 0)
    monkeypatch.setattr(entry_values, "TYPES_KEPT", 0)
    monkeypatch.setattr(entry_rows, "PORTION", 1)
    monkeypatch.setattr(stored_rows, "FEW", 0)
    monkeypatch.setattr(stored_rows, "LOADED_BYTES", 1)
    monkeypatch.setattr(background, "CHUNK_BYTES", 1)


@pytest.mark.parametrize("copy_from", [1, pytest.param(1000, marks=pytest.mark.slow)])
async def test_portions_of_one_entry_give_the_same_tables(
    copy_from: int,
    repository: Repository,
    database_url: str,
    model_url: str,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    await RandomCommands(repository, 5).execute(120)
    await project_all(database_url, database_url)
    expected = await dump(database_url)
    request.getfixturevalue("no_room")
    monkeypatch.setattr(writer, "COPY_FROM", copy_from)
    await project_all(database_url, model_url)
    assert await dump(model_url) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("no_room")
async def test_a_cut_batch_is_followed_by_its_rest(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Four events in a batch, so that the next batch is read ahead.
    monkeypatch.setattr("projector.follower.BATCH", 4)
    monkeypatch.setattr(log.Log.read, "__defaults__", (4,))
    await builder.magazine()
    ids = [await builder.entry(f"e{n}", fields=raws(body="x" * 100)) for n in range(6)]
    await project_all(database_url, database_url)
    await asyncio.gather(*(builder.update(i, fields=raws(body="new")) for i in ids))
    await builder.revise_type(BODY, LEAD)
    async with projecting(database_url):
        await caught_up(database_url)
        await rendered(database_url)
    for entry_id in ids:
        assert await fields_of(database_url, entry_id) == {"body": "new", "lead": None}


async def test_a_batch_is_cut_if_known_entries_are_too_large(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await builder.magazine()
    ids = [await builder.entry(f"e{n}", fields=raws(body="x" * 1000)) for n in range(20)]
    await project_all(database_url, database_url)
    for entry_id in ids:
        await builder.update(entry_id, status="published")
    monkeypatch.setattr(stored_rows, "LOADED_BYTES", 5_500)
    async with connected(database_url) as store:
        model = await connect_model(database_url)
        try:
            batch = (await log.Log(store).read(0))[-20:]
            assert len(await stored_rows.fit_in_memory(model, batch)) == 5
            assert len(await stored_rows.fit_in_memory(model, batch[:16])) == 16
        finally:
            await model.close()


async def test_large_entries_are_not_all_written_in_one_transaction(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "WRITTEN_BYTES", 5_500)
    await builder.magazine()
    ids = [await builder.entry(f"e{n}", fields=raws(body="x" * 1000)) for n in range(7)]
    await builder.update(ids[0], title="again")
    async with connected(database_url) as store:
        model = await connect_model(database_url)
        try:
            batch = await log.Log(store).read(0)
            epoch, checkpoint = await begin_epoch(model)
            moved = await writer.Writer(model, epoch).write(batch, checkpoint)
        finally:
            await model.close()
    assert moved.position == batch[-1].position - 3, "five entries of 1,000 bytes are left in"
    await project_all(database_url, database_url)
    assert await rows(database_url, "SELECT count(*) FROM entry") == [(7,)]


async def test_more_words_than_a_tsvector_holds_do_not_stop_the_projector(
    builder: ContentBuilder, database_url: str
) -> None:
    await builder.workspace()
    slugs = [f"text{number}" for number in range(5)]
    await builder.content_type(*[Field(slug, slug, "text", searchable=True) for slug in slugs])
    # One character becomes four letters of two bytes, and the stem of each word is as long.
    words = iter([57 * "\ufdf2" + f"ab{number:04}s" for number in range(1_500)])
    texts = {slug: " ".join(islice(words, 300)) for slug in slugs}
    await builder.entry("one", fields=raws(**texts))
    await project_all(database_url, database_url)
    [(found,)] = await rows(database_url, "SELECT length(words) FROM entry_search")
    assert found > 1_500


async def test_an_entry_has_a_maximum_size(builder: ContentBuilder) -> None:
    await builder.magazine()
    with pytest.raises(InvalidEntry, match="bytes; the limit is 2,097,152"):
        await builder.entry("huge", fields=raws(body="x" * (2 * 1024 * 1024)))
    entry_id = await builder.entry("large", fields=raws(body="x" * (2 * 1024 * 1024 - 100)))
    with pytest.raises(InvalidEntry, match="bytes; the limit is 2,097,152"):
        await builder.update(entry_id, title="y" * 200)
    locales = sorted(supported_locales() - {"en-US"})
    for locale in locales[:3]:
        await builder.translate(entry_id, locale, title="x" * (2 * 1024 * 1024))
    with pytest.raises(InvalidEntry, match="with its translations; the limit is 8,388,608"):
        await builder.translate(entry_id, locales[3], title="y" * 200)


async def test_the_cache_of_content_types_is_bounded(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_rows, "TYPES_KEPT", 3)
    await builder.magazine()
    for n in range(9):
        await builder.content_type(slug=f"type-{n}")
    await project_all(database_url, database_url)
    kept: dict[str, ContentType] = {}
    async with connected(database_url) as store:
        model = await connect_model(database_url)
        try:
            events = await log.Log(store).read(0)
            for n in range(0, len(events), 2):
                before = await stored_rows.load_rows(model, events[n : n + 2], kept)
                assert kept.items() >= before.types.items()
                assert len(kept) <= 3 + 2
        finally:
            await model.close()
