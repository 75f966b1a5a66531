"""How much one document may ask for, checked before it is validated.

Strawberry limits tokens, aliases and depth. Its limiters visit a fragment once for each spread,
so fragments that spread others twice would take them exponential time, and they fail on unknown
fragments and empty selections: ``check_document`` refuses all of these first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    OperationDefinitionNode,
    SelectionNode,
)
from strawberry.extensions import (
    AddValidationRules,
    MaxAliasesLimiter,
    MaxTokensLimiter,
    QueryDepthLimiter,
)

from api.errors import BadRequest
from api.graphql.cost import Fragments

TOKENS = 5_000
ALIASES = 100
FIELDS = 500
SELECTIONS = 5_000
"""Fields and spreads of the operations, with every fragment written out where it is spread."""
DEPTH = 10
RULES = [
    *MaxAliasesLimiter(ALIASES).validation_rules,
    # Strawberry counts the levels below a field.
    *QueryDepthLimiter(DEPTH - 1).validation_rules,
]
LIMITERS = (
    lambda: MaxTokensLimiter(TOKENS),
    # The limiters' rules, made once: each limiter makes a class of its own.
    lambda: AddValidationRules(RULES),
)


def fragments_of(document: DocumentNode) -> Fragments:
    return {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }


def check_document(document: DocumentNode) -> None:
    """Bounds what validation has to visit. Raises BadRequest."""
    fields = sum(
        isinstance(selection, FieldNode)
        for definition in document.definitions
        for selection in _selections(definition)
    )
    if fields > FIELDS:
        raise BadRequest(
            f"The query has {fields:,} fields; it may have up to {FIELDS:,}: send several requests"
        )
    expansion = _Expansion(fragments_of(document))
    selections = sum(
        expansion.size(definition)
        for definition in document.definitions
        if isinstance(definition, OperationDefinitionNode)
    )
    if selections > SELECTIONS:
        raise BadRequest(
            f"The query has more than {SELECTIONS:,} fields where its fragments are spread: "
            "send several requests"
        )


class _Expansion:
    """Sizes of definitions with their fragments written out; each fragment is counted once."""

    def __init__(self, fragments: Fragments) -> None:
        self._fragments = fragments
        self._sizes: dict[str, int | None] = {}
        """None while the fragment is being counted."""

    def size(self, definition: OperationDefinitionNode | FragmentDefinitionNode) -> int:
        return sum(
            1 + (self._of_fragment(selection) if isinstance(selection, FragmentSpreadNode) else 0)
            for selection in _selections(definition)
        )

    def _of_fragment(self, spread: FragmentSpreadNode) -> int:
        name = spread.name.value
        if name not in self._fragments:
            raise BadRequest(f"Unknown fragment '{name[:100]}'")
        if name not in self._sizes:
            self._sizes[name] = None
            self._sizes[name] = self.size(self._fragments[name])
        size = self._sizes[name]
        if size is None:
            raise BadRequest(f"Fragment '{name[:100]}' spreads itself")
        return size


def _selections(definition: Any) -> Iterator[SelectionNode]:
    """Every selection below a definition; of a fragment, its spread alone. Raises BadRequest."""
    waiting = [definition]
    while waiting:
        selected = getattr(waiting.pop(), "selection_set", None)
        if selected is None:
            continue
        if not selected.selections:
            raise BadRequest("A selection is empty: name the fields to answer with")
        yield from selected.selections
        waiting.extend(selected.selections)
