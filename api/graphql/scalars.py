"""The custom scalars of the schema: JSON, kept as it was written, and DateTime."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
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
from strawberry.types.scalar import ScalarDefinition

from api.errors import BadRequest
from api.rest import parameters
from api.rest.wire import timestamp
from write_side.domain.values import NULL, json_of

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
