"""How much one document may ask for; more is refused before anything is looked up.

Tokens, aliases and fields bound the work of reading a document, depth and cost that of answering
it. The cost is about the size of the answer: a value counts 1, an object 10; pages count with their
limit, lists of unknown length with a factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    IntValueNode,
    Node,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    VariableNode,
)

from api.errors import BadRequest
from api.parameters import MAX_LIMIT

TOKENS = 5_000
ALIASES = 100
FIELDS = 500
DEPTH = 10
COST = 100_000
REFERENCES = 5
"""What one ``references`` is taken to hold; ``LOADED`` bounds what they really do."""
LOADED = 10_000
"""References that one request may be answered with."""
OBJECT = 10
MUTATION = 100
_LISTS = {"contentTypes": 20, "fields": 10, "stages": 3, "references": REFERENCES}
_INTROSPECTION = {"__schema": 10_000, "__type": 1_000, "__typename": 1}
_PAGED = {"contentEntries": 10, "history": 20}
"""Fields with a limit, and what it is where none is given."""

Variables = Mapping[str, Any]
Fragments = Mapping[str, FragmentDefinitionNode]


def check_document(document: DocumentNode) -> None:
    """Its size and depth, before it is validated, which takes time in the square of its fields.

    Raises BadRequest.
    """
    fields = list(_fields(document))
    aliases = sum(field.alias is not None for field in fields)
    _check("fields", len(fields), FIELDS, "send several requests")
    _check("aliases", aliases, ALIASES, "send several requests")
    depth = _Depth(fragments_of(document)).of_document(document)
    _check("levels", depth, DEPTH, "ask for what is deeper by its id")


def check_cost(
    operation: OperationDefinitionNode, fragments: Fragments, variables: Variables
) -> None:
    """Of a valid document. Raises BadRequest."""
    defaults = {
        definition.variable.name.value: _whole(definition.default_value)
        for definition in operation.variable_definitions or ()
    }
    cost = _Cost(fragments, {**defaults, **variables}).of(operation.selection_set, 1)
    if operation.operation.value == "mutation":
        cost += MUTATION * len(operation.selection_set.selections)
    if cost > COST:
        raise BadRequest(
            f"The query costs {cost:,}; one may cost up to {COST:,}: "
            "ask for smaller pages, or for fewer lists inside of lists"
        )


def fragments_of(document: DocumentNode) -> Fragments:
    return {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }


def _check(what: str, number: int, bound: int, remedy: str) -> None:
    if number > bound:
        raise BadRequest(f"The query has {number:,} {what}; it may have up to {bound:,}: {remedy}")


def _fields(node: Node) -> Iterator[FieldNode]:
    """All of the document, each once, however often its fragment is used."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, FieldNode):
            yield node
        if isinstance(node, DocumentNode):
            waiting.extend(node.definitions)
        elif isinstance(node, SelectionSetNode):
            waiting.extend(node.selections)
        elif (inner := getattr(node, "selection_set", None)) is not None:
            waiting.append(inner)


class _Depth:
    """Fields inside one another. Introspection does not count: it has limits of its own."""

    def __init__(self, fragments: Fragments) -> None:
        self._fragments = fragments
        self._known: dict[str, int] = {}

    def of_document(self, document: DocumentNode) -> int:
        operations = (d for d in document.definitions if isinstance(d, OperationDefinitionNode))
        return max((self._of(operation.selection_set) for operation in operations), default=0)

    def _of(self, selected: SelectionSetNode | None) -> int:
        selections = selected.selections if selected else ()
        return max(map(self._of_selection, selections), default=0)

    def _of_selection(self, node: SelectionNode) -> int:
        match node:
            case FieldNode():
                return 0 if node.name.value.startswith("__") else 1 + self._of(node.selection_set)
            case InlineFragmentNode():
                return self._of(node.selection_set)
            case FragmentSpreadNode():
                return self._of_fragment(node.name.value)
        return 0

    def _of_fragment(self, name: str) -> int:
        if name not in self._known and name in self._fragments:
            # One that spreads itself ends here; validation refuses it.
            self._known[name] = 0
            self._known[name] = self._of(self._fragments[name].selection_set)
        return self._known.get(name, 0)


class _Cost:
    def __init__(self, fragments: Fragments, variables: Variables) -> None:
        self._fragments = fragments
        self._variables = variables
        self._known: dict[tuple[str, int], int] = {}

    def of(self, selected: SelectionSetNode | None, page: int) -> int:
        """``page``: how many there are of ``data`` in it."""
        return sum(
            self._of_selection(node, page) for node in (selected.selections if selected else ())
        )

    def _of_selection(self, node: SelectionNode, page: int) -> int:
        match node:
            case FieldNode():
                return self._of_field(node, page)
            case InlineFragmentNode():
                return self.of(node.selection_set, page)
            case FragmentSpreadNode():
                return self._of_fragment(node.name.value, page)
        return 0

    def _of_fragment(self, name: str, page: int) -> int:
        if (name, page) not in self._known:
            self._known[name, page] = self.of(self._fragments[name].selection_set, page)
        return self._known[name, page]

    def _of_field(self, node: FieldNode, page: int) -> int:
        name = node.name.value
        if name in _INTROSPECTION:
            return _INTROSPECTION[name]
        if node.selection_set is None:
            return 1
        if name == "contentEntries":
            return OBJECT + self.of(node.selection_set, self._limit(node))
        times = page if name == "data" else _LISTS.get(name, 1)
        if name == "history":
            times = self._limit(node)
        return times * (OBJECT + self.of(node.selection_set, 1))

    def _limit(self, node: FieldNode) -> int:
        """As it will be clamped; what is no number is refused later."""
        arguments = {argument.name.value: argument.value for argument in node.arguments or ()}
        given = arguments.get("limit")
        limit: Any = _whole(given)
        if isinstance(given, VariableNode):
            limit = self._variables.get(given.name.value)
        if not isinstance(limit, int):
            return _PAGED[node.name.value] if limit is None else MAX_LIMIT
        return min(max(limit, 1), MAX_LIMIT)


def _whole(node: Node | None) -> int | None:
    return int(node.value[:20]) if isinstance(node, IntValueNode) else None
