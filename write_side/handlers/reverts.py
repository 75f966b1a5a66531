"""Reverts of imports: undo the events of an import, except for entries that have changed since."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct

from write_side.commands import RevertImport
from write_side.decision import Decision, header
from write_side.domain.entry import Entry, contents, evolve, projected_bytes, restored_fields
from write_side.domain.events import (
    EntryDeleted,
    EntryEvent,
    EntryUpdated,
    ImportRecorded,
    ImportReverted,
    RevertedEntry,
)
from write_side.domain.identity import Scope, entry_stream, import_stream
from write_side.domain.refusals import UnknownImport
from write_side.domain.text import unstorable
from write_side.repository import Repository
from write_side.store.append import ENTRIES, Appended, Use
from write_side.store.mapper import StreamEvent


class _Decisions(Struct):
    entries: list[RevertedEntry] = []
    deletes: list[StreamEvent] = []
    restores: list[StreamEvent] = []
    projected: int = 0


class _EntryHistory(Struct):
    """One of the import's entries: now, with its last event; right after the import; and before the
    import, if it existed."""

    entry: Entry
    last: EntryEvent
    imported: Entry | None = None
    before: Entry | None = None


async def revert_import(command: RevertImport, repository: Repository) -> Decision:
    """A second revert has no effect and returns what was recorded. Raises UnknownImport."""
    recorded, appended = await recorded_import(repository, command.scope, command.import_id)
    reverted = await repository.find_revert(command.import_id)
    if reverted is not None:
        return Decision(recorded=reverted[1])
    decisions = _Decisions()
    async for history in _histories(await _versions(appended, repository), repository):
        _decide(command, history, decisions)
    content_type = await repository.content_type_by_id(recorded.content_type_id)
    ids = [each.entry_id for each in decisions.entries if each.outcome == "deleted"]
    return Decision(
        events=[
            StreamEvent(import_stream(command.import_id), 2, _record(command, recorded, decisions)),
            *decisions.deletes,
            *decisions.restores,
        ],
        # A content type can be removed only if it has no entries; then nothing is restored.
        type_checks=[content_type] if decisions.restores else [],
        uses=[Use(command.scope, ENTRIES, -len(ids))] if ids else [],
        changes={"entries": [{"op": "release", "id": each} for each in ids]} if ids else None,
        projected=decisions.projected,
        is_large=True,
    )


async def recorded_import(
    repository: Repository, scope: Scope, import_id: str
) -> tuple[ImportRecorded, Appended]:
    """The record of an import and the place of its events in the log.

    Raises UnknownImport, also for an import of another workspace or environment.
    """
    if unstorable(import_id):
        raise UnknownImport(import_id)
    found = await repository.find_import(import_id)
    place = (scope.workspace, scope.environment)
    if found is None or (found[0].workspace, found[0].environment) != place:
        raise UnknownImport(import_id)
    return found


async def _histories(
    done: Mapping[str, tuple[int, int]], repository: Repository
) -> AsyncIterator[_EntryHistory]:
    history: _EntryHistory | None = None
    async for entry, event in repository.entry_states(done):
        if history is None or history.entry.id != entry.id:
            if history is not None:
                yield history
            history = _EntryHistory(entry, event)
        first, last = done[entry.id]
        history.entry, history.last = entry, event
        if entry.version < first:
            history.before = entry
        if entry.version <= last:
            history.imported = entry
    if history is not None:
        yield history


async def _versions(appended: Appended, repository: Repository) -> dict[str, tuple[int, int]]:
    """Entry id → the first and the last version of it that the import made."""
    found: dict[str, tuple[int, int]] = {}
    for row in await repository.recorder.log(appended.position, appended.events - 1):
        entry_id, version = row["originator_id"].partition("/")[2], row["originator_version"]
        first, _ = found.get(entry_id, (version, version))
        found[entry_id] = (first, version)
    return found


def _decide(command: RevertImport, history: _EntryHistory, decisions: _Decisions) -> None:
    entry, imported, before = history.entry, history.imported, history.before
    assert imported is not None
    stream, version = entry_stream(entry.id), entry.version + 1
    # An entry that was changed and changed back counts as unchanged.
    if entry.deleted or contents(entry) != contents(imported):
        outcome: Literal["gone", "changed"] = "gone" if entry.deleted else "changed"
        left = RevertedEntry(entry.id, entry.slug, outcome, history.last.at, history.last.actor)
        decisions.entries.append(left)
    elif before is None:
        decisions.entries.append(RevertedEntry(entry.id, entry.slug, "deleted"))
        deleted = EntryDeleted(**_header(command, entry))
        decisions.deletes.append(StreamEvent(stream, version, deleted))
    else:
        restored = _restored(command, before, entry)
        if restored.changes_anything:
            decisions.entries.append(RevertedEntry(entry.id, entry.slug, "restored"))
            decisions.restores.append(StreamEvent(stream, version, restored))
            decisions.projected += projected_bytes(evolve(entry, restored))


def _restored(command: RevertImport, before: Entry, entry: Entry) -> EntryUpdated:
    """Not checked, because the entry had these values before. Translations are unchanged."""
    return EntryUpdated(
        **_header(command, entry),
        title=UNSET if before.title == entry.title else before.title,
        status=UNSET if before.status == entry.status else before.status,
        stage_id=UNSET if before.stage_id == entry.stage_id else before.stage_id,
        fields=restored_fields(before.fields, entry.fields),
    )


def _header(command: RevertImport, entry: Entry) -> dict[str, Any]:
    return {
        **header(command),
        "entry_id": entry.id,
        "content_type_id": entry.content_type_id,
    }


def _record(
    command: RevertImport, recorded: ImportRecorded, decisions: _Decisions
) -> ImportReverted:
    return ImportReverted(
        **header(command),
        import_id=command.import_id,
        content_type_id=recorded.content_type_id,
        deleted=len(decisions.deletes),
        restored=len(decisions.restores),
        entries=tuple(decisions.entries),
    )
