"""The custom scalars, content types as GraphQL shows them, and small types that other types use.

Resolvers return rows of the read model and parts of the domain as they are. A type here only says
which of their attributes clients see; a field names its type in ``graphql_type``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, NewType

import strawberry
from graphql.language import (
    BooleanValueNode,
    FloatValueNode,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    StringValueNode,
    ValueNode,
    VariableNode,
)
from msgspec import Raw
from strawberry.types.field import StrawberryField
from strawberry.types.scalar import ScalarDefinition

from api.errors import BadRequest
from api.graphql.context import Info
from api.graphql.cost import charged_list
from api.rest import parameters
from api.rest.wire import timestamp
from write_side.domain import definition
from write_side.domain.content_type import ContentTypeDefinition
from write_side.domain.values import NULL, json_of
from write_side.waiting import in_slices

JSON = NewType("JSON", Raw)
"""The JSON text that was sent, with its numbers and the order of its keys."""


def _json_of(value: Any) -> Raw:
    """A variable, which ``request.py`` leaves as text, or a default."""
    return value if isinstance(value, Raw) else json_of(value)


def _json_of_literal(node: ValueNode, variables: Mapping[str, Any] | None = None) -> Raw:
    """A literal of the document, whose numbers are written as in JSON."""
    match node:
        case NullValueNode():
            return NULL
        case IntValueNode() | FloatValueNode():
            return Raw(node.value.encode())
        case StringValueNode() | BooleanValueNode():
            return json_of(node.value)
        case ListValueNode():
            return json_of([_json_of_literal(value, variables) for value in node.values])
        case ObjectValueNode():
            return json_of(
                {
                    field.name.value: _json_of_literal(field.value, variables)
                    for field in node.fields
                    if not _is_absent(field.value, variables)
                }
            )
        case VariableNode():
            return _json_of((variables or {}).get(node.name.value))
    raise BadRequest("JSON takes no unquoted names except true, false and null")


def _is_absent(node: ValueNode, variables: Mapping[str, Any] | None) -> bool:
    """A variable without a value: its field is left out."""
    return isinstance(node, VariableNode) and node.name.value not in (variables or {})


def _moment(value: Any) -> datetime:
    if not isinstance(value, str):
        raise BadRequest("A DateTime takes a string, such as 2026-01-31T09:30:00Z")
    return parameters.parse_time(value)


SCALARS: dict[object, ScalarDefinition] = {
    JSON: strawberry.scalar(
        name="JSON",
        description="Any JSON. Numbers may have up to 4,000 digits, and keys keep their order.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc8259",
        parse_value=_json_of,
        parse_literal=_json_of_literal,
    ),
    datetime: strawberry.scalar(
        name="DateTime",
        description="ISO 8601 in UTC with milliseconds, such as 2026-01-31T09:30:00.000Z.",
        specified_by_url="https://www.rfc-editor.org/rfc/rfc3339",
        serialize=timestamp,
        parse_value=_moment,
    ),
}


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
