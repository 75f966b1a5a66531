"""What one request may still spend, charged where it turns out: how much lists really hold, how
many events are folded, how many bytes are read and shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import strawberry

from api.errors import BadRequest
from api.graphql.cost import LISTS, Costs
from api.graphql.limits import check_cost
from write_side.history import Allowance

EVENTS = 20_000
BYTES = 64 * 1024 * 1024
T = TypeVar("T")
V = TypeVar("V", bound=bytes | str | None)


class Spending(Allowance):
    """Raises BadRequest wherever more is asked for than there is left."""

    def __init__(self) -> None:
        self._costs: Costs | None = None
        self._cost = self._events = self._bytes = 0

    def begin(self, costs: Costs) -> None:
        """With what the document is known to cost before anything is looked up."""
        self._costs = costs
        self._spend(costs.of_all())

    def on_list(self, info: strawberry.Info[Any, Any], number: int) -> None:
        """Before a list is answered with: for those that it holds beyond what it was taken to."""
        assert self._costs is not None
        beyond = number - LISTS.get(info.field_name, 1)
        if beyond > 0:
            self._spend(beyond * sum(map(self._costs.of_one, info._raw_info.field_nodes)))  # noqa: SLF001

    def on_bytes(self, number: int) -> None:
        self._bytes += number
        if self._bytes > BYTES:
            raise BadRequest(
                f"The answer takes more than {BYTES:,} bytes of values: "
                "ask for fewer entries at once"
            )

    def begins(self) -> None:
        if self._events >= EVENTS:
            raise BadRequest(
                f"The query looks back over more than {EVENTS:,} changes: "
                "ask for the history of fewer entries at once"
            )

    def folded(self) -> None:
        self._events += 1

    def _spend(self, cost: int) -> None:
        self._cost += cost
        check_cost(self._cost)


def listed(info: strawberry.Info[Any, Any], found: Sequence[T]) -> list[T]:
    """A list that a request is answered with, charged."""
    info.context.spending.on_list(info, len(found))
    return list(found)


def shown(info: strawberry.Info[Any, Any], value: V) -> V:
    """A value that a request is answered with, charged."""
    info.context.spending.on_bytes(0 if value is None else len(value))
    return value
