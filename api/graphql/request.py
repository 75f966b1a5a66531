"""Reads a GraphQL request: its body, and its variables as the operation declares them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

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
from msgspec import Meta, Raw, Struct, field
from msgspec.structs import replace

from api.errors import BadRequest
from api.rest.request_body import check_values, json_object
from write_side.domain.text import NotJSON, minified

EXPECTED = 'Send an object: {"query": "…", "variables": {…}, "operationName": "…"}'
MAX_CHARACTERS = 100_000
"""Characters of a document. The lexer reads them one by one and blocks the event loop."""
MAX_INPUTS = 5_000
"""List items and members of input objects, which graphql-core coerces one by one in 10 µs each. The
content of a JSON scalar does not count."""
_OBJECT_OR_NULL = {"anyOf": [{"type": "object"}, {"type": "null"}]}
_LIST = msgspec.json.Decoder(list[Raw])


class GraphQLRequest(Struct, frozen=True, rename="camel"):
    """The body of a request, as OpenAPI describes it; other properties are ignored."""

    query: Annotated[str, Meta(min_length=1)]
    # They stay JSON text until the operation declares their types.
    variables: Annotated[Raw, Meta(extra_json_schema=_OBJECT_OR_NULL)] = field(
        default_factory=lambda: Raw(b"null")
    )
    operation_name: str | None = None


_BODY = msgspec.json.Decoder(GraphQLRequest)


def read_body(body: bytes) -> GraphQLRequest:
    """An empty name of an operation counts as absent. Raises BadRequest, NotJSON, and InvalidText
    for an unpaired surrogate."""
    check_values(body)
    try:
        body.decode()
        read = _BODY.decode(body)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        minified(body)
        if isinstance(error, msgspec.ValidationError):
            raise BadRequest(EXPECTED) from None
        raise NotJSON(str(error)) from None
    if len(read.query) > MAX_CHARACTERS:
        raise BadRequest(
            f"The query has {len(read.query):,} characters; it may have up to {MAX_CHARACTERS:,}: "
            "send large values as variables"
        )
    return read if read.operation_name != "" else replace(read, operation_name=None)


def read_variables(
    sent: Raw, operation: OperationDefinitionNode, schema: GraphQLSchema
) -> dict[str, Any]:
    """The variables that the operation declares. Raises BadRequest, also for more than MAX_INPUTS
    list items and members of input objects.

    A value of type JSON stays the text that was sent, with its numbers and the order of its keys.
    """
    values, reader = _members(sent), _InputReader()
    declared = {
        definition.variable.name.value: type_from_ast(schema, definition.type)
        for definition in operation.variable_definitions or ()
    }
    return {
        name: reader.read(values[name], type_)
        for name, type_ in declared.items()
        # Validation reports types that are not input types.
        if name in values and is_input_type(type_)
    }


def check_literal_variables(document: DocumentNode, sent: Raw, bound: int) -> None:
    """Limits the variables inside the document's lists and objects: each is expanded at every
    place, and may be as large as a body. Raises BadRequest."""
    sizes = {name: len(bytes(value)) for name, value in _members(sent).items()}
    for definition in document.definitions:
        for variable in getattr(definition, "variable_definitions", None) or ():
            default = variable.default_value
            if default is not None and default.loc is not None:
                sizes.setdefault(variable.variable.name.value, default.loc.end - default.loc.start)
    size = sum(sizes.get(name, 0) for name in _literal_variables(document)) if sizes else 0
    if size > bound:
        raise BadRequest(
            f"Variables inside the document's lists and objects add up to {size:,} bytes; "
            f"the limit is {bound:,}: send the whole list or object as a variable"
        )


def _literal_variables(document: DocumentNode) -> Iterator[str]:
    """The variables inside lists and objects, once per place."""
    waiting: list[tuple[Node, bool]] = [(document, False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, VariableNode):
            if inside:
                yield node.name.value
            continue
        inside = inside or isinstance(node, ListValueNode | ObjectValueNode)
        for key in node.keys:
            child = getattr(node, key, None)
            children = child if isinstance(child, tuple | list) else (child,)
            waiting.extend((child, inside) for child in children if isinstance(child, Node))


def _members(sent: Raw) -> dict[str, Raw]:
    if bytes(sent) == b"null":
        return {}
    return json_object(sent, "variables must be an object: leave them out for none")


class _InputReader:
    """Reads values according to their types. Raises BadRequest before it has read too many."""

    def __init__(self) -> None:
        self._left = MAX_INPUTS

    def read(self, sent: Raw, type_: GraphQLInputType) -> Any:
        if isinstance(type_, GraphQLNonNull):
            return self.read(sent, type_.of_type)
        text = bytes(sent)
        if text == b"null":
            return None
        if isinstance(type_, GraphQLList):
            # GraphQL accepts a single value for a list of one.
            values = _LIST.decode(sent) if text[:1] == b"[" else [sent]
            self._take(len(values))
            return [self.read(value, type_.of_type) for value in values]
        if isinstance(type_, GraphQLInputObjectType) and text[:1] == b"{":
            members = _members(sent)
            self._take(len(members))
            return {
                name: self.read(value, type_.fields[name].type) if name in type_.fields else None
                for name, value in members.items()
            }
        return _scalar(sent, type_)

    def _take(self, number: int) -> None:
        self._left -= number
        if self._left < 0:
            raise BadRequest(
                f"The variables have more than {MAX_INPUTS:,} list items and input fields: "
                "send several requests"
            )


def _scalar(sent: Raw, type_: GraphQLInputType) -> Any:
    if getattr(type_, "name", "") == "JSON":
        return sent
    try:
        return msgspec.json.decode(sent)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"A variable of type {type_} cannot be read: {error}") from None
