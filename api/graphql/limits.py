"""How much one document may ask for; more is refused before anything is looked up.

Tokens, aliases and fields bound the work of reading a document, depth and cost that of answering
it (``cost.py``). What only turns out while it is answered is counted then (``spending.py``).
"""

from __future__ import annotations

from collections.abc import Iterator

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    Node,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
)

from api.errors import BadRequest
from api.graphql.cost import Fragments, fragments_of

TOKENS = 5_000
ALIASES = 100
FIELDS = 500
DEPTH = 10
COST = 100_000


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


def check_cost(cost: int) -> None:
    """Raises BadRequest."""
    if cost > COST:
        raise BadRequest(
            f"The query costs {cost:,}; one may cost up to {COST:,}: "
            "ask for smaller pages, or for fewer lists inside of lists"
        )


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
