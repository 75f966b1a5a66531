"""Entries with thousands of versions: their history is folded and never held in memory as a
whole."""

from __future__ import annotations

import tracemalloc
from collections.abc import Awaitable, Callable

import pytest
from msgspec import Raw

from tests.integration.write_side import import_fixtures
from tests.integration.write_side.import_fixtures import (
    OPERATOR,
    SCOPE,
    entries,
    imported,
    preview_of,
    states,
    values,
)
from tests.integration.write_side.sample_commands import check_store
from write_side.commands import UpdateEntry
from write_side.dispatch import execute
from write_side.domain.entry import Entry
from write_side.domain.events import EntryUpdated
from write_side.domain.identity import entry_stream
from write_side.imports.report import revert_import
from write_side.repository import Repository
from write_side.store import streams
from write_side.store.append import Append
from write_side.store.mapper import StreamEvent

PAGE = 256 * 1024
BODY = 64 * 1024
VERSIONS = 100
ROOM = 8 * PAGE
"""Less than a third of the history, and far more than one page of it takes."""


@pytest.fixture
async def old(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Entry:
    """An entry whose history takes 6.4 MB."""
    await import_fixtures.magazine(repository)
    await imported(repository, "Title,Body,Views\nOld,x,1\n")
    old = (await entries(repository, "old"))["old"]
    stored = repository.mapper.to_stored_event
    events = [stored(_changed(old, version)) for version in range(2, VERSIONS + 1)]
    await repository.recorder.append(Append(events=events, command_key="long"))
    monkeypatch.setattr(streams, "BYTES", PAGE)
    return old


def _changed(entry: Entry, version: int) -> StreamEvent:
    event = EntryUpdated(
        workspace=entry.workspace,
        environment=entry.environment,
        actor=OPERATOR,
        entry_id=entry.id,
        content_type_id=entry.content_type_id,
        fields={"body": Raw(b'"%d %s"' % (version, b"x" * BODY))},
    )
    return StreamEvent(entry_stream(entry.id), version, event)


async def test_no_history_is_held_in_memory_completely(old: Entry, repository: Repository) -> None:
    async def update() -> None:
        changed = UpdateEntry(actor=OPERATOR, scope=SCOPE, entry_id=old.id, title="Very old")
        await execute(changed, repository)

    async def check() -> None:
        shown = await preview_of(repository, "Title,Slug,Body\nOld,old,y\n", update=True)
        assert states(shown) == ["update"]

    async def update_by_import() -> None:
        file = "Title,Slug,Body,Views\nOld,old,y,2\n"
        assert (await imported(repository, file, "i-2", update=True)).counts.update == 1

    async def revert() -> None:
        assert len((await revert_import(repository, SCOPE, "i-2", OPERATOR)).restored) == 1

    await update()  # what is created once, such as decoders, does not count
    for work in (update, check, update_by_import, revert):
        assert await peak(work) < ROOM, work.__name__
    after = await repository.entry(SCOPE, old.id)
    assert (after.version, after.title) == (VERSIONS + 3, "Very old")
    assert values(after)["views"] == "1"
    assert values(after)["body"].startswith(f'"{VERSIONS} x')
    await check_store(repository)


async def peak(work: Callable[[], Awaitable[None]]) -> int:
    """The peak of allocated bytes, without what existed before."""
    tracemalloc.start()
    try:
        await work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
