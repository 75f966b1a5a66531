"""What scripts are given of an import, in JSON: the same from both doors."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from write_side.domain.events import Outcome
from write_side.imports.preview import Note, Preview, State
from write_side.imports.report import Report, Reverted

_STATES: dict[Outcome, State] = {
    "new": "new",
    "updated": "update",
    "unchanged": "unchanged",
    "skipped": "skipped",
    "error": "error",
}


class ToldCell(Struct, frozen=True):
    """``column`` is its heading; "" where the reason is of the row as a whole, or where the log
    alone is asked: of a row it holds all reasons as one text."""

    column: str
    severity: str
    cell: str
    reason: str


class ToldRow(Struct, frozen=True, rename="camel"):
    row: int
    state: State
    slug: str
    entry_id: str | None
    cells: list[ToldCell]


class Told(Struct, frozen=True, rename="camel"):
    """Of rows that were imported, would be, or have errors. ``at`` and ``by`` are of what was
    done; None of what was only checked."""

    import_id: str
    imported: bool
    replayed: bool
    position: int
    counts: dict[State, int]
    rows: list[ToldRow]
    at: datetime | None = None
    by: str | None = None
    reverted: Reverted | None = None


def told_of_preview(import_id: str, preview: Preview) -> Told:
    """Of what was only checked."""
    counts = preview.counts
    return Told(
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
            ToldRow(row.number, row.state, row.slug, row.entry_id, _cells(row.notes))
            for row in preview.rows
        ],
    )


def told_of_report(report: Report) -> Told:
    return Told(
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
            ToldRow(row.number, _STATES[row.outcome], row.slug, row.entry_id, _cells(row.notes))
            for row in report.rows
        ],
        at=report.at,
        by=report.by,
        reverted=report.reverted,
    )


def _cells(notes: Iterable[Note]) -> list[ToldCell]:
    return [ToldCell(note.heading, note.severity, note.cell, note.reason) for note in notes]
