"""Content types: create, revise, remove."""

from __future__ import annotations

from functools import partial

from write_side.commands import CreateContentType, RemoveContentType, ReviseContentType
from write_side.decision import Decision, header
from write_side.domain.definition import check_definition, check_slug, check_unchanged_kinds
from write_side.domain.events import ContentTypeCreated, ContentTypeRemoved, ContentTypeRevised
from write_side.domain.identity import Scope, content_type_stream, new_id
from write_side.domain.refusals import ContentTypeInUse, ContentTypeTaken, PlanLimitReached, Refused
from write_side.handlers.checks import check_scope
from write_side.repository import Repository
from write_side.store.append import CONTENT_TYPES, Use
from write_side.store.conflicts import (
    Conflict,
    ContentTypeConflict,
    ContentTypeNotEmpty,
    LimitConflict,
)
from write_side.store.mapper import StreamEvent


async def create_content_type(command: CreateContentType, repository: Repository) -> Decision:
    scope = command.scope
    check_slug(command.slug, "Content type slug")
    check_definition(command.name, command.fields, command.stages)
    await check_scope(scope, repository)
    created = ContentTypeCreated(
        **header(command),
        content_type_id=new_id(),
        slug=command.slug,
        name=command.name,
        fields=command.fields,
        stages=command.stages,
    )
    return Decision(
        events=[StreamEvent(content_type_stream(created.content_type_id), 1, created)],
        uses=[Use(scope, CONTENT_TYPES, 1)],
        changes=_change("claim", scope, created.content_type_id, slug=created.slug),
        refusal=partial(_refusal, command.slug),
    )


async def revise_content_type(command: ReviseContentType, repository: Repository) -> Decision:
    """Changes nothing if the definition is the same."""
    current = await repository.fresh_content_type(command.scope, command.slug)
    check_definition(command.name, command.fields, command.stages)
    check_unchanged_kinds(current.known, command.fields)
    wanted = (command.name, command.fields, command.stages)
    if wanted == (current.name, current.fields, current.stages):
        return Decision()
    revised = ContentTypeRevised(
        **header(command),
        content_type_id=current.id,
        name=command.name,
        fields=command.fields,
        stages=command.stages,
    )
    return Decision(
        events=[StreamEvent(content_type_stream(current.id), current.version + 1, revised)],
        changes=_change("revise", command.scope, current.id, version=current.version),
    )


async def remove_content_type(command: RemoveContentType, repository: Repository) -> Decision:
    """The append refuses this while the type has entries."""
    current = await repository.fresh_content_type(command.scope, command.slug)
    removed = ContentTypeRemoved(**header(command), content_type_id=current.id)
    return Decision(
        events=[StreamEvent(content_type_stream(current.id), current.version + 1, removed)],
        uses=[Use(command.scope, CONTENT_TYPES, -1)],
        changes=_change("release", command.scope, current.id, version=current.version),
        refusal=partial(_refusal, command.slug),
    )


def _refusal(slug: str, conflict: Conflict) -> Refused | Conflict:
    match conflict:
        case ContentTypeConflict():
            return ContentTypeTaken(slug)
        case ContentTypeNotEmpty():
            return ContentTypeInUse(slug)
        case LimitConflict(bound=bound):
            return PlanLimitReached(bound, "content type")
    return conflict


def _change(op: str, scope: Scope, type_id: str, **more: object) -> dict[str, object]:
    place = {"workspace": scope.workspace, "environment": scope.environment}
    return {"content_types": [{"op": op, "id": type_id, **place, **more}]}
