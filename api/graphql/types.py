"""Content types as GraphQL shows them, and small types that other types use.

Resolvers return rows of the read model and parts of the domain as they are. A type here only says
which of their attributes clients see; a field names its type in ``graphql_type``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from enum import Enum
from typing import Any

import strawberry
from strawberry.types.field import StrawberryField

from api.graphql.context import Info
from api.graphql.cost import charged_list
from write_side.domain import definition
from write_side.domain.content_type import ContentTypeDefinition
from write_side.waiting import in_slices


def typed_field(
    description: str | None = None, graphql_type: object = None
) -> Callable[[Callable[..., Any]], StrawberryField]:
    """``strawberry.field`` is untyped when called with these arguments."""
    return lambda resolver: strawberry.field(
        resolver, description=description, graphql_type=graphql_type
    )


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

    @strawberry.field
    @staticmethod
    def options(field: strawberry.Parent[definition.Field], info: Info) -> list[str]:
        return charged_list(info, [option.value for option in field.options])

    @strawberry.field
    @staticmethod
    def to(field: strawberry.Parent[definition.Field], info: Info) -> list[str]:
        return charged_list(info, field.to)


@strawberry.type(description="A content type. Without a workflow it has no stages.")
class ContentType:
    id: strawberry.ID
    name: str
    slug: str

    @typed_field(graphql_type=strawberry.Streamable[Field])
    @staticmethod
    async def fields(
        content_type: strawberry.Parent[ContentTypeDefinition], info: Info
    ) -> AsyncIterator[definition.Field]:
        return in_slices(charged_list(info, content_type.fields))

    @typed_field(graphql_type=list[Stage])
    @staticmethod
    def stages(
        content_type: strawberry.Parent[ContentTypeDefinition], info: Info
    ) -> Sequence[definition.Stage]:
        return charged_list(info, content_type.stages)


@strawberry.type(description="A file of the media library; media fields hold its id.")
class Media:
    id: strawberry.ID
    url: str
    name: str
    content_type: str
