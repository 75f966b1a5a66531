"""The content type: its definition, and every field it ever had."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from write_side.domain.definition import Field, Stage, known_fields, value_fields
from write_side.domain.events import ContentTypeCreated, ContentTypeEvent, ContentTypeRemoved
from write_side.domain.identity import Scope
from write_side.domain.rendering import Renderer


class ContentTypeDefinition(Struct, frozen=True):
    """A content type as clients see it. The fields include sections; without a workflow there are
    no stages."""

    id: str
    slug: str
    name: str
    fields: tuple[Field, ...]
    stages: tuple[Stage, ...]
    created_at: datetime
    updated_at: datetime


class ContentType(ContentTypeDefinition, frozen=True, kw_only=True, dict=True):
    """A content type, folded from its stream. ``known`` includes removed fields; the read model
    does not store it."""

    workspace: str
    environment: str
    version: int
    known: dict[str, Field] = {}
    removed: bool = False

    @property
    def scope(self) -> Scope:
        return Scope(self.workspace, self.environment)

    @property
    def first_stage(self) -> str | None:
        return self.stages[0].id if self.stages else None

    @cached_property
    def value_fields(self) -> tuple[Field, ...]:
        return tuple(value_fields(self.fields))

    @cached_property
    def referring_fields(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.may_refer)

    @cached_property
    def searchable(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.searchable)

    @cached_property
    def renderer(self) -> Renderer:
        return Renderer(self.fields, self.stages)


def evolve(content_type: ContentType | None, event: ContentTypeEvent) -> ContentType:
    if isinstance(event, ContentTypeCreated):
        return _created(event)
    assert content_type is not None, f"{type(event).__name__} of a type that was never created"
    version = content_type.version + 1
    if isinstance(event, ContentTypeRemoved):
        return replace(content_type, removed=True, updated_at=event.at, version=version)
    return replace(
        content_type,
        name=event.name,
        fields=event.fields,
        stages=event.stages,
        known=known_fields(content_type.known, event.fields),
        updated_at=event.at,
        version=version,
    )


def _created(event: ContentTypeCreated) -> ContentType:
    assert event.environment is not None
    return ContentType(
        id=event.content_type_id,
        workspace=event.workspace,
        environment=event.environment,
        slug=event.slug,
        name=event.name,
        fields=event.fields,
        stages=event.stages,
        known=known_fields({}, event.fields),
        created_at=event.at,
        updated_at=event.at,
        version=1,
    )
