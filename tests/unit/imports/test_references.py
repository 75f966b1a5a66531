"""Looking up what the cells of a file refer to."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import asyncpg
import pytest

from tests.conformance.sheets import FIELDS, HERO, SCOPE
from tests.unit.samples import NOON, event_of
from write_side import waiting
from write_side.domain.events import MediaAdded
from write_side.imports.columns import columns_of
from write_side.imports.csv_reader import csv_table
from write_side.imports.references import look_up
from write_side.imports.request import ImportRequest
from write_side.imports.rows import parsed_rows
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
    """Has the events of a media file, and no entries."""

    def __init__(self) -> None:
        super().__init__(cast("Any", None), cast("Any", None))

    async def fetch(self, statement: str, *_parameters: Any) -> list[asyncpg.Record]:
        stored = EventMapper().to_stored_event(StreamEvent("media/acme/hero", 1, FILE))
        row = {"topic": stored.topic, "state": stored.state.decode(), "at": NOON}
        return cast("list[asyncpg.Record]", [row] * MANY if "'media/%'" in statement else [])


@pytest.mark.parametrize(
    ("heading", "names", "turns"),
    [
        # In the row's language, then in any.
        ("related", ",".join(f"name-{number}" for number in range(MANY)), 2 * MANY),
        ("cover", "hero", MANY),
    ],
)
async def test_other_work_runs_while_many_names_are_looked_up(
    heading: str, names: str, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "SLICE", -1.0)
    targets = ("Title", "body", heading)
    table = csv_table(f'Title,Body,{heading}\nOne,x,"{names}"\n'.encode(), "posts.csv")
    request = ImportRequest(SCOPE, "posts", "i-1", targets)
    rows = list(parsed_rows(table, columns_of(table.headings, targets, FIELDS), request))
    turn = 0

    async def other() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    running = asyncio.create_task(other())
    found = await look_up(Repository(Library(), EventMapper()), request, rows, {})
    running.cancel()
    assert found.files == ({} if heading == "related" else {HERO: ["hero"], "hero": ["hero"]})
    assert turn >= turns
