"""Imports: many new and changed entries of one type in one append, and their column mappings."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from msgspec import Struct

from write_side.commands import CreateEntry, ImportEntries, SaveImportMapping, UpdateEntry
from write_side.decision import Decision, header
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry, projected_bytes
from write_side.domain.events import EntryCreated, EntryUpdated, ImportMappingSaved, ImportRecorded
from write_side.domain.identity import Scope, entry_stream, import_mapping_stream, import_stream
from write_side.domain.refusals import FileMismatch, ImportIdTaken, InvalidEntry, UnknownEntry
from write_side.domain.text import check_text
from write_side.domain.values import Target
from write_side.handlers.checks import check_targets, check_version
from write_side.handlers.entries import (
    checked_creation,
    checked_update,
    claim_of,
    command_parts,
    creation_refusal,
)
from write_side.repository import Repository
from write_side.store.append import ENTRIES, Use
from write_side.store.mapper import StreamEvent
from write_side.waiting import in_slices, in_thread_if_large

LONGEST_ID = 200


class _Decisions(Struct):
    """The events decided so far, and the entries after them."""

    entries: dict[str, Entry]
    events: list[StreamEvent] = []
    created: list[EntryCreated] = []
    targets: list[Target] = []
    projected: int = 0

    def decide(self, row: CreateEntry | UpdateEntry, content_type: ContentType) -> None:
        """Raises VersionConflict if an entry has changed since the import was checked."""
        if isinstance(row, CreateEntry):
            created, after, found = checked_creation(row, content_type)
            self.created.append(created)
            self.take(created, after, found)
            return
        entry = self.entries.get(row.entry_id)
        if entry is None or entry.content_type_id != content_type.id:
            raise UnknownEntry
        check_version(row.expected_version, entry)
        updated, after, found = checked_update(row, entry, content_type)
        if updated.changes_anything:
            self.take(updated, after, found)

    def take(
        self, event: EntryCreated | EntryUpdated, after: Entry, found: Iterable[Target]
    ) -> None:
        self.entries[after.id] = after
        self.targets.extend(found)
        self.projected += projected_bytes(after)
        self.events.append(StreamEvent(entry_stream(after.id), after.version, event))


async def import_entries(command: ImportEntries, repository: Repository) -> Decision:
    """All entries or none. A second import of the file with the same id has no effect, even with
    other rows: it returns what was recorded (behaviour.md §4.6)."""
    check_import_id(command.import_id)
    check_text(command.file_name, "The name of the file")
    content_type = await repository.content_type(command.scope, command.content_type_slug)
    if (found := await repository.find_import(command.import_id)) is not None:
        recorded, appended = found
        check_same_import(
            recorded, command.import_id, command.scope, content_type, command.fingerprint
        )
        return Decision(recorded=appended, content_type=content_type)
    decisions = await _decide(command, content_type, repository)
    # Rows may refer to one another, in any order and in cycles.
    new_entries = {created.entry_id: content_type.slug for created in decisions.created}
    await check_targets(command.scope, decisions.targets, repository, new_entries)
    record = _record(command, content_type, decisions)
    claims = [claim_of(command.scope, created) for created in decisions.created]
    return Decision(
        events=[StreamEvent(import_stream(command.import_id), 1, record), *decisions.events],
        claims=claims,
        type_checks=[content_type],
        uses=[Use(command.scope, ENTRIES, len(decisions.created))],
        refusal=partial(creation_refusal, claims),
        content_type=content_type,
        projected=decisions.projected,
        is_large=True,
    )


def check_import_id(import_id: str) -> None:
    check_text(import_id, "The import id")
    if not 0 < len(import_id) <= LONGEST_ID:
        raise InvalidEntry(f"An import id has 1 to {LONGEST_ID} characters")


def check_same_import(
    recorded: ImportRecorded,
    import_id: str,
    scope: Scope,
    content_type: ContentType,
    fingerprint: str,
) -> None:
    """Raises ImportIdTaken, and FileMismatch if the fingerprint is that of another file."""
    place = (recorded.workspace, recorded.environment, recorded.content_type_id)
    # All workspaces share the import ids, and none may see the imports of another.
    if place != (scope.workspace, scope.environment, content_type.id):
        raise ImportIdTaken(import_id)
    if recorded.fingerprint and recorded.fingerprint != fingerprint:
        raise FileMismatch(import_id, recorded.file_name)


async def _decide(
    command: ImportEntries, content_type: ContentType, repository: Repository
) -> _Decisions:
    ids = {row.entry_id for row in command.entries if isinstance(row, UpdateEntry)}
    decisions = _Decisions(await repository.entries(command.scope, ids))
    async for row in in_slices(command.entries):
        assert row.scope == command.scope, "an import has one scope"
        if isinstance(row, CreateEntry):
            assert row.content_type_slug == command.content_type_slug, "an import has one type"
        size = command_parts(row, decisions.entries.get(row.entry_id or ""))
        await in_thread_if_large(size, decisions.decide, row, content_type)
    return decisions


def _record(
    command: ImportEntries, content_type: ContentType, decisions: _Decisions
) -> ImportRecorded:
    return ImportRecorded(
        **header(command),
        import_id=command.import_id,
        content_type_id=content_type.id,
        file_name=command.file_name,
        language=command.language,
        by=command.by,
        created=len(decisions.created),
        updated=len(decisions.events) - len(decisions.created),
        unchanged=command.unchanged,
        skipped=command.skipped,
        failed=command.failed,
        rows=command.rows,
        fingerprint=command.fingerprint,
    )


async def save_import_mapping(command: SaveImportMapping, repository: Repository) -> Decision:
    """Changes nothing if the saved mapping is the same."""
    content_type = await repository.content_type(command.scope, command.content_type_slug)
    for column in command.columns:
        check_text(column.heading, "A heading")
        check_text(column.target, "The target of a column")
    version, saved = await repository.import_mapping(content_type.id)
    if saved is not None and saved.columns == command.columns:
        return Decision(content_type=content_type)
    event = ImportMappingSaved(
        **header(command),
        content_type_id=content_type.id,
        columns=command.columns,
    )
    return Decision(
        events=[StreamEvent(import_mapping_stream(content_type.id), version + 1, event)],
        content_type=content_type,
    )
