"""Looking up what the cells of a file refer to."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import asyncpg
import pytest

from tests.conformance.sheets import FIELDS, SCOPE
from write_side import slices
from write_side.imports.columns import columns_of
from write_side.imports.csv_reader import csv_table
from write_side.imports.references import look_up
from write_side.imports.request import ImportRequest
from write_side.imports.rows import parsed_rows
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import Recorder

NAMES = 100


class Empty(Recorder):
    def __init__(self) -> None:
        super().__init__(cast("Any", None), cast("Any", None))

    async def fetch(self, _statement: str, *_parameters: Any) -> list[asyncpg.Record]:
        return []


async def test_other_work_runs_while_many_names_are_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "SLICE", -1.0)
    targets = ("Title", "body", "related")
    names = ",".join(f"name-{number}" for number in range(NAMES))
    table = csv_table(f'Title,Body,Related\nOne,x,"{names}"\n'.encode(), "posts.csv")
    request = ImportRequest(SCOPE, "posts", "i-1", targets)
    rows = list(parsed_rows(table, columns_of(table.headings, targets, FIELDS), request))
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    running = asyncio.create_task(other())
    await look_up(Repository(Empty(), EventMapper()), request, rows, {})
    running.cancel()
    assert turns >= 2 * NAMES  # in the row's language, then in any
