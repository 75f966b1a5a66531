"""The outcome of an import, row by row, before anything is saved (behaviour.md §4.6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from write_side.domain.refusals import count
from write_side.imports.request import ImportRequest

State = Literal["new", "update", "unchanged", "skipped", "error"]
Severity = Literal["error", "warning"]
SHOWN = 60
"""Characters of a cell that a note shows."""
MOST_NOTES = 10_000
"""The most errors of a file that are kept as notes, and the most warnings. In addition, each row
keeps its first of each."""


class Note(Struct, frozen=True):
    """An error or a warning; ``reason`` continues a sentence that begins with the heading.

    ``column`` is an index into the row's cells, or None if the note is about the whole row.
    """

    column: int | None
    heading: str
    severity: Severity
    cell: str
    reason: str

    def __str__(self) -> str:
        return f"{self.heading} {self.reason}".strip()


class Omitted(Struct, frozen=True):
    """How many errors and warnings are not kept as notes."""

    errors: int = 0
    warnings: int = 0


class NoteLimit:
    """Limits the notes of a file, which may have a million."""

    def __init__(self) -> None:
        self._left: dict[Severity, int] = {"error": MOST_NOTES, "warning": MOST_NOTES}

    def limited(self, notes: Iterable[Note]) -> tuple[list[Note], Omitted | None]:
        """The notes of the next row that are kept."""
        kept: list[Note] = []
        found: Counter[Severity] = Counter()
        omitted: Counter[Severity] = Counter()
        for note in notes:
            severity = note.severity
            found[severity] += 1
            if self._left[severity] <= 0 and found[severity] > 1:
                omitted[severity] += 1
            else:
                self._left[severity] -= 1
                kept.append(note)
        return kept, Omitted(omitted["error"], omitted["warning"]) if omitted else None


class ImportRow(Struct, frozen=True, kw_only=True):
    """A row that was imported or would be. ``number``: as a spreadsheet counts; ``entry_id``: of
    the existing or new entry. ``repeats``: the number of the first row with its slug, or with the
    slug that it would have without its suffix. ``omitted``: None if ``notes`` are all. The log
    stores neither."""

    number: int
    state: State
    slug: str
    entry_id: str | None
    notes: tuple[Note, ...]
    repeats: int | None = None
    omitted: Omitted | None = None


class PreviewRow(ImportRow, frozen=True, kw_only=True):
    """``changed``: what changes in an existing entry, as targets. ``digest``: of everything the row
    would do. ``differs``: from an earlier row with its slug."""

    title: str
    status: str
    language: str
    changed: tuple[str, ...]
    digest: str
    differs: bool = False


class Counts(Struct, frozen=True):
    new: int = 0
    update: int = 0
    unchanged: int = 0
    skipped: int = 0
    error: int = 0

    @property
    def ready(self) -> int:
        """Rows that would create or change an entry."""
        return self.new + self.update


class Preview(Struct, frozen=True):
    """``rows`` are in the table's order. ``digest``: of file, mapping, options and outcome."""

    digest: str
    rows: tuple[PreviewRow, ...]

    @property
    def counts(self) -> Counts:
        found = Counter(row.state for row in self.rows)
        return Counts(**{str(state): n for state, n in found.items()})

    @property
    def repeated(self) -> int:
        """Rows with the slug of an earlier row, in any state."""
        return repeated(self.rows)

    @property
    def skipped_repeats(self) -> int:
        return repeated(row for row in self.rows if row.state == "skipped")

    def is_refused(self, request: ImportRequest) -> bool:
        """Whether rows have errors, and either all rows were to be imported or none is ready."""
        counts = self.counts
        return counts.error > 0 and not (request.ready_only and counts.ready)

    def is_undecided(self, request: ImportRequest) -> bool:
        """Whether rows with the same slug differ, and no choice was made for them."""
        return request.repeats is None and any(row.differs for row in self.rows)


def omitted_notes(rows: Iterable[ImportRow]) -> Omitted | None:
    """Those of all rows together; None if there are none."""
    found = [row.omitted for row in rows if row.omitted is not None]
    if not found:
        return None
    return Omitted(sum(each.errors for each in found), sum(each.warnings for each in found))


def repeated(rows: Iterable[ImportRow]) -> int:
    return sum(row.repeats is not None for row in rows)


def repeats_text(rows: int) -> str:
    return f"{count(rows, 'row repeats', 'rows repeat')} the slug of an earlier row"


class Difference(Struct, frozen=True):
    """A row whose outcome has changed since the preview; ``why`` explains the change to the
    user."""

    number: int
    before: State
    after: State
    why: str


def one_line(cell: str) -> str:
    """A cell or heading in one line of bounded length."""
    text = " ".join(cell[: SHOWN * 10].split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def differences(before: Preview, after: Preview) -> tuple[Difference, ...]:
    """Rows of the same table, under the same mapping and options, that have changed."""
    pairs = zip(before.rows, after.rows, strict=False)
    return tuple(
        Difference(now.number, was.state, now.state, _reason(was, now))
        for was, now in pairs
        if was.digest != now.digest
    )


def _reason(was: PreviewRow, now: PreviewRow) -> str:
    new_errors = [note for note in now.notes if note.severity == "error" and note not in was.notes]
    if new_errors:
        return "; ".join(map(str, new_errors))
    if was.repeats != now.repeats:
        reason = f"repeats the slug of row {now.repeats or was.repeats:,}"
        return reason if now.repeats else f"no longer {reason}"
    match (was.state, now.state):
        case ("new", "skipped" | "update" | "unchanged"):
            return f"an entry with the slug '{now.slug}' has been created since"
        case ("skipped" | "update" | "unchanged", "new"):
            return f"no entry has the slug '{now.slug}' any more"
        case ("error", _):
            return "no longer has errors"
    return "the entry, or what the row refers to, has changed"
