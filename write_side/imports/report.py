"""What came of an import, and of taking it back, as the log tells it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from write_side.commands import ImportEntries, RevertImport
from write_side.decision import now
from write_side.dispatch import execute
from write_side.domain.content_type import ContentType
from write_side.domain.events import (
    ImportedRow,
    ImportReverted,
    Outcome,
    RevertedEntry,
)
from write_side.domain.history import actor_name
from write_side.domain.identity import Actor, Scope
from write_side.domain.refusals import UnknownImport
from write_side.handlers.imports import recorded_before
from write_side.imports.preview import Note, Preview
from write_side.imports.wish import Wish
from write_side.repository import Repository
from write_side.store.append import Appended


class ReportRow(Struct, frozen=True, rename="camel"):
    """``number`` as a spreadsheet counts; ``note`` says what is wrong with the row, ``notes`` the
    same of each cell where that is known: the log has it as one text."""

    number: int
    outcome: Outcome
    entry_id: str | None
    slug: str
    note: str
    notes: tuple[Note, ...] = ()


class LeftAlone(Struct, frozen=True, rename="camel"):
    """An entry that a revert leaves as it is: ``by`` whom it was changed since, or deleted."""

    entry_id: str
    slug: str
    at: datetime
    by: str


class Undone(Struct, frozen=True, rename="camel"):
    entry_id: str
    slug: str


class Reverted(Struct, frozen=True, rename="camel"):
    """``position``: of the last event. ``replayed``: it had been done before."""

    import_id: str
    at: datetime
    by: str
    deleted: tuple[Undone, ...]
    restored: tuple[Undone, ...]
    changed_since: tuple[LeftAlone, ...]
    gone: tuple[LeftAlone, ...]
    position: int
    replayed: bool = False


class Report(Struct, frozen=True, rename="camel"):
    """``position``: of the last event, 0 where there is none. ``rows`` are in the order of the
    file; imports of before rows were recorded have none."""

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
    """Raises UnknownImport, for one of another place too."""
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


async def report_of_before(
    repository: Repository, content_type: ContentType, wish: Wish
) -> Report | None:
    """Of what was done under the wish's import id, if it was. Raises ImportIdTaken."""
    if await recorded_before(repository, wish.scope, content_type, wish.import_id) is None:
        return None
    return await import_report(repository, wish.scope, wish.import_id, replayed=True)


def report_of_nothing(command: ImportEntries) -> Report:
    """Of an import that changes nothing, and is not recorded."""
    return Report(
        import_id=command.import_id,
        file_name=command.file_name,
        content_type_slug=command.content_type_slug,
        language=command.language,
        at=now(),
        by=actor_name(command.by or command.actor),
        created=0,
        updated=0,
        unchanged=command.unchanged,
        skipped=command.skipped,
        failed=command.failed,
        rows=tuple(map(_row, command.rows)),
        position=0,
    )


def noted(report: Report, preview: Preview) -> Report:
    """With all that the check has said of the cells, where it is what was imported now."""
    if report.replayed:
        return report
    rows = zip(report.rows, preview.rows, strict=True)
    return replace(report, rows=tuple(replace(row, notes=seen.notes) for row, seen in rows))


async def revert_import(
    repository: Repository,
    scope: Scope,
    import_id: str,
    by: Actor,
    request_id: str | None = None,
) -> Reverted:
    """Delete what the import made and take back what it changed, where it is unchanged since.

    The second time nothing is done. What refers to a deleted entry keeps its id, as after any
    other delete. Raises UnknownImport.
    """
    command = RevertImport(actor=by, request_id=request_id, scope=scope, import_id=import_id)
    executed = await execute(command, repository)
    reverted = executed.events[0].event
    assert isinstance(reverted, ImportReverted)
    appended = Appended(executed.position - len(executed.events) + 1, len(executed.events))
    return _reverted(reverted, appended, replayed=executed.replayed)


def _reverted(event: ImportReverted, appended: Appended, *, replayed: bool) -> Reverted:
    def undone(outcome: str) -> tuple[Undone, ...]:
        return tuple(Undone(e.entry_id, e.slug) for e in event.entries if e.outcome == outcome)

    def left(outcome: str) -> tuple[LeftAlone, ...]:
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


def _left(entry: RevertedEntry) -> LeftAlone:
    assert entry.at is not None, "a revert says when an entry was changed"
    assert entry.by is not None, "a revert says who changed an entry"
    return LeftAlone(entry.entry_id, entry.slug, entry.at, actor_name(entry.by))


def _row(row: ImportedRow) -> ReportRow:
    notes = (Note(None, "", "error", "", row.note),) if row.note else ()
    return ReportRow(row.number, row.outcome, row.entry_id, row.slug, row.note, notes)


def _place(scope: Scope) -> tuple[str, str]:
    return (scope.workspace, scope.environment)
