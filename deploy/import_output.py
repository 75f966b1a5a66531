"""What `contentlog import` prints."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import click
import msgspec

from deploy.failures import Failed, printable
from deploy.runner import utc_minute
from write_side.domain.refusals import count

if TYPE_CHECKING:
    from api.imports.result import ImportResult
    from write_side.imports.preview import Preview
    from write_side.imports.report import RevertReport, RevertReportEntry
    from write_side.imports.request import ImportRequest


def refusal_text(request: ImportRequest, preview: Preview) -> str:
    """Why nothing is imported."""
    from write_side.imports.preview import repeats_text

    if preview.is_refused(request):
        others = ", and no other row is ready" if request.ready_only else ""
        return f"{count(preview.counts.error, 'row has', 'rows have')} errors{others}"
    return (
        f"{repeats_text(preview.repeated)}: choose with --repeats skip, update or suffix, or "
        "derive the slugs from another column with --key"
    )


def print_result(result: ImportResult, refusal: str, *, dry_run: bool, as_json: bool) -> None:
    """Raises Failed if the import is refused."""
    if as_json:
        click.echo(msgspec.json.encode(result))
    else:
        for line in (*_detected_encoding(result), *_problems(result, "error")):
            click.echo(line)
        # The standard output of an import is its result.
        for line in () if result.replayed else _problems(result, "warning"):
            click.echo(line, err=not dry_run)
        for line in _repeats(result):
            click.echo(line)
    if refusal:
        raise Failed(f"nothing {'would be' if dry_run else 'was'} imported: {refusal}")
    if not as_json:
        click.echo(_outcome(result, dry_run=dry_run))


def _detected_encoding(result: ImportResult) -> Iterator[str]:
    """A note for the user if the encoding is not certain."""
    file = result.file
    if file is not None and file.encoding_source == "detected":
        cells = ", ".join(map(repr, file.non_ascii))
        yield f"detected encoding {file.encoding}: {cells}; if this is wrong, use --encoding"


def _repeats(result: ImportResult) -> Iterator[str]:
    """A line for each row with the slug of an earlier row."""
    for row in result.rows:
        if row.repeats is not None:
            what = f"new, as {row.slug!r}" if row.state == "new" else row.state
            yield f"row {row.number} repeats the slug of row {row.repeats}: {what}"


def _problems(result: ImportResult, severity: str) -> Iterator[str]:
    """A line for each error or warning, and the number of those that the result omits."""
    for row in result.rows:
        for problem in row.notes:
            if problem.severity == severity:
                place = f"row {row.number}" + (
                    f", {printable(problem.heading)}" if problem.heading else ""
                )
                cell = f"{problem.cell!r} " if problem.cell else ""
                yield f"{place}: {cell}{problem.reason}"
    more = result.omitted and getattr(result.omitted, f"{severity}s")
    if more:
        yield f"and {count(more, f'more {severity}')}"


def _outcome(result: ImportResult, *, dry_run: bool) -> str:
    if result.replayed:
        earlier = f"import {result.import_id!r} has already run"
        if result.reverted is None:
            return f"{earlier}: no changes"
        at = utc_minute(datetime.fromisoformat(result.reverted.at))
        reverted = f"was reverted by {result.reverted.by} at {at}"
        return (
            f"{earlier} and {reverted}: no changes; to import the file again, use another "
            "--import-id"
        )
    counts = result.counts
    entries = "entry" if counts.new == 1 else "entries"
    repeats = sum(row.state == "skipped" and row.repeats is not None for row in result.rows)
    texts = (
        (counts.new, f"{entries} {'would be imported' if dry_run else 'imported'}"),
        (counts.update, "would be updated" if dry_run else "updated"),
        (counts.unchanged, "unchanged"),
        (counts.skipped - repeats, "skipped because their slug exists"),
        (repeats, "skipped because an earlier row has their slug"),
        (counts.error, "left out because of errors"),
    )
    summary = ", ".join(f"{n:,} {text}" for n, text in texts if n) or "the file has no rows"
    if dry_run:
        return summary
    if not result.imported:
        return f"nothing imported: {summary}"
    return f"{summary}; import id {result.import_id!r}"


def revert_lines(reverted: RevertReport) -> Iterator[str]:
    if reverted.replayed:
        yield (
            f"import {reverted.import_id!r} was already reverted by {reverted.by} "
            f"at {utc_minute(reverted.at)}: no changes"
        )
        return
    yield (
        f"import {reverted.import_id!r} was reverted: {len(reverted.deleted):,} deleted, "
        f"{len(reverted.restored):,} restored"
    )
    if reverted.restored:
        yield "note: entries that the revert publishes again get its time as publishedAt"
    if reverted.deleted:
        yield "note: references of other entries to the deleted ones are unchanged"
    for entry in reverted.changed_since:
        yield f"{_not_reverted(entry, 'changed')}: not reverted"
    for entry in reverted.gone:
        yield _not_reverted(entry, "already deleted")


def _not_reverted(entry: RevertReportEntry, what: str) -> str:
    slug = printable(entry.slug)
    return f"{slug} ({entry.entry_id}) was {what} by {entry.by} at {utc_minute(entry.at)}"
