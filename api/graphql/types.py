"""Content types as GraphQL shows them, and the small types that others are made of."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeAlias

import strawberry

from api.graphql.spending import listed
from read_side.content_types import ContentTypeRow
from write_side.domain.content_type import ContentType as LoggedContentType
from write_side.domain.definition import Field as FieldDefinition

Info: TypeAlias = strawberry.Info[Any, None]


@strawberry.enum
class EntryStatus(Enum):
    """Any may follow any other; publishing demands the required fields."""

    draft = "draft"
    published = "published"
    archived = "archived"


@strawberry.type
class Stage:
    """A stage of a content type's workflow."""

    id: strawberry.ID
    name: str


@strawberry.type
class Pagination:
    """The limit and offset that were applied, and how many entries match in all."""

    limit: int
    offset: int
    total: int


@strawberry.type
class Field:
    """A field of a content type. Sections only lay out the editor; no entry has a value in one."""

    slug: str
    name: str
    type: str
    required: bool
    multiple: bool
    definition: strawberry.Private[FieldDefinition]

    @strawberry.field
    def options(self, info: Info) -> list[str]:
        return listed(info, [option.value for option in self.definition.options])

    @strawberry.field
    def to(self, info: Info) -> list[str]:
        return listed(info, self.definition.to)


@strawberry.type
class ContentType:
    """Without a workflow it has no stages."""

    id: strawberry.ID
    name: str
    slug: str
    all_fields: strawberry.Private[list[Field]]
    all_stages: strawberry.Private[list[Stage]]

    @strawberry.field
    def fields(self, info: Info) -> list[Field]:
        return listed(info, self.all_fields)

    @strawberry.field
    def stages(self, info: Info) -> list[Stage]:
        return listed(info, self.all_stages)


Definition: TypeAlias = ContentTypeRow | LoggedContentType
"""A content type, from the read model or from the log."""


def shown_type(content_type: Definition) -> ContentType:
    return ContentType(
        id=strawberry.ID(content_type.id),
        name=content_type.name,
        slug=content_type.slug,
        all_fields=[_shown_field(field) for field in content_type.fields],
        all_stages=[Stage(id=strawberry.ID(s.id), name=s.name) for s in content_type.stages],
    )


def _shown_field(field: FieldDefinition) -> Field:
    return Field(
        slug=field.slug,
        name=field.name,
        type=field.type,
        required=field.required,
        multiple=field.multiple,
        definition=field,
    )
