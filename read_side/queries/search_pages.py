"""Pages of the entries that a search has found: the most relevant first, or sorted (ADR 45)."""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence

from read_side.queries.budget import Budget
from read_side.queries.finder import Finder, PageQuery
from read_side.queries.lists import Lists
from read_side.queries.request import Boundary
from read_side.queries.statements import Match, Statements
from read_side.search import MOST, SearchResult

_RANK = struct.Struct(">f")


class SearchPages:
    """``places``: the combination and the position of each entry that may be found; None for all.
    ``excluded``: positions of entries that no page has."""

    def __init__(
        self,
        result: SearchResult,
        lists: Lists,
        budget: Budget,
        places: Sequence[tuple[int, int]] | None,
        excluded: Collection[int],
    ) -> None:
        self._lists = lists
        self._budget = budget
        self._is_excluding = bool(excluded)
        numbers = lists.numbers
        allowed = None if places is None else {position for _, position in places}
        among = [one for one in result.matches if allowed is None or one.position in allowed]
        self._places = [(numbers[one.kind], one.position) for one in among]
        # Ranks are not negative, so their bytes have their order.
        self._ranks = {one.position: _RANK.pack(one.rank) for one in among}

    async def page(
        self, statements: Statements, query: PageQuery, offset: int
    ) -> tuple[int, list[Match]]:
        """The number of matches, and those after the offset. Raises TooBroad."""
        if query.sort:
            return await self._checked(statements, query, offset)
        positions = list(self._ranks)
        if query.conditions or self._is_excluding:
            everything = PageQuery(query.conditions, (), None, MOST)
            _, passing = await self._checked(statements, everything, 0)
            positions = [one.position for one in passing]
        ranked = self._ranked(positions, query.after)
        return len(positions), ranked[offset : offset + query.limit]

    async def _checked(
        self, statements: Statements, query: PageQuery, offset: int
    ) -> tuple[int, list[Match]]:
        finder = Finder(statements, self._lists, self._budget, self._places)
        total, found = await finder.page(query, offset, counted=True)
        assert total is not None, "all of few entries are read"
        return total, found

    def _ranked(self, positions: Sequence[int], after: Boundary | None) -> list[Match]:
        """The most relevant first, of the same rank the newest."""
        ranked = sorted(((self._ranks[one], one) for one in positions), reverse=True)
        if after is not None:
            ranked = [one for one in ranked if one < (after.keys[0], after.position)]
        return [Match((rank,), position) for rank, position in ranked]
