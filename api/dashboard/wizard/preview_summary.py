"""What a preview says about the file as a whole."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from msgspec import Struct

from api.export.table import encoded
from write_side.domain.refusals import count
from write_side.imports.preview import Counts, ImportRow, Omitted, Preview
from write_side.imports.uploads import StoredPreview


class EntryCounts(Struct, frozen=True):
    """An entry may have several rows. ``rows_of_new``: the number of rows of new entries."""

    new: int
    updated: int
    rows_of_new: int


class Problem(Struct, frozen=True):
    """``rows``: the numbers of the rows with this problem."""

    severity: str
    heading: str
    reason: str
    rows: list[int]


def entry_counts(rows: Sequence[ImportRow]) -> EntryCounts:
    """Counts the entries that the rows create and update."""
    new = {row.entry_id for row in rows if row.state == "new"}
    ready = [row.entry_id for row in rows if row.state in ("new", "update")]
    return EntryCounts(len(new), len({*ready} - new), sum(entry in new for entry in ready))


def button_text(counts: Counts, entries: EntryCounts) -> str:
    """The label of the import button, which says what the import will do."""
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


def obstacle(stored: StoredPreview) -> str:
    """Why nothing can be imported; "" if something can."""
    counts, update = stored.preview.counts, stored.request.update
    if stored.preview.is_undecided(stored.request):
        return "Rows repeat the slug of an earlier row: choose what to do with them."
    if counts.ready:
        return ""
    if counts.error:
        return "No row is ready. Correct the file and upload it again, or change the mapping."
    if counts.skipped and not update:
        return (
            "All rows are skipped because entries with their slugs exist. To update those entries, "
            "go back to the columns and select “Update entries whose slug already exists”."
        )
    if counts.skipped:
        return "The rows that are not skipped change nothing."
    return "All entries already match the file."


def problems_of(preview: Preview) -> list[Problem]:
    """Errors before warnings, the most frequent first."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for row in preview.rows:
        for problem in dict.fromkeys((n.severity, n.heading, n.reason) for n in row.notes):
            found.setdefault(problem, []).append(row.number)
    problems = [Problem(*problem, rows) for problem, rows in found.items()]
    return sorted(problems, key=lambda one: (one.severity != "error", -len(one.rows), one.rows[0]))


def other_problems(problems: Sequence[Problem]) -> str:
    """``2 other errors in 3 rows, 1 other warning in 1,200 rows``"""
    parts = []
    for severity in ("error", "warning"):
        others = [problem.rows for problem in problems if problem.severity == severity]
        if others:
            rows = count(len(set().union(*others)), "row")
            parts.append(f"{count(len(others), f'other {severity}')} in {rows}")
    return ", ".join(parts)


def omitted_text(omitted: Omitted) -> str:
    """``12 more errors and 1 more warning``"""
    parts = ((omitted.errors, "more error"), (omitted.warnings, "more warning"))
    return " and ".join(count(number, what) for number, what in parts if number)


def problems_csv(preview: Preview) -> bytes:
    """The problems of every row. Formulas are escaped as in an export."""
    lines = [["Row", "Severity", "Column", "Cell", "Problem"]]
    for row in preview.rows:
        number = str(row.number)
        lines += [[number, n.severity, n.heading, n.cell, n.reason] for n in row.notes]
        if row.omitted:
            lines.append([number, "", "", "", f"and {omitted_text(row.omitted)}"])
    return codecs.BOM_UTF8 + encoded(lines)
