"""Rows of a file beside what would become of them, for a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from api.dashboard.pointing import in_names
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.imports.columns import NOTHING, OWN
from write_side.imports.files import Row
from write_side.imports.preview import Note, PreviewRow, shown
from write_side.imports.uploads import Previewed, Upload


class Cell(Struct, frozen=True):
    """``kind``: problem, warning, changed or "". ``before``: what an update overwrites."""

    name: str
    text: str
    kind: str = ""
    reasons: tuple[str, ...] = ()
    before: str | None = None


class Line(Struct, frozen=True):
    """A row of the file as it would be. ``reasons`` are of the row as a whole."""

    row: PreviewRow
    title: Cell
    slug: Cell
    status: Cell
    cells: list[Cell]
    reasons: tuple[str, ...]

    @property
    def failing(self) -> list[str]:
        """What holds the row up, and in which columns; they may be out of sight."""
        cells = (self.title, self.slug, self.status, *self.cells)
        problems = [one for one in cells if one.kind == "problem"]
        return [f"{one.name}: {reason}" for one in problems for reason in one.reasons]


class Reader:
    """Puts rows of the file and what becomes of them together."""

    def __init__(
        self,
        upload: Upload,
        kept: Previewed,
        content_type: ContentType,
        entries: Mapping[str, Entry],
        names: Mapping[str, str],
    ) -> None:
        """``names``: of what the entries point at, by id."""
        self._table = upload.table
        self._preview = kept.preview
        self._entries = entries
        self._pointed = names
        self._pointing = {f.slug for f in content_type.value_fields if f.spec.refers_to}
        self._own: dict[str, int] = {
            target: n for n, target in enumerate(kept.wish.targets) if target in OWN
        }
        self._fields = [
            (index, target)
            for index, target in enumerate(kept.wish.targets)
            if target not in (NOTHING, *OWN)
        ]
        self._first = first_rows(kept.preview.rows)
        names = {field.slug: field.name for field in content_type.value_fields}
        self.names = [names.get(target, target) for _, target in self._fields]

    def line(self, index: int) -> Line:
        row, cells = self._preview.rows[index], self._table.rows[index]
        first = self._first.get(row.entry_id or "", row.number)
        # What a later row of the same entry meets is what the one before has made of it.
        is_first = row.state == "update" and first == row.number
        before = self._entries.get(row.entry_id or "") if is_first else None
        known = {*self._own.values(), *(index for index, _ in self._fields)}
        return Line(
            row=row,
            title=self._own_cell(row, cells, "Title", row.title, before.title if before else None),
            slug=self._own_cell(row, cells, "Slug", row.slug, before.slug if before else None),
            status=self._own_cell(
                row, cells, "Status", row.status, before.status if before else None
            ),
            cells=[
                _cell(
                    *(row, number, target, name, shown(cells.cells[number])),
                    self._field(before, target),
                )
                for (number, target), name in zip(self._fields, self.names, strict=True)
            ],
            reasons=(
                *_reasons([note for note in row.notes if note.column not in known]),
                *(() if first == row.number else (f"the same entry as row {first:,}",)),
            ),
        )

    def _field(self, entry: Entry | None, slug: str) -> str | None:
        """A field's value in one line; texts as they are, all others as JSON."""
        if entry is None:
            return None
        stored = entry.fields.get(slug, Raw(b"null"))
        if slug in self._pointing:
            return shown(in_names(stored, self._pointed))
        value = msgspec.json.decode(stored)
        if value is None or value in ("", []):
            return ""
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            return shown(", ".join(value))
        return shown(value if isinstance(value, str) else bytes(stored).decode())

    def _own_cell(
        self, row: PreviewRow, cells: Row, target: str, will_be: str, before: str | None
    ) -> Cell:
        """What it will be, or what the cell says where that is not known."""
        number = self._own.get(target)
        text = will_be or (cells.cells[number] if number is not None else "")
        return _cell(row, number, target, target, shown(text), before)


def first_rows(rows: Iterable[PreviewRow]) -> dict[str, int]:
    """Entry id → number of the first row that makes or changes the entry."""
    found: dict[str, int] = {}
    for row in rows:
        if row.entry_id is not None and row.state in ("new", "update"):
            found.setdefault(row.entry_id, row.number)
    return found


def _cell(
    row: PreviewRow, number: int | None, target: str, name: str, text: str, before: str | None
) -> Cell:
    notes = [note for note in row.notes if number is not None and note.column == number]
    if notes:
        failed = any(note.severity == "error" for note in notes)
        return Cell(name, text, "problem" if failed else "warning", _reasons(notes))
    if target in row.changed:
        return Cell(name, text, "changed", before=before)
    return Cell(name, text)


def _reasons(notes: Sequence[Note]) -> tuple[str, ...]:
    """Of a cell, beside it; of a row as a whole, with what they are about."""
    return tuple(
        note.reason if note.column is not None else f"{note.heading} {note.reason}".strip()
        for note in notes
    )
