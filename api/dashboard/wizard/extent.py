"""How many entries the rows of a file make and change, where several rows are of one entry."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from write_side.imports.preview import PreviewRow
from write_side.imports.report import Report


class Extent(Struct, frozen=True):
    """Entries that are made, those among the others that change, and the rows of those made."""

    new: int
    updated: int
    rows_of_new: int


def extent(rows: Sequence[PreviewRow]) -> Extent:
    """Of the rows that are ready."""
    made = {row.entry_id for row in rows if row.state == "new"}
    ready = [row.entry_id for row in rows if row.state in ("new", "update")]
    return Extent(len(made), len({*ready} - made), sum(entry in made for entry in ready))


def reverted(report: Report) -> tuple[int, int]:
    """How many entries taking it back deletes, and how many of them change back."""
    if not report.rows:
        # Of before rows were recorded.
        return report.created, report.updated
    made = {row.entry_id for row in report.rows if row.outcome == "new"}
    changed = {row.entry_id for row in report.rows if row.outcome == "updated"}
    return len(made), len(changed - made)
