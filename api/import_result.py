"""An import as JSON: the dashboard's result file, and what ``contentlog import --json`` prints."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct, field

from write_side.imports.preview import Counts, Preview, State
from write_side.imports.report import Report, RevertReport


class CellResult(Struct, frozen=True):
    """``column`` is its heading; "" where the reason is of the whole row, or comes from the log,
    which records one text per row."""

    heading: str = field(name="column")
    severity: str
    cell: str
    reason: str


class RowResult(Struct, frozen=True, rename="camel"):
    number: int = field(name="row")
    state: State
    slug: str
    entry_id: str | None
    notes: list[CellResult] = field(name="cells")


class EntryResult(Struct, frozen=True, rename="camel"):
    entry_id: str
    slug: str


class KeptEntryResult(EntryResult, frozen=True, rename="camel"):
    """An entry that the revert did not touch, because ``by`` changed or deleted it."""

    at: datetime
    by: str


class RevertResult(Struct, frozen=True, rename="camel"):
    """See ``report.RevertReport``."""

    import_id: str
    at: datetime
    by: str
    deleted: list[EntryResult]
    restored: list[EntryResult]
    changed_since: list[KeptEntryResult]
    gone: list[KeptEntryResult]
    position: int
    replayed: bool


class ImportResult(Struct, frozen=True, rename="camel", kw_only=True):
    """``rows`` were imported, would be, or have errors. ``at`` and ``by`` are None where the file
    was only checked."""

    import_id: str
    imported: bool = False
    replayed: bool = False
    position: int = 0
    counts: Counts
    rows: list[RowResult]
    at: datetime | None = None
    by: str | None = None
    reverted: RevertResult | None = None


def result_of_preview(import_id: str, preview: Preview) -> ImportResult:
    """The result of a dry run."""
    rows = msgspec.convert(preview.rows, list[RowResult], from_attributes=True)
    return ImportResult(import_id=import_id, counts=preview.counts, rows=rows)


def result_of_report(report: Report) -> ImportResult:
    return msgspec.convert(report, ImportResult, from_attributes=True)


def result_of_revert(report: RevertReport) -> RevertResult:
    return msgspec.convert(report, RevertResult, from_attributes=True)
