"""An import as JSON: the dashboard's result file, and what ``contentlog import --json`` prints."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field
from msgspec.structs import replace

from api.rest.wire import Time, timestamp
from write_side.imports.preview import (
    Counts,
    ImportRow,
    Omitted,
    Preview,
    State,
    omitted_notes,
    one_line,
    repeated,
)
from write_side.imports.report import Report, RevertReport, RevertReportEntry
from write_side.imports.split import SplitReport
from write_side.imports.table import EncodingSource, Table, non_ascii_cells


class CellResult(Struct, frozen=True):
    """``column`` is its heading; "" if the reason is about the whole row or comes from the log,
    which records one text per row."""

    heading: str = field(name="column")
    severity: str
    cell: str
    reason: str


class RowResult(Struct, frozen=True, rename="camel", omit_defaults=True):
    """``repeats``: the number of the earlier row with the same slug. ``omitted``: the errors and
    warnings that are not in ``cells``, if there are any. The log stores neither."""

    number: int = field(name="row")
    state: State
    slug: str
    entry_id: str | None
    notes: list[CellResult] = field(name="cells")
    repeats: int | None
    omitted: Omitted | None = None


class EntryResult(Struct, frozen=True, rename="camel"):
    entry_id: str
    slug: str


class KeptEntryResult(EntryResult, frozen=True, rename="camel"):
    """An entry that the revert did not touch, because ``by`` changed or deleted it."""

    at: Time
    by: str


class RevertResult(Struct, frozen=True, rename="camel"):
    """See ``report.RevertReport``. ``position``: None for keys without ``service.view``."""

    import_id: str
    at: Time
    by: str
    deleted: list[EntryResult]
    restored: list[EntryResult]
    changed_since: list[KeptEntryResult]
    gone: list[KeptEntryResult]
    position: int | None
    replayed: bool


class FileResult(Struct, frozen=True, rename="camel"):
    """How the file was read. ``non_ascii``: the first cells that a wrong encoding would garble."""

    encoding: str | None
    encoding_source: EncodingSource | None
    delimiter: str | None
    sheet: str | None
    non_ascii: list[str]


class ImportResult(Struct, frozen=True, rename="camel", kw_only=True):
    """``rows`` were imported, would be, or have errors. ``at`` and ``by`` are None if the file was
    only checked. ``repeated`` counts rows with the slug of an earlier row; the log does not.
    ``omitted``: the errors and warnings that no row names, if there are any. ``parts``: the import
    ids of a split file. ``position``: of the last event in the log; 0 if nothing was imported, None
    for keys without ``service.view``."""

    import_id: str
    imported: bool = False
    replayed: bool = False
    position: int | None = 0
    counts: Counts
    rows: list[RowResult]
    at: Time | None = None
    by: str | None = None
    reverted: RevertResult | None = None
    repeated: int = 0
    file: FileResult | None = None
    parts: list[str] = []
    omitted: Omitted | UnsetType = UNSET


class StoredResult(ImportResult, frozen=True, rename="camel", kw_only=True):
    """A result read from JSON. Its rows, which may have thousands of notes, are not decoded. ``at``
    has microseconds if an earlier version of contentlog stored it."""

    rows: Raw  # type: ignore[assignment]
    at: str | None = None


def result_of_preview(import_id: str, preview: Preview) -> ImportResult:
    return _result(import_id, preview.counts, preview.rows)


def result_of_report(report: Report) -> ImportResult:
    return replace(
        _result(report.import_id, report.counts, report.rows),
        imported=report.position > 0,
        replayed=report.replayed,
        position=report.position,
        at=timestamp(report.at),
        by=report.by,
        reverted=report.reverted and result_of_revert(report.reverted),
    )


def _result(import_id: str, counts: Counts, rows: Sequence[ImportRow]) -> ImportResult:
    return ImportResult(
        import_id=import_id,
        counts=counts,
        rows=msgspec.convert(rows, list[RowResult], from_attributes=True),
        repeated=repeated(rows),
        omitted=omitted_notes(rows) or UNSET,
    )


def without_positions(result: ImportResult) -> ImportResult:
    """The result for keys without ``service.view``, because positions count the events of all
    workspaces."""
    reverted = result.reverted and replace(result.reverted, position=None)
    return replace(result, position=None, reverted=reverted)


def with_file(result: ImportResult, table: Table) -> ImportResult:
    """Adds how the file was read. Call this in a thread: a file may have a million cells."""
    file = FileResult(
        table.encoding,
        table.encoding_source,
        table.delimiter,
        table.sheet,
        [one_line(cell) for cell in non_ascii_cells(table)],
    )
    return replace(result, file=file)


def result_of_split(import_id: str, report: SplitReport, by: str) -> ImportResult:
    """The result for the whole file."""
    return replace(
        result_of_preview(import_id, report.preview),
        imported=report.position > 0,
        replayed=report.replayed,
        position=report.position,
        at=timestamp(report.at),
        by=by,
        parts=list(report.import_ids),
    )


def result_of_revert(report: RevertReport) -> RevertResult:
    return RevertResult(
        report.import_id,
        timestamp(report.at),
        report.by,
        [EntryResult(each.entry_id, each.slug) for each in report.deleted],
        [EntryResult(each.entry_id, each.slug) for each in report.restored],
        list(map(_kept, report.changed_since)),
        list(map(_kept, report.gone)),
        report.position,
        report.replayed,
    )


def _kept(entry: RevertReportEntry) -> KeptEntryResult:
    return KeptEntryResult(entry.entry_id, entry.slug, timestamp(entry.at), entry.by)
