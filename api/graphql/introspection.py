"""What it costs to ask the schema about itself: it is known, so this is counted and not guessed.

Fields of types of fields multiply: a document of two hundred words can ask for millions of values.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    SelectionNode,
    SelectionSetNode,
    get_named_type,
    get_nullable_type,
    introspection_types,
    is_list_type,
)

_OBJECTS: dict[str, GraphQLObjectType] = {
    name: kind for name, kind in introspection_types.items() if isinstance(kind, GraphQLObjectType)
}
_ALL = "includeDeprecated"


class Introspection:
    """Follows a selection through the schema, each of its parts once for each thing it is asked
    of, however often that is met."""

    def __init__(
        self, schema: GraphQLSchema, fragments: Mapping[str, FragmentDefinitionNode], each: int
    ) -> None:
        """``each``: what an object costs, beside its values of 1."""
        self._schema = schema
        self._info: Any = SimpleNamespace(schema=schema)
        self._fragments = fragments
        self._each = each
        self._known: dict[tuple[int, int], int] = {}

    def cost(self, node: FieldNode, name: object) -> int:
        """Of ``__schema``, or of ``__type`` of that name."""
        if node.name.value == "__schema":
            return self._of_object(node.selection_set, _OBJECTS["__Schema"], self._schema)
        asked_of = self._schema.get_type(name) if isinstance(name, str) else None
        return self._of_object(node.selection_set, _OBJECTS["__Type"], asked_of)

    def _of_object(
        self, selected: SelectionSetNode | None, kind: GraphQLObjectType, asked_of: Any
    ) -> int:
        return 1 if asked_of is None else self._each + self._of(selected, kind, asked_of)

    def _of(self, selected: SelectionSetNode | None, kind: GraphQLObjectType, asked_of: Any) -> int:
        # Fields, arguments and values come as new pairs of their name and what is always the same.
        known = (id(selected), id(asked_of[1] if isinstance(asked_of, tuple) else asked_of))
        if known not in self._known:
            self._known[known] = sum(
                self._of_selection(node, kind, asked_of)
                for node in (selected.selections if selected else ())
            )
        return self._known[known]

    def _of_selection(self, node: SelectionNode, kind: GraphQLObjectType, asked_of: Any) -> int:
        match node:
            case FieldNode():
                return self._of_field(node, kind, asked_of) if node.selection_set else 1
            case InlineFragmentNode():
                return self._of(node.selection_set, kind, asked_of)
            case FragmentSpreadNode():
                spread = self._fragments[node.name.value]
                return self._of(spread.selection_set, kind, asked_of)
        return 0

    def _of_field(self, node: FieldNode, kind: GraphQLObjectType, asked_of: Any) -> int:
        field = kind.fields[node.name.value]
        assert field.resolve is not None
        found = field.resolve(asked_of, self._info, **({_ALL: True} if _ALL in field.args else {}))
        inner = _OBJECTS[get_named_type(field.type).name]
        several = found is not None and is_list_type(get_nullable_type(field.type))
        return sum(
            self._of_object(node.selection_set, inner, one)
            for one in (found if several else [found])
        )
