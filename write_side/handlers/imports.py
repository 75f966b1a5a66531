"""Imports: many new and changed entries of one type, appended as one."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field

from write_side.commands import CreateEntry, ImportEntries, UpdateEntry
from write_side.decision import Decision, check_of, now
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry, changes, evolve
from write_side.domain.events import EntryCreated, EntryUpdated, ImportRecorded
from write_side.domain.identity import Scope, entry_stream, import_stream
from write_side.domain.refusals import ImportIdTaken, InvalidEntry, UnknownEntry
from write_side.domain.text import check_text
from write_side.domain.values import Target, targets
from write_side.handlers.checks import check_targets, check_version
from write_side.handlers.entries import claim_of, created_entry, new_targets, updated_entry
from write_side.repository import Repository
from write_side.slices import in_slices
from write_side.store.append import ENTRIES, Appended, Use
from write_side.store.mapper import StreamEvent

LONGEST_ID = 200


class _Made(Struct):
    """What has been decided of the rows so far: their events, and the entries after them."""

    entries: dict[str, Entry]
    events: list[StreamEvent] = field(default_factory=list)
    created: list[EntryCreated] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def take(self, event: EntryCreated | EntryUpdated) -> None:
        before = self.entries.get(event.entry_id) if isinstance(event, EntryUpdated) else None
        after = evolve(before, event)
        self.entries[after.id] = after
        self.events.append(StreamEvent(entry_stream(after.id), after.version, event))


async def import_entries(command: ImportEntries, repository: Repository) -> Decision:
    """All entries or none. The same import id has no effect the second time, whatever comes with
    it then: the answer is what was recorded (readings, «Import and export»)."""
    check_import_id(command.import_id)
    check_text(command.file_name, "The name of the file")
    content_type = await repository.content_type(command.scope, command.content_type_slug)
    recorded = await recorded_before(repository, command.scope, content_type, command.import_id)
    if recorded is not None:
        return Decision(recorded=recorded, content_type=content_type)
    began = now()
    made = await _made(command, content_type, repository)
    # Rows may refer to one another, in any order and in cycles.
    coming = {created.entry_id: content_type.slug for created in made.created}
    await check_targets(command.scope, made.targets, repository, coming)
    record = _record(command, content_type, began, made)
    return Decision(
        events=[StreamEvent(import_stream(command.import_id), 1, record), *made.events],
        claims=[claim_of(command.scope, created) for created in made.created],
        type_checks=[check_of(content_type)],
        uses=[Use(command.scope, ENTRIES, len(made.created))],
        content_type=content_type,
        apart=True,
    )


def check_import_id(import_id: str) -> None:
    check_text(import_id, "The import id")
    if not 0 < len(import_id) <= LONGEST_ID:
        raise InvalidEntry(f"An import id has 1 to {LONGEST_ID} characters")


async def recorded_before(
    repository: Repository, scope: Scope, content_type: ContentType, import_id: str
) -> Appended | None:
    """Where the events of the import of this id stand. Raises ImportIdTaken."""
    found = await repository.find_import(import_id)
    if found is None:
        return None
    recorded, appended = found
    place = (recorded.workspace, recorded.environment, recorded.content_type_id)
    # Import ids are the installation's: what another workspace imported is not to be seen here.
    if place != (scope.workspace, scope.environment, content_type.id):
        raise ImportIdTaken(import_id)
    return appended


async def _made(command: ImportEntries, content_type: ContentType, repository: Repository) -> _Made:
    """Raises VersionConflict where an entry is not what the import was made for."""
    ids = {row.entry_id for row in command.entries if isinstance(row, UpdateEntry)}
    made = _Made(await repository.entries(command.scope, ids))
    fields = content_type.value_fields
    async for row in in_slices(command.entries):
        assert row.scope == command.scope, "an import is of one place"
        if isinstance(row, CreateEntry):
            assert row.content_type_slug == command.content_type_slug, "an import is of one type"
            created = created_entry(row, content_type)
            made.created.append(created)
            made.targets.extend(targets(fields, created.fields))
            made.take(created)
            continue
        entry = _of_type(made.entries.get(row.entry_id), content_type)
        check_version(row.expected_version, entry)
        updated = updated_entry(row, entry, content_type)
        if changes(entry, updated):
            made.targets.extend(new_targets(updated, entry, content_type))
            made.take(updated)
    return made


def _of_type(entry: Entry | None, content_type: ContentType) -> Entry:
    if entry is None or entry.content_type_id != content_type.id:
        raise UnknownEntry
    return entry


def _record(
    command: ImportEntries, content_type: ContentType, at: datetime, made: _Made
) -> ImportRecorded:
    return ImportRecorded(
        workspace=command.scope.workspace,
        environment=command.scope.environment,
        actor=command.actor,
        at=at,
        request_id=command.request_id,
        import_id=command.import_id,
        content_type_id=content_type.id,
        file_name=command.file_name,
        language=command.language,
        by=command.by,
        created=len(made.created),
        updated=len(made.events) - len(made.created),
        unchanged=command.unchanged,
        skipped=command.skipped,
        failed=command.failed,
        rows=command.rows,
    )
