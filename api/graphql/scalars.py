"""The scalars of the schema that are ours: JSON, kept as it was written, and DateTime."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NewType

import msgspec
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

JSON = NewType("JSON", Raw)
"""Any JSON, as the very text that was sent: numbers of any size, keys in their order."""


def _json_of(value: Any) -> Raw:
    """What a variable holds (``variables.py`` left it as it came) or a default in the schema."""
    return value if isinstance(value, Raw) else Raw(msgspec.json.encode(value))


def _json_written(node: ValueNode, variables: Mapping[str, Any] | None = None) -> Raw:
    """What stands in the document itself, where numbers are written as in JSON."""
    match node:
        case NullValueNode():
            return Raw(b"null")
        case IntValueNode() | FloatValueNode():
            return Raw(node.value.encode())
        case StringValueNode() | BooleanValueNode():
            return Raw(msgspec.json.encode(node.value))
        case ListValueNode():
            return _encoded([_json_written(value, variables) for value in node.values])
        case ObjectValueNode():
            return _encoded(
                {
                    field.name.value: _json_written(field.value, variables)
                    for field in node.fields
                    if not _is_left_out(field.value, variables)
                }
            )
        case VariableNode():
            return _json_of((variables or {}).get(node.name.value))
    raise BadRequest("JSON has no names without quotes but true, false and null")


def _is_left_out(node: ValueNode, variables: Mapping[str, Any] | None) -> bool:
    """A variable that has no value: its field is as if it were not there."""
    return isinstance(node, VariableNode) and node.name.value not in (variables or {})


def _encoded(value: list[Raw] | dict[str, Raw]) -> Raw:
    return Raw(msgspec.json.encode(value))


def _moment(value: Any) -> datetime:
    if not isinstance(value, str):
        raise BadRequest("A DateTime takes a string, such as 2026-01-31T09:30:00Z")
    return parameters.parse_time(value)


SCALARS: dict[object, ScalarDefinition] = {
    JSON: strawberry.scalar(
        name="JSON",
        description="Any JSON: numbers of any size, keys in the order they were sent.",
        parse_value=_json_of,
        parse_literal=_json_written,
    ),
    datetime: strawberry.scalar(
        name="DateTime",
        description="ISO 8601 in UTC with milliseconds, such as 2026-01-31T09:30:00.000Z.",
        serialize=timestamp,
        parse_value=_moment,
    ),
}
