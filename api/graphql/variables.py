"""Variables of a request, read as the operation declares them.

A value of type JSON stays the text it is: whatever a reader makes of numbers and keys, the log
gets what was sent, as over REST.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from graphql import (
    DocumentNode,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    ListValueNode,
    Node,
    ObjectValueNode,
    OperationDefinitionNode,
    VariableNode,
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


def check_repeated(document: DocumentNode, sent: Raw | None, bound: int) -> None:
    """What stands inside of the document's lists and objects is written out wherever it stands: all
    of it may be as large as a body. Raises BadRequest."""
    sizes = {} if sent is None or bytes(sent) == b"null" else _sizes(sent)
    for definition in document.definitions:
        for variable in getattr(definition, "variable_definitions", None) or ():
            default = variable.default_value
            if default is not None and default.loc is not None:
                sizes.setdefault(variable.variable.name.value, default.loc.end - default.loc.start)
    size = sum(sizes.get(name, 0) for name in _written(document))
    if size > bound:
        raise BadRequest(
            f"Variables inside of the document's lists and objects come to {size:,} bytes; "
            f"they may come to {bound:,}: send the whole as a variable"
        )


def _sizes(sent: Raw) -> dict[str, int]:
    return {name: len(bytes(value)) for name, value in _OBJECT.decode(sent).items()}


def _written(document: DocumentNode) -> Iterator[str]:
    """The variables inside of lists and objects, as often as they stand there."""
    waiting: list[tuple[Node, bool]] = [(document, False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, VariableNode):
            if inside:
                yield node.name.value
            continue
        inside = inside or isinstance(node, ListValueNode | ObjectValueNode)
        for key in node.keys:
            inner = getattr(node, key, None)
            of_it = inner if isinstance(inner, tuple | list) else (inner,)
            waiting.extend((one, inside) for one in of_it if isinstance(one, Node))


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
