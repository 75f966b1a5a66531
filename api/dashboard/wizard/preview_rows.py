"""Rows of the preview's table: the cells of the file and what each row would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from api.dashboard.values import readable, with_names
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.locales import supported_locales
from write_side.domain.values import EMPTY
from write_side.imports.columns import ATTRIBUTES, LANGUAGE, NOTHING
from write_side.imports.preview import SHOWN, Note, PreviewRow, one_line
from write_side.imports.uploads import StoredPreview, Upload

_TEXTS = msgspec.json.Decoder(str | list[str])
_SHOWN_BYTES = 12 * 10 * SHOWN
"""Bytes of JSON of which ``one_line`` shows the beginning, even if each character is an escaped
pair. An entry may have 300,000 escapes."""


class Cell(Struct, frozen=True):
    """``kind``: problem, warning, changed or "". ``before``: the value that an update replaces.
    ``language``: of the text, "" if it is unknown or not in a language."""

    name: str
    text: str
    kind: str = ""
    reasons: tuple[str, ...] = ()
    before: str | None = None
    language: str = ""


class Line(Struct, frozen=True):
    """The first cells are Title, Slug and Status, then Language if a column is mapped to it.

    ``reasons`` are about the row as a whole.
    """

    row: PreviewRow
    cells: list[Cell]
    reasons: tuple[str, ...]

    @property
    def problems(self) -> list[str]:
        """The problems with their columns, which may be scrolled out of sight."""
        problems = [cell for cell in self.cells if cell.kind == "problem"]
        return [f"{cell.name}: {reason}" for cell in problems for reason in cell.reasons]


class LineReader:
    """Makes the lines of the table; ``headings`` are those of its field columns."""

    def __init__(
        self,
        upload: Upload,
        stored: StoredPreview,
        content_type: ContentType,
        entries: Mapping[str, Entry],
        names: Mapping[str, str],
    ) -> None:
        """``names``: of referenced entries and files, by id."""
        self._table = upload.table
        self._preview = stored.preview
        self._entries = entries
        self._names = names
        self._references = {f.slug for f in content_type.value_fields if f.spec.refers_to}
        self._prose = {"Title", *(f.slug for f in content_type.value_fields if f.spec.translatable)}
        columns = {target: column for column, target in enumerate(stored.request.targets)}
        columns.pop(NOTHING, None)
        self._mapped = frozenset(columns.values())
        self._own: dict[str, int] = {
            target: columns.pop(target) for target in ATTRIBUTES if target in columns
        }
        field_names = {field.slug: field.name for field in content_type.value_fields}
        self._fields = [
            (column, slug, field_names.get(slug, slug)) for slug, column in columns.items()
        ]
        self._attributes = [name for name in ATTRIBUTES if name != LANGUAGE or name in self._own]
        self.headings = [*self._attributes[3:], *(name for _, _, name in self._fields)]

    def line(self, index: int) -> Line:
        row, cells = self._preview.rows[index], self._table.rows[index].cells
        # A later row for the same entry replaces values of the earlier row, not of the entry.
        is_first = row.state == "update" and row.repeats is None
        before = self._entries.get(row.entry_id or "") if is_first else None
        reasons = _reasons([note for note in row.notes if note.column not in self._mapped])
        if row.repeats is not None:
            reasons += (f"repeats the slug of row {row.repeats:,}",)
        marks = _Marks(row)
        own = [self._own_cell(marks, cells, target, before) for target in self._attributes]
        fields = [
            self._cell(
                marks, column, slug, name, one_line(cells[column]), self._field(before, slug)
            )
            for column, slug, name in self._fields
        ]
        return Line(row, [*own, *fields], reasons)

    def _field(self, entry: Entry | None, slug: str) -> str | None:
        """A field's value in one line: a string as it is, any other value as JSON."""
        if entry is None:
            return None
        stored = entry.fields.get(slug, Raw(b"null"))
        if slug in self._references:
            return one_line(with_names(stored, self._names))
        if bytes(stored) in EMPTY:
            return ""
        try:
            texts = _TEXTS.decode(stored)
        except msgspec.ValidationError:  # any other JSON, with numbers of any size
            return one_line(readable(bytes(stored)[:_SHOWN_BYTES].decode(errors="ignore")))
        return one_line(texts if isinstance(texts, str) else ", ".join(texts))

    def _own_cell(
        self, marks: _Marks, cells: Sequence[str], target: str, entry: Entry | None
    ) -> Cell:
        """The value after the import, or the cell's text if that is unknown or has notes."""
        column, name = self._own.get(target), target.lower()
        cell = cells[column] if column is not None else ""
        has_notes = cell.strip() and column in marks.notes
        text = cell if has_notes else getattr(marks.row, name) or cell
        before = getattr(entry, name) if entry else None
        return self._cell(marks, column, target, target, one_line(text), before)

    def _cell(
        self,
        marks: _Marks,
        column: int | None,
        target: str,
        name: str,
        text: str,
        before: str | None,
    ) -> Cell:
        is_prose = target in self._prose and marks.row.language in supported_locales()
        language = marks.row.language if is_prose else ""
        if column is not None and (notes := marks.notes.get(column)):
            failed = any(note.severity == "error" for note in notes)
            kind = "problem" if failed else "warning"
            return Cell(name, text, kind, _reasons(notes), language=language)
        if target in marks.changed:
            return Cell(name, text, "changed", before=before, language=language)
        return Cell(name, text, language=language)


class _Marks:
    """The notes of a row by column, and its changed targets as a set: a file may have 500
    columns."""

    def __init__(self, row: PreviewRow) -> None:
        self.row = row
        self.changed = frozenset(row.changed)
        self.notes: dict[int | None, list[Note]] = {}
        for note in row.notes:
            self.notes.setdefault(note.column, []).append(note)


def _reasons(notes: Sequence[Note]) -> tuple[str, ...]:
    """Reasons that are about the row as a whole begin with their subject."""
    return tuple(note.reason if note.column is not None else str(note) for note in notes)
