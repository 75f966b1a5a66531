"""The schema tells people what the code tells the next engineer: docstrings are descriptions."""

from __future__ import annotations

import inspect

import strawberry
from graphql import GraphQLNamedType, GraphQLType
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.enum import StrawberryEnumDefinition


def describe(schema: strawberry.Schema) -> None:
    """Gives the types of a schema, and the fields that resolvers answer, their descriptions."""
    for name, known in schema.schema_converter.type_map.items():
        definition = known.definition
        if isinstance(definition, StrawberryEnumDefinition):
            _describe(known.implementation, definition.wrapped_cls)
        if isinstance(definition, StrawberryObjectDefinition):
            _describe(known.implementation, definition.origin)
            _describe_fields(schema, name, definition)


def _describe(shown: GraphQLType, of: object) -> None:
    assert isinstance(shown, GraphQLNamedType)
    shown.description = inspect.getdoc(of)


def _describe_fields(
    schema: strawberry.Schema, name: str, definition: StrawberryObjectDefinition
) -> None:
    fields = schema._schema.type_map[name].fields  # type: ignore[attr-defined]  # noqa: SLF001
    for field in definition.fields:
        if field.base_resolver is not None:
            shown = fields[schema.config.name_converter.get_graphql_name(field)]
            shown.description = inspect.getdoc(field.base_resolver.wrapped_func)
