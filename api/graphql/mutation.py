"""The mutations and their inputs: each becomes a command of the write side.

A refusal is ``success: false`` with the message that REST would return, and appends nothing. An
unexpected error is in ``errors``.

An absent value changes nothing; an empty slug counts as absent. An explicit null empties a field,
removes a translated text, or moves an entry to its first stage; a title, slug or status cannot be
null.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import strawberry
from msgspec import UNSET, Raw, Struct

from api.errors import BadRequest, message_of, status_of
from api.graphql.content_entry import ContentEntry, entry_of_log
from api.graphql.context import GraphQLContext, Info
from api.graphql.types import JSON, EntryStatus, typed_field
from api.http.loop_turns import DECODE_JSON
from api.http.request_log import log_fault
from api.rest.content import FIELDS, MISSING
from api.rest.ignored_members import ignored_names
from api.rest.request_body import json_object
from write_side.commands import Command, CreateEntry, DeleteEntry, UpdateEntry
from write_side.dispatch import CommandResult, execute
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry, evolve
from write_side.domain.events import EntryCreated, Translation
from write_side.domain.identity import BASE_LANGUAGE, Scope
from write_side.domain.text import minified
from write_side.handlers.entries import command_parts, entry_parts
from write_side.repository import Repository
from write_side.waiting import in_thread_if_large


@strawberry.input(description='Texts in one locale. Null or "" removes the translation of a text.')
class TranslationInput:
    locale: str
    title: str | None = strawberry.UNSET
    fields: JSON | None = strawberry.UNSET


@strawberry.input(
    description="Without a slug, the entry gets one from its title. "
    "`fields` are values by field slug; unknown fields are ignored."
)
class CreateContentEntryInput:
    content_type_slug: str
    title: str
    slug: str | None = strawberry.UNSET
    fields: JSON | None = strawberry.UNSET
    status: EntryStatus | None = EntryStatus.draft
    language: str | None = strawberry.UNSET
    stage_id: strawberry.ID | None = strawberry.UNSET
    translations: list[TranslationInput] | None = strawberry.UNSET


@strawberry.input(
    description="Changes only what is given. `fields` are merged by slug; null empties a field."
)
class UpdateContentEntryInput:
    title: str | None = strawberry.UNSET
    slug: str | None = strawberry.UNSET
    fields: JSON | None = strawberry.UNSET
    status: EntryStatus | None = strawberry.UNSET
    stage_id: strawberry.ID | None = strawberry.UNSET
    translations: list[TranslationInput] | None = strawberry.UNSET
    expected_version: int | None = strawberry.UNSET


def _create_command(entry: CreateContentEntryInput, **command: Any) -> CreateEntry:
    """Raises BadRequest and InvalidText."""
    if not entry.content_type_slug.strip() or not entry.title.strip():
        raise BadRequest(MISSING)
    return CreateEntry(
        content_type_slug=entry.content_type_slug,
        title=entry.title,
        slug=entry.slug or None,
        fields=_values(entry.fields),
        status=entry.status.value if entry.status else "draft",
        language=entry.language or BASE_LANGUAGE,
        stage_id=entry.stage_id or None,
        translations=_translations(entry.translations),
        **command,
    )


def _update_command(changes: UpdateContentEntryInput, **command: Any) -> UpdateEntry:
    """Raises BadRequest and InvalidText."""
    for name in ("title", "slug", "status"):
        if getattr(changes, name) is None:
            raise BadRequest(f"{name} cannot be null: leave it out to keep it unchanged")
    return UpdateEntry(
        title=_or_unset(changes.title),
        slug=changes.slug or UNSET,
        status=changes.status.value if changes.status else UNSET,
        stage_id=UNSET if changes.stage_id == "" else _or_unset(changes.stage_id),
        fields=_values(changes.fields),
        translations=_translations(changes.translations),
        expected_version=None
        if changes.expected_version is strawberry.UNSET
        else changes.expected_version,
        **command,
    )


def _translations(inputs: Sequence[TranslationInput] | None) -> dict[str, Translation]:
    translations: dict[str, Translation] = {}
    for translation in inputs or ():
        if translation.locale in translations:
            raise BadRequest(
                f"translations has the locale '{translation.locale[:100]}' twice: give it once"
            )
        # In the domain, None leaves a title unchanged and "" removes its translation.
        title = None if translation.title is strawberry.UNSET else (translation.title or "")
        translations[translation.locale] = Translation(title, _values(translation.fields))
    return translations


def _values(fields: JSON | None) -> dict[str, Raw]:
    """Values by field slug, checked to the same depth as in a REST body."""
    if not fields:
        return {}
    body = json_object(minified(b'{"fields":' + bytes(fields) + b"}"), FIELDS)
    return json_object(body["fields"], FIELDS)


def _or_unset(value: Any) -> Any:
    """Converts Strawberry's UNSET to msgspec's."""
    return UNSET if value is strawberry.UNSET else value


class Write(Struct, frozen=True):
    """An executed command. ``entry_id`` is None for a new entry, whose event names it."""

    scope: Scope
    entry_id: str | None
    executed: CommandResult


@strawberry.type(description="The result of a mutation. If it was refused, `message` says why.")
class ContentEntryPayload:
    success: bool
    message: str
    write: strawberry.Private[Write | None] = None

    @typed_field(
        "The entry as this mutation left it. "
        "After an update it needs the permission `content.view`."
    )
    async def entry(self, info: Info) -> ContentEntry | None:
        if self.write is None:
            return None
        if self.write.entry_id is not None:
            info.context.check_view()
        entry, content_type = await _entry_after(self.write, info.context.repository)
        return await in_thread_if_large(entry_parts(entry), entry_of_log, entry, content_type)


@strawberry.type(description="The result of a delete. If it was refused, `message` says why.")
class DeletePayload:
    success: bool
    message: str


@strawberry.type(description="Mutations need the permission `content.edit`.")
class Mutation:
    @typed_field("Creates an entry; without a status, as a draft.")
    async def create_content_entry(
        self,
        info: Info,
        input: CreateContentEntryInput,  # noqa: A002 - the schema's name
    ) -> ContentEntryPayload:
        return await _payload(info.context, partial(_create_command, input), "created")

    @typed_field("Updates, publishes, archives or translates an entry. Changes only what is given.")
    async def update_content_entry(
        self,
        info: Info,
        id: strawberry.ID,  # noqa: A002
        input: UpdateContentEntryInput,  # noqa: A002
    ) -> ContentEntryPayload:
        make_command = partial(_update_command, input, entry_id=id)
        return await _payload(info.context, make_command, "updated")

    @typed_field(
        "Deletes an entry. Its slug becomes free and it no longer counts against the "
        "plan; references to it remain."
    )
    async def delete_content_entry(self, info: Info, id: strawberry.ID) -> DeletePayload:  # noqa: A002
        payload = await _payload(info.context, partial(DeleteEntry, entry_id=id), "deleted")
        return DeletePayload(success=payload.success, message=payload.message)


async def _payload(
    context: GraphQLContext, make_command: Callable[..., Command], verb: str
) -> ContentEntryPayload:
    # A refused mutation never waits, and a document may have a hundred, so each yields once.
    await asyncio.sleep(0)
    try:
        write = await _write(context, make_command)
    except Exception as error:
        status = status_of(error)
        if status == 500:
            raise
        if status == 503:
            log_fault(context.call.request, error)
        return ContentEntryPayload(success=False, message=message_of(error))
    message = f"Content entry was {verb}" if write.executed.events else "No changes"
    return ContentEntryPayload(success=True, message=message, write=write)


async def _write(context: GraphQLContext, make_command: Callable[..., Command]) -> Write:
    # Each mutation takes a place, even if it is refused, so that a retry gets the same places.
    place = next(context.keys.places)
    scope = context.writable()
    arguments: dict[str, Any] = {
        "actor": context.call.actor,
        "request_id": context.call.request_id,
        "scope": scope,
        **context.keys.arguments(place, scope),
    }
    turns = context.service.loop_turns
    async with turns.turn(context.call.client, DECODE_JSON, context.size):
        command = make_command(**arguments)
    reserve = context.service.limits.projection(context.call.caller)
    executed = await execute(command, context.repository, reserve)
    if isinstance(command, CreateEntry | UpdateEntry):
        context.ignored += await in_thread_if_large(
            command_parts(command), list, ignored_names(command, executed)
        )
    # A command without events was decided on the current state of the log.
    context.record_write(executed.position or await context.repository.recorder.head())
    return Write(scope, getattr(command, "entry_id", None), executed)


async def _entry_after(write: Write, repository: Repository) -> tuple[Entry, ContentType]:
    """The entry right after the command, from the log: it may not be projected yet, and later
    commands are not included. After a command without events, the current entry."""
    executed = write.executed
    content_type = executed.content_type
    assert content_type is not None
    if not executed.events:
        assert write.entry_id is not None
        return await repository.entry(write.scope, write.entry_id), content_type
    last = executed.events[-1]
    if isinstance(last.event, EntryCreated):
        return evolve(None, last.event), content_type
    assert write.entry_id is not None
    entry = await repository.entry_after(write.entry_id, last.originator_version)
    return entry, content_type
