"""The words of long texts that a batch postponed."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from projector import background, entry_search, log, postponed_words, process, writer
from projector.checkpoint import CheckpointConflict, begin_epoch
from projector.entry_search import EntrySearch
from projector.postponed_words import find_words
from projector.process import ProjectorSettings, connect_model, run_sessions
from projector.rebuild.operations import verify
from projector.stored_rows import load_types
from tests.integration.live_projector import (
    blocked,
    caught_up,
    connected,
    dump,
    project_all,
    projecting,
    until,
)
from tests.integration.projector.rebuilds import build_settings, rebuild, silent
from tests.integration.projector.sample_log import ContentBuilder, raws, rows
from tests.proxy import proxy_to
from write_side.domain.definition import Field
from write_side.domain.events import Translation
from write_side.domain.identity import Scope
from write_side.postgres.connection import Connection
from write_side.repository import Repository

FIRST = ("", "")
"""Before every environment."""
UNREAD = "SELECT locale FROM entry_search WHERE words IS NULL ORDER BY position, locale"


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
    monkeypatch.setattr(postponed_words, "BYTES", 1)
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
        verified = await verify(build_settings(database_url, workers=1), silent)
        assert verified.read_model == []
        chunks = 0
        search, place = EntrySearch(model), FIRST
        while found := await find_words(model, epoch, search, place):
            place = found
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


class Pause:
    """Stops the projector each time it is about to write words, until ``end`` is set."""

    def __init__(self) -> None:
        self.reached, self.end = asyncio.Event(), asyncio.Event()


@pytest.fixture
def pause(monkeypatch: pytest.MonkeyPatch) -> Pause:
    pause = Pause()

    async def paused(*args: Any) -> Any:
        pause.reached.set()
        await pause.end.wait()
        return await load_types(*args)

    monkeypatch.setattr(postponed_words, "load_types", paused)
    return pause


@pytest.fixture
async def ids(builder: ContentBuilder, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Entries whose words will be postponed."""
    monkeypatch.setattr(entry_search, "AT_ONCE", 20)
    await builder.workspace()
    await builder.content_type(Field("text", "Text", "text", searchable=True))
    german = {"de-DE": Translation("", raws(text="Wort " * 9))}
    texts: dict[str, Any] = {"fields": raws(text="word " * 9), "translations": german}
    return [await builder.entry(f"e{n}", **texts) for n in range(4)]


async def all_words(url: str) -> None:
    """Waits until all texts have words, and compares them with those of a rebuild."""

    async def are_found() -> bool:
        return await rows(url, UNREAD) == []

    await until(are_found)
    projected = await dump(url)
    await rebuild(url)
    assert await dump(url) == projected


async def test_batches_do_not_wait_for_words_unless_they_change_their_texts(
    builder: ContentBuilder, ids: list[str], pause: Pause, database_url: str
) -> None:
    async with projecting(database_url), connected(database_url) as observer:
        await asyncio.wait_for(pause.reached.wait(), 60)
        await builder.entry("another", fields=raws(text="word " * 9))
        await caught_up(database_url)
        await builder.update(ids[0], title="changed")
        await builder.translate(ids[1], "de-DE", title="", fields=raws(text="anders"))
        await builder.delete(ids[2])
        await until(lambda: blocked(observer))
        assert await rows(database_url, UNREAD) == [("",), ("de-DE",)] * 4 + [("",)]
        pause.end.set()
        await caught_up(database_url)
        await all_words(database_url)


@pytest.mark.usefixtures("ids")
async def test_a_switch_waits_for_words(pause: Pause, database_url: str) -> None:
    async with projecting(database_url), connected(database_url) as observer:
        await asyncio.wait_for(pause.reached.wait(), 60)
        rebuilding = asyncio.create_task(rebuild(database_url))
        await until(lambda: blocked(observer))
        assert await rows(database_url, UNREAD) == [("",), ("de-DE",)] * 4
        pause.end.set()
        await rebuilding
        await all_words(database_url)


async def test_words_that_are_held_too_long_are_found_later(
    builder: ContentBuilder,
    ids: list[str],
    pause: Pause,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As by a process that is paused meanwhile: PostgreSQL ends its session."""
    monkeypatch.setattr(postponed_words, "_HOLD", postponed_words._HOLD.replace("10s", "100ms"))
    async with projecting(database_url):
        await asyncio.wait_for(pause.reached.wait(), 60)
        await builder.update(ids[0], title="changed")
        await caught_up(database_url)
        pause.end.set()
        await all_words(database_url)


@pytest.mark.usefixtures("ids")
async def test_texts_that_a_batch_is_changing_are_left_out(database_url: str) -> None:
    async with first_batch_written(database_url) as (model, epoch):
        async with connected(database_url) as other, other.transaction():
            await other.execute(
                "UPDATE read_model.entry_search SET words = NULL WHERE workspace = 'acme'"
            )
            place = await find_words(model, epoch, EntrySearch(model), FIRST)
        assert place == ("acme", "production")
        assert await rows(database_url, UNREAD) == [("",), ("de-DE",)] * 4
        await find_words(model, epoch, EntrySearch(model), FIRST)
    assert await rows(database_url, UNREAD) == []


@pytest.mark.usefixtures("ids")
async def test_words_are_not_written_in_a_later_epoch(database_url: str) -> None:
    async with first_batch_written(database_url) as (model, epoch):
        await begin_epoch(model)
        with pytest.raises(CheckpointConflict):
            await find_words(model, epoch, EntrySearch(model), FIRST)
    assert await rows(database_url, UNREAD) == [("",), ("de-DE",)] * 4


@asynccontextmanager
async def stopped_while_silent(
    url: str, reached: asyncio.Event
) -> AsyncIterator[asyncio.Task[None]]:
    """A projector that is cancelled while the read model's server does not respond."""
    async with proxy_to(url) as proxy:
        task = asyncio.create_task(run_sessions(ProjectorSettings(url, proxy.url)))
        await asyncio.wait_for(reached.wait(), 60)
        proxy.be_a_black_hole()
        task.cancel()
        await asyncio.wait([task], timeout=30)
        yield task
        task.cancel()


@pytest.mark.usefixtures("ids")
async def test_a_projector_stops_soon_while_words_are_found_on_a_silent_server(
    pause: Pause, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PATIENCE", 120.0)
    monkeypatch.setattr(postponed_words, "_HOLD", postponed_words._HOLD.replace("10s", "120s"))
    async with stopped_while_silent(database_url, pause.reached) as task:
        assert task.cancelled()


@pytest.mark.parametrize(("patience", "closing"), [(1.0, 30.0), (120.0, 1.0)])
async def test_a_projector_stops_although_a_rollback_fails(
    patience: float,
    closing: float,
    builder: ContentBuilder,
    ids: list[str],
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The rollback times out, or it is cancelled like the projector."""
    monkeypatch.setattr(process, "PATIENCE", patience)
    monkeypatch.setattr(process, "CLOSING", closing)
    reached = asyncio.Event()

    async def next_chunk(*_: object) -> None:
        reached.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(background, "_next_chunk", next_chunk)
    await project_all(database_url, database_url, renderings=0)
    await builder.revise_type(Field("text", "Text", "text", searchable=True, required=True))
    async with stopped_while_silent(database_url, reached) as task:
        assert task.cancelled()
    del task
    gc.collect()
    assert caplog.records == []
