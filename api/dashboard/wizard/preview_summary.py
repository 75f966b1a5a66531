"""The preview in a few words: how many entries change, what the button does, which problems
there are."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from msgspec import Struct

from api.dashboard.templates import count
from write_side.imports.escapes import guard
from write_side.imports.preview import Counts, Preview, PreviewRow


class EntryCounts(Struct, frozen=True):
    """Several rows can be about one entry. ``rows_of_new``: the rows of the new entries."""

    new: int
    updated: int
    rows_of_new: int


class Problem(Struct, frozen=True):
    """``rows`` have it; ``first`` is the number of the first one."""

    severity: str
    heading: str
    reason: str
    rows: int
    first: int


def entry_counts(rows: Sequence[PreviewRow]) -> EntryCounts:
    """Of the rows that are ready to be imported."""
    new = {row.entry_id for row in rows if row.state == "new"}
    ready = [row.entry_id for row in rows if row.state in ("new", "update")]
    return EntryCounts(len(new), len({*ready} - new), sum(entry in new for entry in ready))


def button_text(counts: Counts, entries: EntryCounts) -> str:
    """What the button says and does."""
    if not counts.ready:
        return "Nothing to import"
    parts = []
    if entries.new:
        parts.append(f"import {count(entries.rows_of_new, 'row')}")
    if entries.updated:
        parts.append(f"update {count(entries.updated, 'entry', 'entries')}")
    text = " and ".join(parts)
    if counts.error:
        text += f", leave out {counts.error:,} with errors"
    return text[:1].upper() + text[1:]


def obstacle(counts: Counts, *, update: bool) -> str:
    """Why nothing can be imported; "" if something can."""
    if counts.ready:
        return ""
    if counts.error:
        return "No row is ready. Correct the file and upload it again, or change the mapping."
    if counts.skipped and not update:
        return (
            "All rows are skipped because entries with their slugs exist. To update those entries, "
            "go back to the columns and select “Update entries whose slug already exists”."
        )
    return "All entries already match the file."


def problems_of(preview: Preview) -> list[Problem]:
    """Errors before warnings, the most frequent first."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for row in preview.rows:
        for problem in dict.fromkeys((n.severity, n.heading, n.reason) for n in row.notes):
            found.setdefault(problem, []).append(row.number)
    problems = [Problem(*problem, len(rows), rows[0]) for problem, rows in found.items()]
    return sorted(problems, key=lambda one: (one.severity != "error", -one.rows, one.first))


def problems_csv(preview: Preview) -> bytes:
    """Every problem of every row, with the same guard against formulas as an export."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("Row", "Severity", "Column", "Cell", "Problem"))
    for row in preview.rows:
        for note in row.notes:
            cells = (note.severity, note.heading, note.cell, note.reason)
            writer.writerow((row.number, *map(guard, cells)))
    return text.getvalue().encode("utf-8-sig", "replace")
