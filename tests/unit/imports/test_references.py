"""Looks up the entries and files that the cells of a file refer to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import asyncpg
import pytest

from tests.conformance.import_previews import ADA, FIELDS, HERO, SCOPE
from tests.unit.samples import NOON, event_of
from write_side import repository, waiting
from write_side.domain.definition import Field
from write_side.domain.events import MediaAdded
from write_side.domain.identity import new_id
from write_side.domain.refusals import InvalidEntry
from write_side.domain.values import Target
from write_side.handlers.checks import check_targets
from write_side.imports.columns import columns_of
from write_side.imports.csv_reader import csv_table
from write_side.imports.references import NamedTargets, look_up
from write_side.imports.request import ImportRequest
from write_side.imports.rows import parsed_rows
from write_side.imports.table import Row, Table
from write_side.repository import Repository
from write_side.store.mapper import EventMapper, StreamEvent
from write_side.store.recorder import Recorder

MANY = 100
FILE = MediaAdded(
    **event_of(environment=None),
    media_id="hero",
    url=HERO,
    name="Hero",
    content_type="image/png",
)


class Library(Recorder):
    """Has the events of one media file and no entries. ``longest`` is the largest number of names
    in one statement; ``files`` are the names of files that were looked up."""

    def __init__(self) -> None:
        super().__init__(cast("Any", None), cast("Any", None))
        self.longest = 0
        self.files: list[str] = []

    async def fetch(self, statement: str, *parameters: Any) -> list[asyncpg.Record]:
        self.longest = max(self.longest, *(len(each) for each in parameters if each))
        stored = EventMapper().to_stored_event(StreamEvent("media/acme/hero", 1, FILE))
        row = {"topic": stored.topic, "state": stored.state.decode(), "at": NOON}
        if "'media/%'" not in statement:
            return []
        self.files += parameters[-1]
        return cast("list[asyncpg.Record]", [row] * MANY)


@asynccontextmanager
async def turns() -> AsyncIterator[list[None]]:
    """Runs another task and yields a list that grows by one item for each of its turns."""
    taken: list[None] = []

    async def other() -> None:
        while True:
            taken.append(None)
            await asyncio.sleep(0)

    running = asyncio.create_task(other())
    yield taken
    running.cancel()


@pytest.mark.parametrize(
    ("heading", "names", "turns_taken"),
    [
        # Each name is looked up in the row's language, then in all languages.
        ("related", ",".join(f"name-{number}" for number in range(MANY)), 2 * MANY),
        ("cover", "hero", MANY),
    ],
)
async def test_other_work_runs_while_many_names_are_looked_up(
    heading: str, names: str, turns_taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "SLICE", -1.0)
    monkeypatch.setattr(repository, "LOOKED_UP", MANY // 3)
    targets = ("Title", "body", heading)
    table = csv_table(f'Title,Body,{heading}\nOne,x,"{names}"\n'.encode(), "posts.csv")
    request = ImportRequest(SCOPE, "posts", "i-1", targets)
    named = NamedTargets(MANY)
    for row in parsed_rows(table, columns_of(table.headings, targets, FIELDS), request):
        named.collect(row)
    library = Library()
    async with turns() as turn:
        found = await look_up(Repository(library, EventMapper()), request, named, {})
    assert library.longest < MANY
    assert library.files == ([] if heading == "related" else [names])
    assert found.files == ({} if heading == "related" else {HERO: ["hero"], "hero": ["hero"]})
    assert len(turn) >= turns_taken


@pytest.mark.parametrize(
    ("heading", "cells", "most"),
    [
        ("related", ("a,b", "a"), 2),
        ("cover", ("hero", "hero", "hero"), 2),
        ("faq", (f'[{{"by":"{ADA}"}},{{"by":"{ADA}"}}]', "[]", f'[{{"by":"{ADA}"}}]'), 2),
    ],
)
def test_the_references_of_a_file_are_limited(
    heading: str, cells: tuple[str, ...], most: int
) -> None:
    """Repeated references count too: each becomes part of a value."""
    by = Field("by", "By", "reference")
    fields = (*FIELDS[:-2], Field("faq", "FAQ", "repeater", fields=(by,)))
    targets = ("Title", "body", heading)
    rows = tuple(Row(n, ("One", "x", cell)) for n, cell in enumerate(cells, 2))
    table = Table("x.csv", ("Title", "Body", heading), rows)
    columns = columns_of(table.headings, targets, fields)
    request = ImportRequest(SCOPE, "posts", "i-1", targets)
    *within, last = parsed_rows(table, columns, request)
    named = NamedTargets(most)
    for row in within:
        named.collect(row)
    refusal = f"The rows up to {last.number} have more than {most} references: split the file"
    with pytest.raises(InvalidEntry, match=refusal):
        named.collect(last)


async def test_other_work_runs_while_many_references_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "SLICE", -1.0)
    monkeypatch.setattr(repository, "LOOKED_UP", MANY // 3)
    library = Library()
    related = Field("related", "Related", "reference", multiple=True)
    found = [Target("related", related, new_id()) for _ in range(MANY)]
    known = {target.id: "posts" for target in found}
    async with turns() as turn:
        await check_targets(SCOPE, found, Repository(library, EventMapper()), known)
    assert len(turn) >= MANY
    assert library.longest < MANY
