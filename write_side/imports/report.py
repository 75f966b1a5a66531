"""The outcome of an import, and of reverting it, as the log has it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from write_side.commands import ImportEntries, RevertImport
from write_side.dispatch import execute
from write_side.domain.changes import actor_name
from write_side.domain.content_type import ContentType
from write_side.domain.events import (
    ImportedRow,
    ImportReverted,
    RevertedEntry,
    RowOutcome,
)
from write_side.domain.identity import Actor, Scope
from write_side.domain.refusals import UnknownImport
from write_side.handlers.imports import recorded_before
from write_side.imports.preview import Note, Preview
from write_side.imports.request import ImportRequest
from write_side.repository import Repository
from write_side.store.append import Appended


class ReportRow(Struct, frozen=True):
    """``number`` as a spreadsheet counts; ``note`` says what is wrong with the row. ``notes`` are
    per cell after an import; the log has them as one text."""

    number: int
    outcome: RowOutcome
    entry_id: str | None
    slug: str
    note: str
    notes: tuple[Note, ...] = ()


class KeptEntry(Struct, frozen=True):
    """An entry that a revert does not touch: ``by`` changed or deleted it after the import."""

    entry_id: str
    slug: str
    at: datetime
    by: str


class UndoneEntry(Struct, frozen=True):
    entry_id: str
    slug: str


class Reverted(Struct, frozen=True):
    """``position``: of the last event. ``replayed``: the import was reverted before."""

    import_id: str
    at: datetime
    by: str
    deleted: tuple[UndoneEntry, ...]
    restored: tuple[UndoneEntry, ...]
    changed_since: tuple[KeptEntry, ...]
    gone: tuple[KeptEntry, ...]
    position: int
    replayed: bool = False


class Report(Struct, frozen=True):
    """``position``: of the last event, 0 where there is none. ``rows`` are in the order of the
    file."""

    import_id: str
    file_name: str
    content_type_slug: str
    language: str
    at: datetime
    by: str
    created: int
    updated: int
    unchanged: int
    skipped: int
    failed: int
    rows: tuple[ReportRow, ...]
    position: int
    replayed: bool = False
    reverted: Reverted | None = None


async def import_report(
    repository: Repository, scope: Scope, import_id: str, *, replayed: bool = False
) -> Report:
    """Raises UnknownImport, also for an import of another workspace or environment."""
    found = await repository.find_import(import_id)
    if found is None or (found[0].workspace, found[0].environment) != _place(scope):
        raise UnknownImport(import_id)
    recorded, appended = found
    content_type = await repository.content_type_by_id(recorded.content_type_id)
    revert = await repository.find_revert(import_id)
    return Report(
        import_id=import_id,
        file_name=recorded.file_name,
        content_type_slug=content_type.slug,
        language=recorded.language,
        at=recorded.at,
        by=actor_name(recorded.by or recorded.actor),
        created=recorded.created,
        updated=recorded.updated,
        unchanged=recorded.unchanged,
        skipped=recorded.skipped,
        failed=recorded.failed,
        rows=tuple(map(_row, recorded.rows)),
        position=appended.last,
        replayed=replayed,
        reverted=None if revert is None else _reverted(*revert, replayed=False),
    )


async def earlier_report(
    repository: Repository, content_type: ContentType, request: ImportRequest
) -> Report | None:
    """The report of the import with this id, if it was carried out. Raises ImportIdTaken."""
    if await recorded_before(repository, request.scope, content_type, request.import_id) is None:
        return None
    return await import_report(repository, request.scope, request.import_id, replayed=True)


def empty_report(command: ImportEntries, at: datetime) -> Report:
    """The report of an import that changes nothing, and is not recorded."""
    return Report(
        import_id=command.import_id,
        file_name=command.file_name,
        content_type_slug=command.content_type_slug,
        language=command.language,
        at=at,
        by=actor_name(command.by or command.actor),
        created=0,
        updated=0,
        unchanged=command.unchanged,
        skipped=command.skipped,
        failed=command.failed,
        rows=tuple(map(_row, command.rows)),
        position=0,
    )


def with_notes(report: Report, preview: Preview) -> Report:
    """The report with the preview's notes per cell, unless the import was carried out before."""
    if report.replayed:
        return report
    rows = zip(report.rows, preview.rows, strict=True)
    return replace(report, rows=tuple(replace(row, notes=shown.notes) for row, shown in rows))


async def revert_import(
    repository: Repository,
    scope: Scope,
    import_id: str,
    by: Actor,
    request_id: str | None = None,
) -> Reverted:
    """Delete the entries that the import created and restore those it updated, unless they have
    changed since.

    The second time nothing is done. References to a deleted entry keep its id, as after any
    other delete. Raises UnknownImport.
    """
    command = RevertImport(actor=by, request_id=request_id, scope=scope, import_id=import_id)
    executed = await execute(command, repository)
    reverted = executed.events[0].event
    assert isinstance(reverted, ImportReverted)
    appended = Appended(executed.position - len(executed.events) + 1, len(executed.events))
    return _reverted(reverted, appended, replayed=executed.replayed)


def _reverted(event: ImportReverted, appended: Appended, *, replayed: bool) -> Reverted:
    def undone(outcome: str) -> tuple[UndoneEntry, ...]:
        return tuple(UndoneEntry(e.entry_id, e.slug) for e in event.entries if e.outcome == outcome)

    def left(outcome: str) -> tuple[KeptEntry, ...]:
        return tuple(map(_left, (e for e in event.entries if e.outcome == outcome)))

    return Reverted(
        import_id=event.import_id,
        at=event.at,
        by=actor_name(event.actor),
        deleted=undone("deleted"),
        restored=undone("restored"),
        changed_since=left("changed"),
        gone=left("gone"),
        position=appended.last,
        replayed=replayed,
    )


def _left(entry: RevertedEntry) -> KeptEntry:
    assert entry.at is not None, "a revert says when an entry was changed"
    assert entry.by is not None, "a revert says who changed an entry"
    return KeptEntry(entry.entry_id, entry.slug, entry.at, actor_name(entry.by))


def _row(row: ImportedRow) -> ReportRow:
    notes = (Note(None, "", "error", "", row.note),) if row.note else ()
    return ReportRow(row.number, row.outcome, row.entry_id, row.slug, row.note, notes)


def _place(scope: Scope) -> tuple[str, str]:
    return (scope.workspace, scope.environment)
