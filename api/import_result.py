"""An import as JSON: the dashboard's result file, and what ``contentlog import --json`` prints."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec import Struct

from write_side.domain.events import RowOutcome
from write_side.imports.preview import Note, Preview, State
from write_side.imports.report import Report, Reverted

_STATES: dict[RowOutcome, State] = {
    "new": "new",
    "updated": "update",
    "unchanged": "unchanged",
    "skipped": "skipped",
    "error": "error",
}


class CellResult(Struct, frozen=True):
    """``column`` is its heading; "" where the reason is of the whole row, or comes from the log,
    which records one text per row."""

    column: str
    severity: str
    cell: str
    reason: str


class RowResult(Struct, frozen=True, rename="camel"):
    row: int
    state: State
    slug: str
    entry_id: str | None
    cells: list[CellResult]


class RevertedEntry(Struct, frozen=True, rename="camel"):
    entry_id: str
    slug: str


class KeptEntry(Struct, frozen=True, rename="camel"):
    entry_id: str
    slug: str
    at: datetime
    by: str


class RevertResult(Struct, frozen=True, rename="camel"):
    """See ``report.Reverted``."""

    import_id: str
    at: datetime
    by: str
    deleted: tuple[RevertedEntry, ...]
    restored: tuple[RevertedEntry, ...]
    changed_since: tuple[KeptEntry, ...]
    gone: tuple[KeptEntry, ...]
    position: int
    replayed: bool


class ImportResult(Struct, frozen=True, rename="camel"):
    """``rows`` were imported, would be, or have errors. ``at`` and ``by`` are None where the file
    was only checked."""

    import_id: str
    imported: bool
    replayed: bool
    position: int
    counts: dict[State, int]
    rows: list[RowResult]
    at: datetime | None = None
    by: str | None = None
    reverted: RevertResult | None = None


def result_of_preview(import_id: str, preview: Preview) -> ImportResult:
    """The result of a dry run."""
    counts = preview.counts
    return ImportResult(
        import_id=import_id,
        imported=False,
        replayed=False,
        position=0,
        counts={
            "new": counts.new,
            "update": counts.update,
            "unchanged": counts.unchanged,
            "skipped": counts.skipped,
            "error": counts.error,
        },
        rows=[
            RowResult(row.number, row.state, row.slug, row.entry_id, _cells(row.notes))
            for row in preview.rows
        ],
    )


def result_of_report(report: Report) -> ImportResult:
    return ImportResult(
        import_id=report.import_id,
        imported=report.position > 0,
        replayed=report.replayed,
        position=report.position,
        counts={
            "new": report.created,
            "update": report.updated,
            "unchanged": report.unchanged,
            "skipped": report.skipped,
            "error": report.failed,
        },
        rows=[
            RowResult(row.number, _STATES[row.outcome], row.slug, row.entry_id, _cells(row.notes))
            for row in report.rows
        ],
        at=report.at,
        by=report.by,
        reverted=None if report.reverted is None else result_of_revert(report.reverted),
    )


def result_of_revert(reverted: Reverted) -> RevertResult:
    return msgspec.convert(reverted, RevertResult, from_attributes=True)


def _cells(notes: Iterable[Note]) -> list[CellResult]:
    return [CellResult(note.heading, note.severity, note.cell, note.reason) for note in notes]
