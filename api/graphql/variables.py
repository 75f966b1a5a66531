"""Variables of a request, read as the operation declares them.

A value of type JSON stays the text it is: whatever a reader makes of numbers and keys, the log
gets what was sent, as over REST.
"""

from __future__ import annotations

from typing import Any

import msgspec
from graphql import (
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    OperationDefinitionNode,
    is_input_type,
    type_from_ast,
)
from msgspec import Raw

from api.errors import BadRequest

_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_LIST = msgspec.json.Decoder(list[Raw])


def read_variables(
    sent: Raw | None, operation: OperationDefinitionNode, schema: GraphQLSchema
) -> dict[str, Any]:
    """The variables that the operation declares, of those that were sent. Raises BadRequest."""
    if sent is None or bytes(sent) == b"null":
        return {}
    try:
        given = _OBJECT.decode(sent)
    except msgspec.ValidationError:
        raise BadRequest("variables must be an object") from None
    declared = {
        definition.variable.name.value: type_from_ast(schema, definition.type)
        for definition in operation.variable_definitions or ()
    }
    return {
        name: _read(given[name], type_)
        for name, type_ in declared.items()
        # Of another type validation says what is wrong.
        if name in given and is_input_type(type_)
    }


def _read(sent: Raw, type_: GraphQLInputType) -> Any:
    if isinstance(type_, GraphQLNonNull):
        return _read(sent, type_.of_type)
    text = bytes(sent)
    if text == b"null":
        return None
    if isinstance(type_, GraphQLList):
        # A single value stands for a list of one.
        values = _LIST.decode(sent) if text[:1] == b"[" else [sent]
        return [_read(value, type_.of_type) for value in values]
    if isinstance(type_, GraphQLInputObjectType) and text[:1] == b"{":
        return {
            name: _read(value, type_.fields[name].type) if name in type_.fields else None
            for name, value in _OBJECT.decode(sent).items()
        }
    if getattr(type_, "name", "") == "JSON":
        return sent
    try:
        return msgspec.json.decode(sent)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"A variable of type {type_} cannot be read: {error}") from None
