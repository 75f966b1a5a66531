"""Entries: create, update, delete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from msgspec import UNSET, Raw, UnsetType

from write_side.commands import CreateEntry, DeleteEntry, UpdateEntry
from write_side.decision import Decision, header
from write_side.domain.cells import same
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry, evolve, projected_bytes, translates
from write_side.domain.events import EntryCreated, EntryDeleted, EntryUpdated
from write_side.domain.identity import Scope, entry_stream, is_id, new_id, slug_from, slug_hash
from write_side.domain.locales import check_locale
from write_side.domain.refusals import (
    EntryIdTaken,
    InvalidEntry,
    InvalidField,
    PlanLimitReached,
    Refused,
    SlugTaken,
)
from write_side.domain.values import (
    NULL,
    Target,
    checked,
    checked_value,
    is_unchanged,
    parts,
    targets,
)
from write_side.handlers.checks import (
    check_entry,
    check_stage,
    check_targets,
    check_version,
    checked_translations,
)
from write_side.repository import Repository
from write_side.store.append import ENTRIES, EntryClaim, Use
from write_side.store.conflicts import Conflict, IdConflict, LimitConflict, SlugConflict
from write_side.store.mapper import StreamEvent
from write_side.waiting import in_turn_if_large

T = TypeVar("T")


async def create_entry(command: CreateEntry, repository: Repository) -> Decision:
    """Refuses in the order of behaviour.md: unknown type, fields and references; then, inside the
    append, slug and plan."""
    content_type = await repository.content_type(command.scope, command.content_type_slug)
    created, after, found = await in_turn_if_large(
        repository.large_commands,
        command.scope.workspace,
        command_parts(command),
        checked_creation,
        command,
        content_type,
    )
    await check_targets(command.scope, found, repository)
    claims = [claim_of(command.scope, created)]
    return Decision(
        events=[StreamEvent(entry_stream(created.entry_id), 1, created)],
        claims=claims,
        type_checks=[content_type],
        uses=[Use(command.scope, ENTRIES, 1)],
        refusal=partial(creation_refusal, claims),
        content_type=content_type,
        projected=projected_bytes(after),
    )


def command_parts(command: CreateEntry | UpdateEntry, before: Entry | None = None) -> int:
    """The ``parts`` of its values, including those of translations, and of the entry that it
    updates."""
    translated = [translation.fields for translation in command.translations.values()]
    return parts(command.fields, *translated) + entry_parts(before)


def entry_parts(entry: Entry | None) -> int:
    """See ``parts``: of the values that a decision on an existing entry may read."""
    return 0 if entry is None else parts(entry.fields)


def checked_creation(
    command: CreateEntry, content_type: ContentType
) -> tuple[EntryCreated, Entry, list[Target]]:
    """The event of a create, the new entry, and the targets of its references. The targets are not
    checked yet; everything else is."""
    created = creation_event(command, content_type)
    check_locale(created.language, "language")
    after = evolve(None, created)
    check_entry(content_type, after)
    return created, after, list(targets(content_type.referring_fields, created.fields))


def creation_event(command: CreateEntry, content_type: ContentType) -> EntryCreated:
    """The event of a create, with only its values checked."""
    if command.entry_id is not None and not is_id(command.entry_id):
        raise InvalidEntry(f"The id {command.entry_id!r} of an entry must be a UUID in lower case")
    fields = checked(content_type.value_fields, command.fields)
    check_stage(content_type, command.stage_id)
    return EntryCreated(
        **header(command),
        entry_id=command.entry_id or new_id(),
        content_type_id=content_type.id,
        slug=command.slug or slug_from(command.title),
        title=command.title,
        language=command.language,
        status=command.status,
        stage_id=command.stage_id or content_type.first_stage,
        fields=fields,
        translations=checked_translations(content_type, command.language, command.translations),
    )


def creation_refusal(claims: Sequence[EntryClaim], conflict: Conflict) -> Refused | Conflict:
    """The refusal for a conflict of a command that creates entries."""
    match conflict:
        case IdConflict(claim=n):
            return EntryIdTaken(claims[n].entry_id)
        case SlugConflict(claim=n):
            return SlugTaken(claims[n].slug)
        case LimitConflict(bound=bound):
            return PlanLimitReached(bound, "entry", "entries")
    return conflict


def claim_of(scope: Scope, created: EntryCreated) -> EntryClaim:
    return EntryClaim(
        created.entry_id, scope, created.content_type_id, created.language, created.slug
    )


async def update_entry(command: UpdateEntry, repository: Repository) -> Decision:
    """One event for all changes; none if nothing changes."""
    entry = await repository.entry(command.scope, command.entry_id)
    check_version(command.expected_version, entry)
    content_type = await repository.content_type_by_id(entry.content_type_id)
    updated, after, found = await in_turn_if_large(
        repository.large_commands,
        command.scope.workspace,
        command_parts(command, entry),
        checked_update,
        command,
        entry,
        content_type,
    )
    await check_targets(command.scope, found, repository)
    if not updated.changes_anything:
        return Decision(content_type=content_type)
    renames = []
    if isinstance(updated.slug, str):
        digest = slug_hash(updated.slug).hex()
        renames = [{"op": "rename", "id": entry.id, "slug_hash": digest}]
    return Decision(
        events=[StreamEvent(entry_stream(entry.id), entry.version + 1, updated)],
        type_checks=[content_type],
        changes={"entries": renames} if renames else None,
        refusal=partial(_rename_refusal, updated),
        content_type=content_type,
        projected=projected_bytes(after),
    )


def checked_update(
    command: UpdateEntry, entry: Entry, content_type: ContentType
) -> tuple[EntryUpdated, Entry, list[Target]]:
    """The event of an update, the entry after it, and the targets of its new references. The
    targets are not checked yet; everything else is."""
    updated = update_event(command, entry, content_type)
    after = evolve(entry, updated)
    check_entry(content_type, after, entry)
    return updated, after, _new_targets(updated, (entry.fields, command.restored), content_type)


def update_event(command: UpdateEntry, entry: Entry, content_type: ContentType) -> EntryUpdated:
    """The event of an update, with only its values checked."""
    fields = _changed_values(command, entry, content_type)
    translations = checked_translations(content_type, entry.language, command.translations)
    check_stage(content_type, command.stage_id)
    return EntryUpdated(
        **header(command),
        entry_id=entry.id,
        content_type_id=entry.content_type_id,
        title=_different(command.title, entry.title),
        slug=_different(command.slug, entry.slug),
        status=_different(command.status, entry.status),
        stage_id=_different_stage(command.stage_id, entry, content_type),
        fields=fields,
        translations={
            locale: translation
            for locale, translation in translations.items()
            if translates(entry, locale, translation)
        },
    )


def _changed_values(
    command: UpdateEntry, entry: Entry, content_type: ContentType
) -> dict[str, Raw]:
    """The values of the command that differ from the entry's, checked. A value that the entry has
    now, or had in the restored version, is not refused: it may be invalid only because an option
    has been removed since."""
    changed: dict[str, Raw] = {}
    for field in content_type.value_fields:
        if field.slug not in command.fields:
            continue
        given, current = command.fields[field.slug], entry.fields.get(field.slug, NULL)
        try:
            value = checked_value(field, given, field.slug)
        except InvalidField:
            held = (current, command.restored.get(field.slug, NULL))
            kept = next((one for one in held if same(field, given, one)), None)
            if kept is None:
                raise
            value = kept
        if not is_unchanged(field, value, current):
            changed[field.slug] = value
    return changed


def _new_targets(
    updated: EntryUpdated, accepted: Iterable[Mapping[str, Raw]], content_type: ContentType
) -> list[Target]:
    """The references that the update adds. A target that the field has in one of the accepted
    values may have been deleted since."""
    changed = [field for field in content_type.referring_fields if field.slug in updated.fields]
    held = {target.reference_key for values in accepted for target in targets(changed, values)}
    found = targets(changed, updated.fields)
    return [target for target in found if target.reference_key not in held]


async def delete_entry(command: DeleteEntry, repository: Repository) -> Decision:
    """Frees slug and quota. References to the entry remain and are returned as its id."""
    entry = await repository.entry(command.scope, command.entry_id)
    check_version(command.expected_version, entry)
    deleted = EntryDeleted(
        **header(command),
        entry_id=entry.id,
        content_type_id=entry.content_type_id,
    )
    return Decision(
        events=[StreamEvent(entry_stream(entry.id), entry.version + 1, deleted)],
        uses=[Use(command.scope, ENTRIES, -1)],
        changes={"entries": [{"op": "release", "id": entry.id}]},
    )


def _rename_refusal(updated: EntryUpdated, conflict: Conflict) -> Refused | Conflict:
    if isinstance(conflict, SlugConflict) and isinstance(updated.slug, str):
        return SlugTaken(updated.slug)
    return conflict


def _different_stage(
    stage_id: str | UnsetType | None, entry: Entry, content_type: ContentType
) -> str | UnsetType | None:
    """None selects the first stage; an entry without a stage is already in it."""
    first = content_type.first_stage
    return _different(first if stage_id is None else stage_id, entry.stage_id or first)


def _different(value: T | UnsetType, current: T) -> T | UnsetType:
    return UNSET if value == current else value
