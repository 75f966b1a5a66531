"""Imports: many new entries of one type, appended as one."""

from __future__ import annotations

from collections.abc import Sequence

from write_side.commands import ImportEntries
from write_side.decision import Decision, check_of, now
from write_side.domain.content_type import ContentType
from write_side.domain.events import EntryCreated, ImportRecorded
from write_side.domain.identity import entry_stream, import_stream
from write_side.domain.refusals import ImportIdTaken, InvalidEntry
from write_side.domain.text import check_text
from write_side.domain.values import targets
from write_side.handlers.checks import check_targets
from write_side.handlers.entries import claim_of, created_entry
from write_side.repository import Repository
from write_side.store.append import ENTRIES, Appended, Use
from write_side.store.mapper import StreamEvent

LONGEST_ID = 200


async def import_entries(command: ImportEntries, repository: Repository) -> Decision:
    """All entries or none. The same import id has no effect the second time, whatever comes with
    it then: the answer is what was recorded (readings, «Import and export»)."""
    _check(command)
    content_type = await repository.content_type(command.scope, command.content_type_slug)
    recorded = await _recorded(command, content_type, repository)
    if recorded is not None:
        return Decision(recorded=recorded, content_type=content_type)
    created = [created_entry(entry, content_type) for entry in command.entries]
    await _check_targets(command, content_type, created, repository)
    return Decision(
        events=[
            StreamEvent(import_stream(command.import_id), 1, _record(command, content_type)),
            *(StreamEvent(entry_stream(entry.entry_id), 1, entry) for entry in created),
        ],
        claims=[claim_of(command.scope, entry) for entry in created],
        type_checks=[check_of(content_type)],
        uses=[Use(command.scope, ENTRIES, len(created))],
        content_type=content_type,
    )


def _check(command: ImportEntries) -> None:
    check_text(command.import_id, "The import id")
    check_text(command.file_name, "The name of the file")
    if not 0 < len(command.import_id) <= LONGEST_ID:
        raise InvalidEntry(f"An import id has 1 to {LONGEST_ID} characters")
    for entry in command.entries:
        place = (entry.scope, entry.content_type_slug)
        assert place == (command.scope, command.content_type_slug), "an import is of one type"


async def _recorded(
    command: ImportEntries, content_type: ContentType, repository: Repository
) -> Appended | None:
    found = await repository.find_import(command.import_id)
    if found is None:
        return None
    recorded, appended = found
    place = (recorded.workspace, recorded.environment, recorded.content_type_id)
    # Import ids are the installation's: what another workspace imported is not to be seen here.
    if place != (command.scope.workspace, command.scope.environment, content_type.id):
        raise ImportIdTaken(command.import_id)
    return appended


async def _check_targets(
    command: ImportEntries,
    content_type: ContentType,
    created: Sequence[EntryCreated],
    repository: Repository,
) -> None:
    """Rows may refer to one another, in any order and in cycles."""
    fields = content_type.value_fields
    found = [target for entry in created for target in targets(fields, entry.fields)]
    coming = {entry.entry_id: content_type.slug for entry in created}
    await check_targets(command.scope, found, repository, coming)


def _record(command: ImportEntries, content_type: ContentType) -> ImportRecorded:
    return ImportRecorded(
        workspace=command.scope.workspace,
        environment=command.scope.environment,
        actor=command.actor,
        at=now(),
        request_id=command.request_id,
        import_id=command.import_id,
        content_type_id=content_type.id,
        file_name=command.file_name,
        created=len(command.entries),
        skipped=command.skipped,
    )
