"""The decision of an import on one row of a file."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Raw, Struct

from write_side.commands import CreateEntry, UpdateEntry
from write_side.domain.entry import Entry
from write_side.domain.values import NULL
from write_side.imports.preview import Note, NoteLimit, Omitted, PreviewRow, State
from write_side.imports.request import EntryKey
from write_side.imports.rows import Cell, ParsedRow


class RowDecision(Struct):
    """The outcome of a row. ``values``: those that it changes, or those of the new entry.

    ``repeats``: the number of the first row with its slug; ``differs``: from a row with that slug.
    ``references``: key of another row of the file → the cell that refers to it. ``command`` and
    ``after`` are set for all rows except skipped ones, even if the row has errors.
    """

    row: ParsedRow
    state: State = "error"
    repeats: int | None = None
    differs: bool = False
    entry_id: str | None = None
    before: Entry | None = None
    after: Entry | None = None
    command: CreateEntry | UpdateEntry | None = None
    values: dict[str, Raw] = {}
    notes: list[Note] = []
    omitted: Omitted | None = None
    digest: str = ""
    is_over_limit: bool = False
    references: dict[EntryKey, Cell] = {}

    @property
    def failed(self) -> bool:
        return any(note.severity == "error" for note in self.notes)

    def settle(self) -> None:
        """Sets ``state`` once all notes are known."""
        if self.failed:
            self.state = "error"
        elif self.before is None:
            self.state = "new"
        elif self.changes_entry:
            self.state = "update"
        else:
            self.state = "unchanged"
            self.after = self.before  # no event

    def bound(self, limit: NoteLimit) -> None:
        """Keeps the notes within the limit. The digest is of all notes, because the limit depends
        on the rows above."""
        self.digest = self._digest
        self.notes, self.omitted = limit.limited(self.notes)

    @property
    def changes_entry(self) -> bool:
        """Whether the row creates an entry or changes one. Known once ``after`` is set."""
        return self.before is None or bool(self.values or self._changed_attributes)

    @property
    def _changed_attributes(self) -> list[str]:
        if self.before is None or self.after is None:
            return []
        title = ["Title"] if self.before.title != self.after.title else []
        return title + (["Status"] if self.before.status != self.after.status else [])

    @property
    def changed(self) -> tuple[str, ...]:
        """What changes in an existing entry, as targets."""
        return (*self._changed_attributes, *self.values) if self.state == "update" else ()

    @property
    def preview(self) -> PreviewRow:
        is_made = self.after is not None and self.state != "error"
        return PreviewRow(
            number=self.row.number,
            state=self.state,
            title=self.row.title,
            slug=self.row.slug,
            status=self.after.status if self.after else "",
            language=self.row.language,
            entry_id=self.entry_id if is_made or self.state == "skipped" else None,
            changed=self.changed,
            notes=tuple(self.notes),
            omitted=self.omitted,
            digest=self.digest,
            repeats=self.repeats,
            differs=self.differs and not self.failed,
        )

    @property
    def _digest(self) -> str:
        """A digest of everything that the row does and overwrites."""
        before = self.before.fields if self.before else {}
        content = (
            self.state,
            self.entry_id,
            self.row.title,
            self.row.slug,
            self.after.status if self.after else "",
            self.changed and self.before and (self.before.title, self.before.status),
            [before.get(slug, NULL) for slug in self.values],
            self.values,
            self.notes,
            self.repeats,
        )
        return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]
