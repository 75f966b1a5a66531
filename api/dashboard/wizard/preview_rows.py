"""Rows of the preview's table: the cells of the file and what each row would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from api.dashboard.values import readable, with_names
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.locales import supported_locales
from write_side.domain.values import EMPTY, NULL
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
        fields = content_type.value_fields
        self._references = {field.slug for field in fields if field.spec.refers_to}
        self._prose = {"Title", *(field.slug for field in fields if field.spec.translatable)}
        mapped = {target: column for column, target in enumerate(stored.request.targets)}
        mapped.pop(NOTHING, None)
        self._mapped = frozenset(mapped.values())
        own = [name for name in ATTRIBUTES if name != LANGUAGE or name in mapped]
        field_names = {field.slug: field.name for field in fields}
        self._columns = [
            (mapped.get(target), target, field_names.get(target, target))
            for target in dict.fromkeys((*own, *mapped))
        ]
        self.headings = [name for _, _, name in self._columns[3:]]

    def line(self, index: int) -> Line:
        row, texts = self._preview.rows[index], self._table.rows[index].cells
        # A later row for the same entry replaces values of the earlier row, not of the entry.
        is_first = row.state == "update" and row.repeats is None
        before = self._entries.get(row.entry_id or "") if is_first else None
        notes = [note for note in row.notes if note.column not in self._mapped]
        reasons = _reasons(notes)
        # A given slug gets no suffix, and its error already names the earlier row.
        if row.repeats is not None and not any(note.heading == "Slug" for note in notes):
            reasons += (f"repeats the slug of row {row.repeats:,}",)
        marks = _Marks(row)
        cells = [self._cell(marks, texts, before, *column) for column in self._columns]
        return Line(row, cells, reasons)

    def _cell(
        self,
        marks: _Marks,
        texts: Sequence[str],
        before: Entry | None,
        column: int | None,
        target: str,
        name: str,
    ) -> Cell:
        """An attribute of the entry shows its value after the import, or the cell's text if that
        value is unknown or the cell has notes."""
        row, notes = marks.row, marks.notes.get(column, [])
        text = "" if column is None else texts[column]
        if target in ATTRIBUTES and not (notes and text.strip()):
            text = getattr(row, target.lower()) or text
        shown = one_line(text)
        is_prose = target in self._prose and row.language in supported_locales()
        language = row.language if is_prose else ""
        if notes:
            failed = any(note.severity == "error" for note in notes)
            kind = "problem" if failed else "warning"
            return Cell(name, shown, kind, _reasons(notes), language=language)
        if target in marks.changed:
            old = None if before is None else self._value(before, target)
            return Cell(name, shown, "changed", before=old, language=language)
        return Cell(name, shown, language=language)

    def _value(self, entry: Entry, target: str) -> str:
        """In one line: a string as it is, any other value as JSON."""
        if target in ATTRIBUTES:
            return str(getattr(entry, target.lower()))
        stored = entry.fields.get(target, NULL)
        if target in self._references:
            return one_line(with_names(stored, self._names))
        if stored in EMPTY:
            return ""
        try:
            texts = _TEXTS.decode(stored)
        except msgspec.ValidationError:  # any other JSON, with numbers of any size
            return one_line(readable(bytes(stored)[:_SHOWN_BYTES].decode(errors="ignore")))
        return one_line(texts if isinstance(texts, str) else ", ".join(texts))


class _Marks:
    """The notes of a row by column, and its changed targets as a set: a file may have 500
    columns."""

    def __init__(self, row: PreviewRow) -> None:
        self.row = row
        self.changed = frozenset(row.changed)
        self.notes: dict[int | None, list[Note]] = {}
        for note in row.notes:
            if note.column is not None:
                self.notes.setdefault(note.column, []).append(note)


def _reasons(notes: Sequence[Note]) -> tuple[str, ...]:
    """Reasons that are about the row as a whole begin with their subject."""
    return tuple(note.reason if note.column is not None else str(note) for note in notes)
