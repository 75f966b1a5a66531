"""What `contentlog import` says of an import: lines for people, JSON for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from write_side.imports.preview import Preview
    from write_side.imports.report import LeftAlone, Report, Reverted

OF_REPORT = {"updated": "update"}


class Cell(Struct, frozen=True):
    """``column`` is its heading; "" where the reason is of the row as a whole."""

    column: str
    severity: str
    cell: str
    reason: str


class Row(Struct, frozen=True, rename="camel"):
    row: int
    state: str
    slug: str
    entry_id: str | None
    cells: list[Cell]


class Told(Struct, frozen=True, rename="camel"):
    """What scripts are given, whether rows were imported, would be, or have errors.

    ``rows`` have the states new, update, unchanged, skipped and error.
    """

    import_id: str
    imported: bool
    replayed: bool
    position: int
    counts: dict[str, int]
    rows: list[Row]


def told_of_preview(import_id: str, preview: Preview) -> Told:
    """Of what was only checked."""
    rows = [
        Row(
            row.number,
            row.state,
            row.slug,
            row.entry_id,
            [Cell(note.heading, note.severity, note.cell, note.reason) for note in row.notes],
        )
        for row in preview.rows
    ]
    counts = preview.counts
    return Told(
        import_id,
        False,
        False,
        0,
        {
            "new": counts.new,
            "update": counts.update,
            "unchanged": counts.unchanged,
            "skipped": counts.skipped,
            "error": counts.error,
        },
        rows,
    )


def told_of_report(report: Report) -> Told:
    rows = [
        Row(
            row.number,
            OF_REPORT.get(row.outcome, row.outcome),
            row.slug,
            row.entry_id,
            [Cell("", "error", "", row.note)] if row.note else [],
        )
        for row in report.rows
    ]
    return Told(
        report.import_id,
        report.position > 0,
        report.replayed,
        report.position,
        counts_of(report),
        rows,
    )


def counts_of(report: Report) -> dict[str, int]:
    return {
        "new": report.created,
        "update": report.updated,
        "unchanged": report.unchanged,
        "skipped": report.skipped,
        "error": report.failed,
    }


def notes_of(preview: Preview, severity: str) -> Iterator[str]:
    """A line for each cell that is wrong, or that is to be warned of."""
    for row in preview.rows:
        for note in row.notes:
            if note.severity == severity:
                place = f"row {row.number}, {note.heading}" if note.heading else f"row {row.number}"
                cell = f"{note.cell!r} " if note.cell else ""
                yield f"{place}: {cell}{note.reason}"


def summary(counts: dict[str, int], verb: str) -> str:
    """One line of what was or would be done; "" where nothing is."""
    told = {
        "new": f"{'entry' if counts['new'] == 1 else 'entries'} {verb}",
        "update": "updated",
        "unchanged": "unchanged",
        "skipped": "skipped because their slug exists",
        "error": "left out because of errors",
    }
    return ", ".join(f"{counts[state]} {words}" for state, words in told.items() if counts[state])


def lines_of_revert(reverted: Reverted) -> Iterator[str]:
    if reverted.replayed:
        yield (
            f"the import {reverted.import_id} was taken back before, by {reverted.by} "
            f"at {reverted.at:%Y-%m-%d %H:%M} UTC: nothing was done"
        )
        return
    yield (
        f"the import {reverted.import_id} was taken back: {len(reverted.deleted)} deleted, "
        f"{len(reverted.restored)} restored"
    )
    if reverted.deleted:
        yield "references of other entries to those that were deleted are left as they are"
    yield from (f"{_left(entry)}: left as it is" for entry in reverted.changed_since)
    yield from (f"{_left(entry, 'deleted')} already" for entry in reverted.gone)


def _left(entry: LeftAlone, what: str = "changed") -> str:
    return (
        f"{entry.slug} ({entry.entry_id}) was {what} by {entry.by} at {entry.at:%Y-%m-%d %H:%M} UTC"
    )
