"""Limits of a document, checked before it is validated.

Strawberry limits tokens and aliases. Its limiter of aliases visits a fragment once per spread, so
it takes exponential time for fragments that spread others twice, and it fails on unknown fragments
and empty selections. ``check_document`` refuses all of these first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from graphql import (
    DocumentNode,
    ExecutableDefinitionNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLInputType,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionNode,
    ValueNode,
    ValuesOfCorrectTypeRule,
    VisitorAction,
    specified_rules,
    validate,
)
from graphql.language import SKIP
from strawberry.extensions import MaxAliasesLimiter, MaxTokensLimiter
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from api.errors import BadRequest
from api.graphql.cost import Fragments

TOKENS = 3_000
ALIASES = 100
FIELDS = 500
DEFINITIONS = 50
"""Operations and fragments. Validation compares each fragment with every other one."""
PAIRS = 2_000
"""Fields with one name in one place. Validation compares them in pairs, including everything below
them."""
SELECTIONS = 5_000
"""Fields and spreads of the operations, with all fragments expanded. Those of operations and
fragments together may be twice as many."""
DEPTH = 10
TOO_DEEP = f"The query has more than {DEPTH} levels of fields: send several requests"
ERRORS = 10
"""Errors after which validation stops. Each may suggest names, which takes 1 ms."""


class FirstErrorRule(ValuesOfCorrectTypeRule):
    """Reports the first error of each argument only: graphql-core prints the whole object for each
    of its unknown fields, which takes seconds."""

    class Found(Exception):
        pass

    def is_valid_value_node(
        self, node: ValueNode, input_type: GraphQLInputType | None
    ) -> VisitorAction:
        try:
            return super().is_valid_value_node(node, input_type)
        except self.Found:
            return SKIP

    def report_error(self, error: GraphQLError) -> None:
        if isinstance(error.original_error, ValueError):
            # An integer with more digits than Python converts.
            error = GraphQLError("Int cannot represent a number of this length", error.nodes)
        super().report_error(error)
        raise self.Found


VALIDATION = (
    *(FirstErrorRule if rule is ValuesOfCorrectTypeRule else rule for rule in specified_rules),
    # Created once, because the limiter creates a class.
    *MaxAliasesLimiter(ALIASES).validation_rules,
    MaybeNullValidationRule,
    OneOfInputValidationRule,
)
LIMITERS = (lambda: MaxTokensLimiter(TOKENS),)


def validation_errors(schema: GraphQLSchema, document: DocumentNode) -> list[GraphQLError]:
    """The first errors of a document, if ``check_document`` allows it."""
    errors = validate(schema, document, VALIDATION, ERRORS)
    if len(errors) > ERRORS:
        more = f"Only the first {ERRORS} errors are listed: correct these and send the query again"
        errors[ERRORS:] = [GraphQLError(more)]
    return errors


def fragments_of(document: DocumentNode) -> Fragments:
    return {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }


def check_document(document: DocumentNode) -> None:
    """Limits the work of validation. Raises BadRequest."""
    if len(document.definitions) > DEFINITIONS:
        raise BadRequest(
            f"The query has {len(document.definitions):,} operations and fragments; it may have up "
            f"to {DEFINITIONS}: send several requests"
        )
    _check_selections(document)
    fragments, pairs = fragments_of(document), 0
    for definition in document.definitions:
        # Definitions of types, which execution refuses, select nothing.
        if isinstance(definition, ExecutableDefinitionNode):
            is_operation = isinstance(definition, OperationDefinitionNode)
            if is_operation and _depth(definition, fragments) > DEPTH:
                raise BadRequest(TOO_DEEP)
            pairs += _pairs([definition], fragments)
            if pairs > PAIRS:
                raise BadRequest(
                    "The query repeats the same fields too often in one place: "
                    "name each of them once"
                )


def _check_selections(document: DocumentNode) -> None:
    """Limits the number of fields, as written and with fragments expanded."""
    contents = [(definition, list(_selections(definition))) for definition in document.definitions]
    fields = sum(isinstance(node, FieldNode) for _, selections in contents for node in selections)
    if fields > FIELDS:
        raise BadRequest(
            f"The query has {fields:,} fields; it may have up to {FIELDS:,}: send several requests"
        )
    expansion = _Expansion(
        {
            definition.name.value: selections
            for definition, selections in contents
            if isinstance(definition, FragmentDefinitionNode)
        }
    )
    sizes = [(definition, expansion.size(selections)) for definition, selections in contents]
    size = sum(size for node, size in sizes if isinstance(node, OperationDefinitionNode))
    # Fragments are validated by themselves too, even if no operation spreads them.
    if size > SELECTIONS or sum(size for _, size in sizes) > 2 * SELECTIONS:
        raise BadRequest(
            f"The query has more than {SELECTIONS:,} fields with its fragments expanded: "
            "send several requests"
        )


def _depth(node: Any, fragments: Fragments) -> int:
    """The levels of fields; introspection counts as one."""
    if isinstance(node, FragmentSpreadNode):
        node = fragments[node.name.value]
    if isinstance(node, FieldNode) and node.name.value.startswith("__"):
        return 1
    below = node.selection_set.selections if node.selection_set else ()
    levels = (_depth(inner, fragments) for inner in below)
    return isinstance(node, FieldNode) + max(levels, default=0)


def _pairs(parents: Iterable[Any], fragments: Fragments) -> int:
    """The pairs of fields that have the same name in one place, there and further down."""
    by_name: defaultdict[str, list[FieldNode]] = defaultdict(list)
    for node in fields_below(parents, fragments):
        by_name[(node.alias or node.name).value].append(node)
    return sum(
        len(nodes) * (len(nodes) - 1) // 2 + _pairs(nodes, fragments) for nodes in by_name.values()
    )


def fields_below(
    parents: Iterable[Any], fragments: Mapping[str, FragmentDefinitionNode]
) -> Iterator[FieldNode]:
    """The fields directly below nodes that are merged into one; each fragment is read once."""
    waiting, seen = [parent.selection_set for parent in parents], set[str]()
    while waiting:
        selected = waiting.pop()
        for node in selected.selections if selected else ():
            if isinstance(node, FieldNode):
                yield node
            elif not isinstance(node, FragmentSpreadNode):
                waiting.append(node.selection_set)
            elif node.name.value not in seen:
                seen.add(node.name.value)
                waiting.append(fragments[node.name.value].selection_set)


class _Expansion:
    """Counts selections with their fragments expanded; visits each fragment once."""

    def __init__(self, fragments: Mapping[str, Sequence[SelectionNode]]) -> None:
        self._fragments = fragments
        self._sizes: dict[str, int | None] = {}
        """None while the fragment is being counted."""

    def size(self, selections: Sequence[SelectionNode]) -> int:
        spreads = [node.name.value for node in selections if isinstance(node, FragmentSpreadNode)]
        return len(selections) + sum(map(self._of_fragment, spreads))

    def _of_fragment(self, name: str) -> int:
        if name not in self._fragments:
            raise BadRequest(f"Unknown fragment '{name[:100]}': define it in the document")
        if name not in self._sizes:
            self._sizes[name] = None
            self._sizes[name] = self.size(self._fragments[name])
        size = self._sizes[name]
        if size is None:
            raise BadRequest(f"Fragment '{name[:100]}' spreads itself: remove that spread")
        return size


def _selections(definition: Any) -> Iterator[SelectionNode]:
    """Every selection below a definition; of a fragment, only its spread. Raises BadRequest."""
    waiting = [definition]
    while waiting:
        selected = getattr(waiting.pop(), "selection_set", None)
        if selected is None:
            continue
        if not selected.selections:
            raise BadRequest("A selection is empty: name the fields to return")
        yield from selected.selections
        waiting.extend(selected.selections)
