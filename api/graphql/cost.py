"""The cost of a GraphQL request: estimated before execution and charged during it (ADR 14).

The cost approximates the size of the response: a value counts 1, an object 10. Pages count with
their limit and other lists with their usual length; further items are charged when their number is
known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import strawberry
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    IntValueNode,
    NullValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
)

from api.errors import BadRequest
from api.rest.list_query import ListQuery
from api.rest.parameters import clamped_limit
from api.rest.wire import MAX_LIMIT
from read_side.queries.budget import COUNTED
from write_side.entry_history import ReadBudget

COST = 100_000
EVENTS = 20_000
BYTES = 32 * 1024 * 1024
OBJECT = 10
LISTS = {"contentTypes": 20, "fields": 10, "stages": 3, "references": 5}
"""The usual length of lists that have no limit."""
DEFAULT_LIMITS = {"contentEntries": 10, "history": 20}
MUTATION = 900
"""A hundred mutations that select their entries fit into one request."""
INTROSPECTION = 34_000
"""The fixed price of a ``__schema`` or ``__type``. Two fit into one request, because each may block
the event loop for 40 ms. It has up to 10,000 values: graphql-core limits how deep its lists nest,
and the limit on aliases how wide it is."""
AS_OF = 1_000
"""The work of an ``asOf``: three queries, and two streams to fold."""
FOLDED = 100
"""The work of each further entry on a page with ``asOf``, and of each past reference."""
QUERY = 1_000
"""The work of a list with filters, sort keys, a search or a cursor: several statements."""
_QUERY = ("filter", "sort", "search", "cursor")
SEARCH = 3_000
"""The additional work of a search, which ranks up to 10,000 entries."""
CHECK = 3_000
"""The work of each filter and sort key for which up to 10,000 entries may be checked."""
SKIPPED = 5
"""Entries before the page that count as much as one value. A plain list does not read them."""
_SURCHARGES = {
    "createContentEntry": MUTATION,
    "updateContentEntry": MUTATION,
    "deleteContentEntry": MUTATION,
    "history": 100,
}

Variables = Mapping[str, Any]
Fragments = Mapping[str, FragmentDefinitionNode]
T = TypeVar("T")
V = TypeVar("V", bound=bytes | str | None)


class CostEstimate:
    """The cost of an operation of a valid document with its variables."""

    def __init__(
        self, operation: OperationDefinitionNode, fragments: Fragments, variables: Variables
    ) -> None:
        self._operation = operation
        self._fragments = fragments
        declared = operation.variable_definitions or ()
        defaults = {each.variable.name.value: _value(each.default_value) for each in declared}
        self._variables = {**defaults, **variables}
        self._known: dict[tuple[int, int], int] = {}

    def total(self) -> int:
        return self._of_selections(self._operation.selection_set, 1)

    def of_item(self, node: FieldNode) -> int:
        return OBJECT + self._of_selections(node.selection_set, 1) if node.selection_set else 1

    def _of_selections(self, selected: SelectionSetNode | None, page: int) -> int:
        """``page``: the length of ``data`` among the selections."""
        if selected is None:
            return 0
        key = (id(selected), page)
        if key not in self._known:
            self._known[key] = sum(self._of_selection(node, page) for node in selected.selections)
        return self._known[key]

    def _of_selection(self, node: Any, page: int) -> int:
        if isinstance(node, FieldNode):
            return self._of_field(node, page)
        if isinstance(node, FragmentSpreadNode):
            node = self._fragments[node.name.value]
        return self._of_selections(node.selection_set, page)

    def _of_field(self, node: FieldNode, page: int) -> int:
        name = node.name.value
        work = 0 if self._argument(node, "asOf") is None else AS_OF
        match name:
            case "__schema" | "__type":
                return INTROSPECTION
            case "contentEntries":
                limit = self._limit(node)
                work += self._of_query(node) + (FOLDED * limit if work else 0)
                return work + OBJECT + self._of_selections(node.selection_set, limit)
            case "data":
                length = page
            case "history":
                length = self._limit(node)
            case _:
                length = LISTS.get(name, 1) if node.selection_set else 1
        return work + _SURCHARGES.get(name, 0) + length * self.of_item(node)

    def _of_query(self, node: FieldNode) -> int:
        """The cost of a query, without what ``Budget.charge_checks`` adds."""
        given = {name for name in _QUERY if self._argument(node, name) is not None}
        if not given:
            return 0
        offset = self._argument(node, "offset")
        skipped = min(max(offset, 0), COUNTED) if isinstance(offset, int) else 0
        return QUERY + SEARCH * ("search" in given) + skipped // SKIPPED

    def _limit(self, node: FieldNode) -> int:
        """The clamped limit. Execution refuses a value that is not a number."""
        limit = self._argument(node, "limit")
        if not isinstance(limit, int):
            return DEFAULT_LIMITS[node.name.value] if limit is None else MAX_LIMIT
        return clamped_limit(limit, MAX_LIMIT)

    def _argument(self, node: FieldNode, name: str) -> Any:
        """None if it is absent or null."""
        for argument in node.arguments or ():
            if argument.name.value == name:
                given = argument.value
                if isinstance(given, VariableNode):
                    return self._variables.get(given.name.value)
                return _value(given)
        return None


class Budget(ReadBudget):
    """The budget of one request. Every charge raises BadRequest if too little is left."""

    def __init__(self) -> None:
        self._estimate: CostEstimate | None = None
        self.cost = self._bytes = 0

    def begin(self, estimate: CostEstimate) -> None:
        """Charges the estimate, before anything is looked up."""
        self._estimate = estimate
        self._charge(estimate.total())

    def charge_list(self, info: strawberry.Info[Any, Any], length: int) -> None:
        """Charges the items that the estimate did not count."""
        assert self._estimate is not None
        extra = length - LISTS.get(info.field_name, 1)
        if extra > 0:
            # Strawberry's public selected_fields would expand every fragment again.
            nodes = info._raw_info.field_nodes  # noqa: SLF001
            self._charge(extra * sum(map(self._estimate.of_item, nodes)))

    def charge_folded(self, number: int) -> None:
        """Charges past entries that the estimate did not count."""
        self._charge(FOLDED * number)

    def charge_checks(self, query: ListQuery) -> None:
        """Charges the filters and sort keys that are checked entry by entry. Without a search, the
        first is not, because its keys are read in order. ``contains`` is an additional check."""
        parts = sum(one.operator == "contains" for one in query.filters)
        checks = len(query.filters) + parts + len(query.sort) - (query.words is None)
        self._charge(CHECK * max(checks, 0))

    def charge_bytes(self, number: int) -> None:
        self._bytes += number
        if self._bytes > BYTES:
            raise BadRequest(
                f"The response has more than {BYTES:,} bytes of values: "
                "request fewer entries or fields at a time"
            )

    def begin_stream(self) -> None:
        if self.events >= EVENTS:
            raise BadRequest(
                f"The query reads more than {EVENTS:,} changes: "
                "request the history of fewer entries at a time"
            )
        if self.read >= BYTES:
            raise BadRequest(
                f"The query reads more than {BYTES:,} bytes of changes: "
                "request fewer entries at a time"
            )

    def _charge(self, cost: int) -> None:
        total = self.cost + cost
        if total > COST:
            raise BadRequest(
                f"The query costs {total:,}; the limit is {COST:,}: "
                "request smaller pages, or fewer nested lists, searches, filters and sort keys"
            )
        self.cost = total


def charged_list(info: strawberry.Info[Any, Any], items: Sequence[T]) -> list[T]:
    """The items, charged to the budget of the request."""
    info.context.budget.charge_list(info, len(items))
    return list(items)


def charged(info: strawberry.Info[Any, Any], value: V) -> V:
    info.context.budget.charge_bytes(0 if value is None else len(value))
    return value


def _value(node: ValueNode | None) -> Any:
    """A value as far as it is needed: to know a limit, or that the value exists."""
    if node is None or isinstance(node, NullValueNode):
        return None
    if isinstance(node, IntValueNode):
        return int(node.value[:20])
    return getattr(node, "value", node)
