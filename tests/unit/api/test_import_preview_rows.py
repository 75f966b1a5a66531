"""The rows of an import preview, for entries of any size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from api.dashboard import values
from api.dashboard.wizard.preview_rows import LineReader
from api.dashboard.wizard.preview_step import _first
from tests.conformance.import_previews import SCOPE, entry, posts, previewed
from write_side.domain.definition import Field
from write_side.domain.entry import Entry
from write_side.domain.identity import new_id
from write_side.domain.values import json_of
from write_side.imports.csv_reader import csv_table
from write_side.imports.preview import SHOWN, Preview, PreviewRow
from write_side.imports.request import ImportRequest
from write_side.imports.table import NO_CHOICE
from write_side.imports.uploads import StoredPreview, Upload


def reader(
    file: str,
    targets: Sequence[str],
    fields: Sequence[Field],
    old: Entry,
    rows: Iterable[PreviewRow],
) -> LineReader:
    return LineReader(
        Upload("u-1", NO_CHOICE, csv_table(file.encode(), "posts.csv")),
        StoredPreview(
            ImportRequest(SCOPE, "posts", "i-1", tuple(targets)), Preview("", tuple(rows))
        ),
        posts(tuple(fields)),
        {old.id: old},
        {},
    )


async def test_only_what_a_line_shows_of_a_large_value_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = 0
    unescaped = values._unescaped

    def counted(*args: object) -> str:
        nonlocal read
        read += 1
        return unescaped(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(values, "_unescaped", counted)
    meta = '{"a":"' + r"\u00e9" * 100_000 + '"}'
    old = entry("old", meta=meta)
    file = "Title,Meta\nOld,{}\n"
    targets = ("Title", "meta")
    fields = (Field("meta", "Meta", "json"),)
    shown = await previewed(file, old, fields=fields, update=True)
    line = reader(file, targets, fields, old, shown.rows).line(0)
    before = [cell.before for cell in line.cells]
    assert before[-1] == '{"a":"' + "é" * (SHOWN - len('{"a":"…')) + "…"
    assert 0 < read <= 20 * SHOWN


async def test_the_notes_of_a_row_are_read_the_same_number_of_times_for_any_number_of_columns() -> (
    None
):
    read = 0

    class Counted(tuple[Any, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[Any]:
            nonlocal read
            read += 1
            return super().__iter__()

        def __contains__(self, key: object) -> bool:
            return key in iter(self)

    fields = tuple(Field(f"f{n}", f"F{n}", "number") for n in range(50))
    headings = ",".join(field.name for field in fields)
    file = f"Title,{headings}\nOld{',x' * 25}{',1' * 25}\n"
    old = entry("old")
    shown = await previewed(file, old, fields=fields, update=True)
    [row] = shown.rows
    targets = ("Title", *(field.slug for field in fields))
    row = replace(row, notes=Counted(row.notes), changed=Counted(targets))
    line = reader(file, targets, fields, old, [row]).line(0)
    kinds = Counter(cell.kind for cell in line.cells)
    assert (kinds["problem"], kinds["changed"]) == (25, 26)
    assert 0 < read < 10


def test_the_names_of_no_more_references_are_looked_up_than_a_cell_shows() -> None:
    ids = [new_id() for _ in range(5_000)]
    many = Field("related", "Related", "reference", multiple=True)
    assert _first(many, json_of(ids)) == json_of(ids[:SHOWN])
    one = Field("author", "Author", "reference")
    assert _first(one, json_of(ids[0])) == json_of(ids[0])
    assert _first(one, Raw(b"null")) == Raw(b"null")
