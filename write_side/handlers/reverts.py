"""Imports taken back, by events that undo theirs; what was changed since is left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

from msgspec import UNSET, Raw, Struct, field

from write_side.commands import RevertImport
from write_side.decision import Decision, check_of, now
from write_side.domain.entry import Entry, changes, contents
from write_side.domain.events import (
    EntryDeleted,
    EntryEvent,
    EntryUpdated,
    ImportRecorded,
    ImportReverted,
    RevertedEntry,
)
from write_side.domain.identity import entry_stream, import_stream
from write_side.domain.refusals import UnknownImport
from write_side.domain.values import NULL
from write_side.repository import Repository
from write_side.store.append import ENTRIES, Appended, Use
from write_side.store.mapper import StreamEvent


class _Undone(Struct):
    """What has been decided of the import's entries so far."""

    entries: list[RevertedEntry] = field(default_factory=list)
    deletes: list[StreamEvent] = field(default_factory=list)
    restores: list[StreamEvent] = field(default_factory=list)


class _Life(Struct):
    """One of the import's entries: as it is, with its last event, as the import left it, and as it
    was before, if it was."""

    entry: Entry
    last: EntryEvent
    then: Entry | None = None
    before: Entry | None = None

    def take(self, entry: Entry, event: EntryEvent, first_made: int, last_made: int) -> None:
        self.entry, self.last = entry, event
        if entry.version < first_made:
            self.before = entry
        if entry.version <= last_made:
            self.then = entry


async def revert_import(command: RevertImport, repository: Repository) -> Decision:
    """Nothing the second time: the answer is what was recorded. Raises UnknownImport."""
    recorded, appended = await imported(command, repository)
    reverted = await repository.find_revert(command.import_id)
    if reverted is not None:
        return Decision(recorded=reverted[1])
    undone = await _undone(command, appended, repository)
    content_type = await repository.content_type_by_id(recorded.content_type_id)
    ids = [each.entry_id for each in undone.entries if each.outcome == "deleted"]
    return Decision(
        events=[
            StreamEvent(import_stream(command.import_id), 2, _record(command, recorded, undone)),
            *undone.deletes,
            *undone.restores,
        ],
        # A type that is gone took all its entries with it: nothing is restored then.
        type_checks=[check_of(content_type)] if undone.restores else [],
        uses=[Use(command.scope, ENTRIES, -len(ids))] if ids else [],
        changes={"entries": [{"op": "release", "id": each} for each in ids]} if ids else None,
        apart=True,
    )


async def imported(
    command: RevertImport, repository: Repository
) -> tuple[ImportRecorded, Appended]:
    """What was recorded of the import. One of another place does not exist for this one."""
    found = await repository.find_import(command.import_id)
    place = (command.scope.workspace, command.scope.environment)
    if found is None or (found[0].workspace, found[0].environment) != place:
        raise UnknownImport(command.import_id)
    return found


async def _undone(command: RevertImport, appended: Appended, repository: Repository) -> _Undone:
    undone = _Undone()
    async for life in _lives(await _events(appended, repository), repository):
        _undo(command, life, undone)
    return undone


async def _lives(
    done: Mapping[str, tuple[int, int]], repository: Repository
) -> AsyncIterator[_Life]:
    life: _Life | None = None
    async for entry, event in repository.lives(done):
        if life is None or life.entry.id != entry.id:
            if life is not None:
                yield life
            life = _Life(entry, event)
        first, last = done[entry.id]
        life.take(entry, event, first, last)
    if life is not None:
        yield life


async def _events(appended: Appended, repository: Repository) -> dict[str, tuple[int, int]]:
    """Entry id → the first and the last version that the import made of it."""
    found: dict[str, tuple[int, int]] = {}
    for row in await repository.recorder.log(appended.position, appended.events - 1):
        entry_id, version = row["originator_id"].partition("/")[2], row["originator_version"]
        first, _ = found.get(entry_id, (version, version))
        found[entry_id] = (first, version)
    return found


def _undo(command: RevertImport, life: _Life, undone: _Undone) -> None:
    entry, then, before = life.entry, life.then, life.before
    assert then is not None
    stream, version = entry_stream(entry.id), entry.version + 1
    # What was changed and changed back, as by a later import that was taken back, is unchanged.
    if entry.deleted or contents(entry) != contents(then):
        undone.entries.append(_left(entry, life.last))
    elif before is None:
        undone.entries.append(RevertedEntry(entry.id, entry.slug, "deleted"))
        deleted = EntryDeleted(**_said(command, entry))
        undone.deletes.append(StreamEvent(stream, version, deleted))
    else:
        restored = _restored(command, before, entry)
        if changes(entry, restored):
            undone.entries.append(RevertedEntry(entry.id, entry.slug, "restored"))
            undone.restores.append(StreamEvent(stream, version, restored))


def _left(entry: Entry, last: EntryEvent) -> RevertedEntry:
    outcome: Literal["gone", "changed"] = "gone" if entry.deleted else "changed"
    return RevertedEntry(entry.id, entry.slug, outcome, last.at, last.actor)


def _restored(command: RevertImport, before: Entry, entry: Entry) -> EntryUpdated:
    """Checked by nobody: it was so before. Translations stay as they are."""
    return EntryUpdated(
        **_said(command, entry),
        title=UNSET if before.title == entry.title else before.title,
        status=UNSET if before.status == entry.status else before.status,
        stage_id=UNSET if before.stage_id == entry.stage_id else before.stage_id,
        fields=_differing(before.fields, entry.fields),
    )


def _differing(before: Mapping[str, Raw], now_held: Mapping[str, Raw]) -> dict[str, Raw]:
    slugs = dict.fromkeys((*now_held, *before))
    held = {slug: (before.get(slug, NULL), now_held.get(slug, NULL)) for slug in slugs}
    return {slug: was for slug, (was, is_now) in held.items() if bytes(was) != bytes(is_now)}


def _said(command: RevertImport, entry: Entry) -> dict[str, Any]:
    return {
        "workspace": entry.workspace,
        "environment": entry.environment,
        "actor": command.actor,
        "at": now(entry.updated_at),
        "request_id": command.request_id,
        "entry_id": entry.id,
        "content_type_id": entry.content_type_id,
    }


def _record(command: RevertImport, recorded: ImportRecorded, undone: _Undone) -> ImportReverted:
    return ImportReverted(
        workspace=recorded.workspace,
        environment=recorded.environment,
        actor=command.actor,
        at=now(recorded.at),
        request_id=command.request_id,
        import_id=command.import_id,
        content_type_id=recorded.content_type_id,
        deleted=len(undone.deletes),
        restored=len(undone.restores),
        entries=tuple(undone.entries),
    )
