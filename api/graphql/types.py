"""Content types as GraphQL shows them, and small types that other types use."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias

import strawberry
from strawberry.types.field import StrawberryField

from api.graphql.cost import charged_list
from write_side.domain.content_type import ContentTypeDefinition
from write_side.domain.definition import Field as FieldDefinition
from write_side.waiting import in_slices

Info: TypeAlias = strawberry.Info[Any, None]


def described(description: str) -> Callable[[Callable[..., Any]], StrawberryField]:
    """A field with a description; Strawberry's own decorator is untyped in this form."""
    return lambda resolver: strawberry.field(resolver, description=description)


@strawberry.enum(
    description="An entry may change from any status to any other. "
    "Publishing it needs values in the required fields."
)
class EntryStatus(Enum):
    draft = "draft"
    published = "published"
    archived = "archived"


@strawberry.type(description="A stage of a content type's workflow.")
class Stage:
    id: strawberry.ID
    name: str


@strawberry.type(
    description="The limit and offset applied, the number of matching entries, and with `cursor` "
    "the cursor of the next page; null on the last page."
)
class Pagination:
    limit: int
    offset: int
    total: int
    next: str | None = None


@strawberry.type(
    description="A field of a content type. "
    "A section only arranges the editor; entries have no value in it."
)
class Field:
    slug: str
    name: str
    type: str
    required: bool
    multiple: bool
    definition: strawberry.Private[FieldDefinition]

    @strawberry.field
    def options(self, info: Info) -> list[str]:
        return charged_list(info, [option.value for option in self.definition.options])

    @strawberry.field
    def to(self, info: Info) -> list[str]:
        return charged_list(info, self.definition.to)


@strawberry.type(description="A content type. Without a workflow it has no stages.")
class ContentType:
    id: strawberry.ID
    name: str
    slug: str
    all_fields: strawberry.Private[list[Field]]
    all_stages: strawberry.Private[list[Stage]]

    @strawberry.field
    async def fields(self, info: Info) -> strawberry.Streamable[Field]:
        return in_slices(charged_list(info, self.all_fields))

    @strawberry.field
    def stages(self, info: Info) -> list[Stage]:
        return charged_list(info, self.all_stages)


@strawberry.type(description="A file of the media library; media fields hold its id.")
class Media:
    id: strawberry.ID
    url: str
    name: str
    content_type: str


def content_type_of(row: ContentTypeDefinition) -> ContentType:
    return ContentType(
        id=strawberry.ID(row.id),
        name=row.name,
        slug=row.slug,
        all_fields=[_field_of(field) for field in row.fields],
        all_stages=[Stage(id=strawberry.ID(stage.id), name=stage.name) for stage in row.stages],
    )


def _field_of(field: FieldDefinition) -> Field:
    return Field(
        slug=field.slug,
        name=field.name,
        type=field.type,
        required=field.required,
        multiple=field.multiple,
        definition=field,
    )
