"""Limits of a document, checked before it is validated (ADR 24).

Strawberry limits tokens. Its depth and alias limiters visit a fragment once per spread, which takes
exponential time if each fragment spreads the next one twice; ``check_document`` visits each once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

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
    ValueNode,
    ValuesOfCorrectTypeRule,
    VisitorAction,
    specified_rules,
    validate,
)
from graphql.language import SKIP
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
    MaybeNullValidationRule,
    OneOfInputValidationRule,
)


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
    _check("operations and fragments", len(document.definitions), DEFINITIONS)
    # Type definitions, which execution refuses, have no selections.
    definitions = [one for one in document.definitions if isinstance(one, ExecutableDefinitionNode)]
    fragments = fragments_of(document)
    measure = _Measure(fragments)
    extents = [(measure.definition(one), one) for one in definitions]
    _check("fields", measure.fields, FIELDS)
    operations = [extent for extent, one in extents if isinstance(one, OperationDefinitionNode)]
    size = sum(extent.selections for extent in operations)
    # Each fragment is also validated on its own, even if no operation spreads it.
    if size > SELECTIONS or sum(extent.selections for extent, _ in extents) > 2 * SELECTIONS:
        raise BadRequest(
            f"The query has more than {SELECTIONS:,} fields with its fragments expanded: "
            "send several requests"
        )
    if any(extent.levels > DEPTH for extent in operations):
        raise BadRequest(TOO_DEEP)
    _check("aliases", sum(extent.aliases for extent in operations), ALIASES)
    if sum(_pairs([one], fragments) for one in definitions) > PAIRS:
        raise BadRequest(
            "The query repeats the same fields too often in one place: select each of them once"
        )


def _check(what: str, number: int, most: int) -> None:
    if number > most:
        raise BadRequest(
            f"The query has {number:,} {what}; it may have up to {most:,}: send several requests"
        )


class _Extent(NamedTuple):
    """The size of a selection set with its fragments expanded. An introspection field is one
    level."""

    selections: int = 0
    aliases: int = 0
    levels: int = 0


class _Measure:
    """Measures definitions, and visits each once. ``fields``: the number of fields visited."""

    def __init__(self, fragments: Fragments) -> None:
        self.fields = 0
        self._fragments = fragments
        self._extents: dict[int, _Extent | None] = {}
        """None while the definition is being visited."""

    def definition(self, node: Any) -> _Extent:
        """Raises BadRequest."""
        if id(node) not in self._extents:
            self._extents[id(node)] = None
            self._extents[id(node)] = self._below(node)
        extent = self._extents[id(node)]
        if extent is None:
            name = node.name.value[:100]
            raise BadRequest(f"Fragment '{name}' spreads itself: remove that spread")
        return extent

    def _below(self, node: Any) -> _Extent:
        if node.selection_set is None:
            return _Extent()
        if not node.selection_set.selections:
            raise BadRequest("A selection set is empty: select at least one field")
        inside = [self._selection(inner) for inner in node.selection_set.selections]
        selections, aliases, levels = zip(*inside, strict=True)
        return _Extent(sum(selections), sum(aliases), max(levels))

    def _selection(self, node: Any) -> _Extent:
        if isinstance(node, FragmentSpreadNode):
            name = node.name.value
            if name not in self._fragments:
                raise BadRequest(f"Unknown fragment '{name[:100]}': define it in the document")
            selections, aliases, levels = self.definition(self._fragments[name])
        else:
            selections, aliases, levels = self._below(node)
        if isinstance(node, FieldNode):
            self.fields += 1
            aliases += node.alias is not None
            levels = 1 if node.name.value.startswith("__") else levels + 1
        return _Extent(selections + 1, aliases, levels)


def _pairs(parents: Iterable[Any], fragments: Fragments) -> int:
    """The pairs of fields that have the same name in one place, there and further down."""
    by_name: defaultdict[str, list[FieldNode]] = defaultdict(list)
    for node in fields_below(parents, fragments):
        by_name[(node.alias or node.name).value].append(node)
    return sum(
        len(nodes) * (len(nodes) - 1) // 2 + _pairs(nodes, fragments) for nodes in by_name.values()
    )


def fields_below(parents: Iterable[Any], fragments: Fragments) -> Iterator[FieldNode]:
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
