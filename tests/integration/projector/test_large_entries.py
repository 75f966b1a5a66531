"""Limits on what is held and sent at once: with the lowest limits, the tables are the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice

import pytest

from projector import background, entry_rows, entry_search, log, stored_rows, writer
from projector.background import update_chunk
from projector.checkpoint import begin_epoch
from projector.process import connect_model
from projector.rebuild.operations import verify
from tests.integration.live_projector import (
    caught_up,
    connected,
    dump,
    project_all,
    projecting,
    rendered,
    until,
)
from tests.integration.projector.random_log import RandomCommands
from tests.integration.projector.rebuilds import build_settings, rebuild, silent
from tests.integration.projector.sample_log import BODY, LEAD, ContentBuilder, fields_of, raws, rows
from write_side.domain.definition import Field
from write_side.domain.events import Translation
from write_side.domain.identity import Scope
from write_side.domain.locales import supported_locales
from write_side.domain.refusals import InvalidEntry
from write_side.postgres.connection import Connection
from write_side.repository import Repository


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement, a batch and a chunk have room for one entry each."""
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


@asynccontextmanager
async def first_batch_written(url: str) -> AsyncIterator[tuple[Connection, int]]:
    """The projector's connection and epoch, after a batch whose long texts were left for later."""
    model = await connect_model(url)
    try:
        async with connected(url) as store:
            epoch, checkpoint = await begin_epoch(model)
            batch = await log.Log(store).read(checkpoint.position)
            await writer.Writer(model, epoch, words_can_wait=True).write(batch, checkpoint)
        yield model, epoch
    finally:
        await model.close()


async def test_long_texts_of_one_workspace_are_read_after_the_writes_of_all(
    builder: ContentBuilder,
    repository: Repository,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(entry_search, "AT_ONCE", 600)
    monkeypatch.setattr(background, "WORDS_BYTES", 1)
    other = ContentBuilder(repository, Scope("other", "production"))
    text = Field("text", "Text", "text", searchable=True)
    for one in (builder, other):
        await one.workspace()
        await one.content_type(text)
    changed = await builder.entry("changed", fields=raws(text="earlier"))
    await project_all(database_url, database_url)
    german = {"de-DE": Translation("", raws(text="lang " * 100))}
    words = [{"fields": raws(text="long " * n), "translations": german} for n in (100, 99, 98, 1)]
    await builder.imports([{"title": "x", "slug": f"e{n}", **one} for n, one in enumerate(words)])
    await builder.update(changed, fields=raws(text="later " * 150))
    await other.entry("theirs", fields=raws(text="theirs " * 50))
    async with first_batch_written(database_url) as (model, epoch):
        unread = "SELECT workspace, locale FROM entry_search WHERE words IS NULL ORDER BY 1, 2"
        # The shortest ones are read: two originals, and the text of the other workspace.
        later = [("acme", "")] * 3 + [("acme", "de-DE")] * 4
        assert await rows(database_url, unread) == later
        found = await verify(build_settings(database_url, workers=1), silent)
        assert found.read_model == []
        chunks = 0
        while await update_chunk(model, epoch):
            chunks += 1
    assert chunks == 5, "one entry each"
    assert await rows(database_url, unread) == []
    projected = await dump(database_url)
    await rebuild(database_url)
    assert await dump(database_url) == projected


async def test_verify_compares_texts_next_to_those_whose_words_are_still_to_be_found(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_search, "AT_ONCE", 20)
    await builder.workspace()
    await builder.content_type(Field("text", "Text", "text", searchable=True))
    texts = (raws(), raws(), raws(text="word " * 9), raws(text="word " * 9))
    await builder.imports(
        [{"title": "x", "slug": f"e{n}", "fields": text} for n, text in enumerate(texts)]
    )
    async with first_batch_written(database_url) as (model, _):
        unread = "SELECT position FROM entry_search WHERE words IS NULL ORDER BY 1"
        [_, lost] = [position for (position,) in await rows(database_url, unread)]
        await model.execute("DELETE FROM entry_search WHERE position = $1", lost)
        ready = "UPDATE entry_search SET words = 'wrong' WHERE words IS NOT NULL"
        assert await model.execute(ready) == "UPDATE 2"
    found = await verify(build_settings(database_url, workers=1), silent)
    kinds = [(one.relation, one.kind) for one in found.read_model]
    different = ("entry_search", "different")
    assert kinds == [different, different, ("entry_search", "missing")]


async def test_an_active_projector_reads_the_words_that_it_left(
    builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_search, "AT_ONCE", 20)
    await builder.workspace()
    await builder.content_type(Field("text", "Text", "text", searchable=True))
    await builder.imports(
        [{"title": "x", "slug": f"e{n}", "fields": raws(text="word " * 9)} for n in range(20)]
    )
    async with projecting(database_url):

        async def are_found() -> bool:
            found = "SELECT count(*) FROM entry_search WHERE length(words) > 1"
            return await rows(database_url, found) == [(20,)]

        await until(are_found)


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
