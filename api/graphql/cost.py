"""What the answer to a document costs, which is about its size: a value counts 1, an object 10.

Pages count with their limit, lists of unknown length with a factor; ``spending.py`` counts what
they really hold beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    Node,
    NullValueNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
)

from api.graphql.introspection import Introspection
from api.rest.parameters import MAX_LIMIT

OBJECT = 10
LISTS = {"contentTypes": 20, "fields": 10, "stages": 3, "references": 5}
"""What they are taken to hold."""
_PAGED = {"contentEntries": 10, "history": 20}
"""Fields with a limit, and what it is where none is given."""
MUTATION = 900
"""So that a hundred, with what their entries say, are one request."""
_EXTRA = {
    "createContentEntry": MUTATION,
    "updateContentEntry": MUTATION,
    "deleteContentEntry": MUTATION,
    "history": 100,
}
AS_OF = 1_000
"""Beside what it shows: three look-ups of its own, and two streams folded."""
_META = ("__schema", "__type")

Variables = Mapping[str, Any]
Fragments = Mapping[str, FragmentDefinitionNode]


def fragments_of(document: DocumentNode) -> Fragments:
    return {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }


class Costs:
    """Of the selections of a valid document, whose operation is sent with these variables."""

    def __init__(
        self,
        operation: OperationDefinitionNode,
        fragments: Fragments,
        variables: Variables,
        schema: GraphQLSchema,
    ) -> None:
        self._operation = operation
        self._fragments = fragments
        self._variables = {**_defaults(operation), **variables}
        self._introspection = Introspection(schema, fragments, OBJECT)
        self._known: dict[tuple[int, int], int] = {}

    def of_all(self) -> int:
        return self._of(self._operation.selection_set, 1)

    def of_one(self, node: FieldNode) -> int:
        """Of each that a list holds."""
        return OBJECT + self._of(node.selection_set, 1) if node.selection_set else 1

    def _of(self, selected: SelectionSetNode | None, page: int) -> int:
        """``page``: how many there are of ``data`` in it."""
        if selected is None:
            return 0
        known = (id(selected), page)
        if known not in self._known:
            self._known[known] = sum(self._of_selection(node, page) for node in selected.selections)
        return self._known[known]

    def _of_selection(self, node: SelectionNode, page: int) -> int:
        match node:
            case FieldNode():
                return self._of_field(node, page)
            case InlineFragmentNode():
                return self._of(node.selection_set, page)
            case FragmentSpreadNode():
                return self._of(self._fragments[node.name.value].selection_set, page)
        return 0

    def _of_field(self, node: FieldNode, page: int) -> int:
        name = node.name.value
        if name in _META:
            return self._introspection.cost(node, self._argument(node, "name"))
        extra = _EXTRA.get(name, 0) + (AS_OF if self._argument(node, "asOf") is not None else 0)
        if name == "contentEntries":
            return OBJECT + self._of(node.selection_set, self._limit(node))
        times = page if name == "data" else LISTS.get(name, 1) if node.selection_set else 1
        if name == "history":
            times = self._limit(node)
        return extra + times * self.of_one(node)

    def _limit(self, node: FieldNode) -> int:
        """As it will be clamped; what is no number is refused later."""
        limit = self._argument(node, "limit")
        if not isinstance(limit, int):
            return _PAGED[node.name.value] if limit is None else MAX_LIMIT
        return min(max(limit, 1), MAX_LIMIT)

    def _argument(self, node: FieldNode, name: str) -> Any:
        """None where it is absent or null."""
        for argument in node.arguments or ():
            if argument.name.value == name:
                given = argument.value
                if isinstance(given, VariableNode):
                    return self._variables.get(given.name.value)
                return _value(given)
        return None


def _defaults(operation: OperationDefinitionNode) -> Variables:
    return {
        definition.variable.name.value: _value(definition.default_value)
        for definition in operation.variable_definitions or ()
    }


def _value(node: ValueNode | Node | None) -> Any:
    """Enough of it to know a limit, a name, or that there is one."""
    if node is None or isinstance(node, NullValueNode):
        return None
    if isinstance(node, IntValueNode):
        return int(node.value[:20])
    return getattr(node, "value", node)
