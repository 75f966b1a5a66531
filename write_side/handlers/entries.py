"""Entries: create, update, translate, change status, move to a stage, delete."""

from __future__ import annotations

from typing import TypeVar

from msgspec import UNSET, Raw, UnsetType

from write_side.commands import (
    ChangeStatus,
    CreateEntry,
    DeleteEntry,
    MoveToStage,
    TranslateEntry,
    UpdateEntry,
)
from write_side.decision import Decision, check_of, now
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry, changes, check_size, chosen, evolve, translates
from write_side.domain.events import EntryCreated, EntryDeleted, EntryUpdated, Translation
from write_side.domain.identity import Scope, entry_stream, is_id, new_id
from write_side.domain.refusals import InvalidEntry
from write_side.domain.slugs import slug_from, slug_hash
from write_side.domain.values import Target, checked, missing, targets
from write_side.handlers.checks import (
    check_locale,
    check_required,
    check_targets,
    check_texts,
    check_version,
    checked_stage,
    checked_translations,
)
from write_side.repository import Repository
from write_side.store.append import ENTRIES, EntryClaim, Use
from write_side.store.mapper import StreamEvent

T = TypeVar("T")


async def create_entry(command: CreateEntry, repository: Repository) -> Decision:
    """Refusals in the order of readings.md: unknown type, fields and references; then, inside the
    append, slug and plan."""
    content_type = await repository.content_type(command.scope, command.content_type_slug)
    created = created_entry(command, content_type)
    found = list(targets(content_type.value_fields, created.fields))
    await check_targets(command.scope, found, repository)
    return Decision(
        events=[StreamEvent(entry_stream(created.entry_id), 1, created)],
        claims=[claim_of(command.scope, created)],
        type_checks=[check_of(content_type)],
        uses=[Use(command.scope, ENTRIES, 1)],
        content_type=content_type,
    )


def created_entry(command: CreateEntry, content_type: ContentType) -> EntryCreated:
    """The event of a create, all checked but what its values refer to."""
    if command.entry_id is not None and not is_id(command.entry_id):
        raise InvalidEntry(f"The id {command.entry_id!r} of an entry must be a UUID in lower case")
    fields = checked(content_type.value_fields, command.fields)
    created = EntryCreated(
        workspace=command.scope.workspace,
        environment=command.scope.environment,
        actor=command.actor,
        at=now(),
        request_id=command.request_id,
        entry_id=command.entry_id or new_id(),
        content_type_id=content_type.id,
        slug=command.slug or slug_from(command.title),
        title=command.title,
        language=command.language,
        status=command.status,
        stage_id=checked_stage(content_type, command.stage_id) or content_type.first_stage,
        fields=fields,
        translations=checked_translations(content_type, command.language, command.translations),
    )
    check_texts(created.title, created.slug)
    check_locale(created.language, "language")
    check_size(evolve(None, created))
    if created.status == "published":
        check_required(content_type, fields)
    return created


def claim_of(scope: Scope, created: EntryCreated) -> EntryClaim:
    return EntryClaim(
        created.entry_id, scope, created.content_type_id, created.language, created.slug
    )


async def update_entry(command: UpdateEntry, repository: Repository) -> Decision:
    """One event for all that changes; none where nothing does."""
    entry = await repository.entry(command.scope, command.entry_id)
    check_version(command.expected_version, entry)
    content_type = await repository.content_type_by_id(entry.content_type_id)
    updated = await _updated(command, entry, content_type, repository)
    if not changes(entry, updated):
        return Decision(content_type=content_type)
    return Decision(
        events=[StreamEvent(entry_stream(entry.id), entry.version + 1, updated)],
        type_checks=[check_of(content_type)],
        changes=_renaming(entry, updated),
        content_type=content_type,
    )


async def _updated(
    command: UpdateEntry, entry: Entry, content_type: ContentType, repository: Repository
) -> EntryUpdated:
    updated = updated_entry(command, entry, content_type)
    new = new_targets(updated, entry, content_type)
    await check_targets(command.scope, new, repository)
    return updated


def updated_entry(command: UpdateEntry, entry: Entry, content_type: ContentType) -> EntryUpdated:
    """The event of an update, all checked but what its values newly refer to."""
    fields = checked(content_type.value_fields, command.fields)
    if chosen(command.status, entry.status) == "published":
        check_required(content_type, {**entry.fields, **fields}, lacking(content_type, entry))
    translations = checked_translations(content_type, entry.language, command.translations)
    updated = EntryUpdated(
        workspace=entry.workspace,
        environment=entry.environment,
        actor=command.actor,
        at=now(entry.updated_at),
        request_id=command.request_id,
        entry_id=entry.id,
        content_type_id=entry.content_type_id,
        title=_different(command.title, entry.title),
        slug=_different(command.slug, entry.slug),
        status=_different(command.status, entry.status),
        stage_id=_different(_new_stage(content_type, command.stage_id), entry.stage_id),
        fields={slug: value for slug, value in fields.items() if _differs(entry, slug, value)},
        translations={
            locale: translation
            for locale, translation in translations.items()
            if translates(entry, locale, translation)
        },
    )
    check_texts(chosen(updated.title, entry.title), chosen(updated.slug, entry.slug))
    check_size(evolve(entry, updated))
    return updated


def new_targets(updated: EntryUpdated, entry: Entry, content_type: ContentType) -> list[Target]:
    """What the update refers to and the entry did not: what a field refers to already is accepted,
    though it may be gone by now."""
    held = {target.held_as for target in targets(content_type.value_fields, entry.fields)}
    found = targets(content_type.value_fields, updated.fields)
    return [target for target in found if target.held_as not in held]


def lacking(content_type: ContentType, entry: Entry) -> list[str]:
    """What a published entry lacks already: a field that became required later stops no other
    change of it."""
    return missing(content_type.value_fields, entry.fields) if entry.status == "published" else []


async def translate_entry(command: TranslateEntry, repository: Repository) -> Decision:
    return await update_entry(
        UpdateEntry(
            actor=command.actor,
            request_id=command.request_id,
            scope=command.scope,
            entry_id=command.entry_id,
            translations={command.locale: Translation(command.title, command.fields)},
        ),
        repository,
    )


async def change_status(command: ChangeStatus, repository: Repository) -> Decision:
    return await update_entry(
        UpdateEntry(
            actor=command.actor,
            request_id=command.request_id,
            scope=command.scope,
            entry_id=command.entry_id,
            status=command.status,
        ),
        repository,
    )


async def move_to_stage(command: MoveToStage, repository: Repository) -> Decision:
    return await update_entry(
        UpdateEntry(
            actor=command.actor,
            request_id=command.request_id,
            scope=command.scope,
            entry_id=command.entry_id,
            stage_id=command.stage_id,
        ),
        repository,
    )


async def delete_entry(command: DeleteEntry, repository: Repository) -> Decision:
    """Frees slug and quota; references to it are left dangling (they read as the id)."""
    entry = await repository.entry(command.scope, command.entry_id)
    check_version(command.expected_version, entry)
    deleted = EntryDeleted(
        workspace=entry.workspace,
        environment=entry.environment,
        actor=command.actor,
        at=now(entry.updated_at),
        request_id=command.request_id,
        entry_id=entry.id,
        content_type_id=entry.content_type_id,
    )
    return Decision(
        events=[StreamEvent(entry_stream(entry.id), entry.version + 1, deleted)],
        uses=[Use(command.scope, ENTRIES, -1)],
        changes={"entries": [{"op": "release", "id": entry.id}]},
    )


def _renaming(entry: Entry, updated: EntryUpdated) -> dict[str, object] | None:
    if isinstance(updated.slug, UnsetType):
        return None
    return {
        "entries": [{"op": "rename", "id": entry.id, "slug_hash": slug_hash(updated.slug).hex()}]
    }


def _different(given: T | UnsetType, current: T) -> T | UnsetType:
    return UNSET if given == current else given


def _differs(entry: Entry, slug: str, value: Raw) -> bool:
    return bytes(entry.fields.get(slug, Raw(b"null"))) != bytes(value)


def _new_stage(content_type: ContentType, given: str | UnsetType | None) -> str | UnsetType | None:
    return given if isinstance(given, UnsetType) else checked_stage(content_type, given)
