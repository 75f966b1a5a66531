"""Finds the entries of a page within a budget of entries that are read (ADR 44).

There are two ways. *Walking* (``walk.py``) reads keys in the order of the page and ends when the
page is full. *Collecting* reads all entries that meet one condition, and sorts them. A query is
collected if a walk would have to check candidates and few enough entries meet a condition.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from read_side.queries import ranges
from read_side.queries.budget import COUNTED, ROWS, Budget
from read_side.queries.comparison import ATTRIBUTES, Condition
from read_side.queries.lists import Streams
from read_side.queries.ranges import rank
from read_side.queries.request import Boundary, SortKey
from read_side.queries.statements import Checks, Match, Statements
from read_side.queries.walk import Walk

STREAMS = 1_000
"""Ranges of keys that a walk merges, and that a condition may have to be counted."""


class PageQuery(Struct, frozen=True):
    """``limit``: how many entries to find after the boundary. ``above``: without sort keys, matches
    at this position and below it may be left out."""

    conditions: tuple[Condition, ...]
    sort: tuple[SortKey, ...]
    after: Boundary | None
    limit: int
    above: int = 0


class Finder:
    """``places``: the combination and the position of each entry that may be found; None for all.
    ``excludes``: the number of entries that no page has."""

    def __init__(
        self,
        statements: Statements,
        budget: Budget,
        places: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        self.lists = statements.lists
        self.excludes = len(statements.excluded)
        self._statements = statements
        self.places = places
        self._budget = budget
        self._counts: dict[Condition, int] = {}

    def among(self, places: Sequence[tuple[int, int]]) -> Finder:
        """This finder, restricted to the entries at these places."""
        if self.places is not None:
            allowed = {position for _, position in self.places}
            places = [place for place in places if place[1] in allowed]
        return Finder(self._statements, self._budget, places)

    async def page(
        self, query: PageQuery, offset: int, *, counted: bool
    ) -> tuple[int | None, list[Match]]:
        """The total, if it is wanted and within the budget, and the matches after the offset.
        Raises TooBroad."""
        if not all(one.ranges for one in query.conditions):
            return 0, []
        few = await self._few(query)
        if few is not None:
            return await self._collected(*few, query, offset)
        # Without conditions, counting is free, and an offset past the end is noticed.
        is_counted = counted or not query.conditions
        total = await self._total(query.conditions) if is_counted else None
        if total is not None and offset >= total:
            return total, []
        found = await self._walked(replace(query, limit=offset + query.limit))
        return total, found[offset:]

    async def group(self, query: PageQuery, key: bytes, limit: int) -> list[Match]:
        """The matches with this first key. Raises TooBroad."""
        path = query.sort[0].field
        others = tuple(one for one in query.conditions if one.path != path)
        any_key = Condition(path, ranges.ALL)
        of_path = next((one for one in query.conditions if one.path == path), any_key)
        # A walk that checks this condition also meets keys that do not meet it.
        same = replace(of_path, ranges=ranges.intersection(of_path.ranges, (ranges.point(key),)))
        if not same.ranges:
            return []
        return await self._inner(replace(query, conditions=(*others, same)), key, limit)

    async def _inner(self, query: PageQuery, key: bytes, limit: int) -> list[Match]:
        """The matches, all of which have this first key. Raises TooBroad."""
        after = query.after
        if after is not None:
            after = Boundary(after.keys[1:], after.position) if after.keys[0] == key else None
        inner = PageQuery(query.conditions, query.sort[1:], after, limit)
        few = await self._few(inner)
        if few is None:
            found = await self._walked(inner)
        else:
            _, found = await self._collected(*few, inner, 0)
        return [replace(one, keys=(key, *one.keys)) for one in found]

    async def _few(self, query: PageQuery) -> tuple[Streams, tuple[Condition, ...]] | None:
        """Streams of few entries, among which are all matches, and the conditions to check them
        for; None to walk."""
        conditions = query.conditions
        if self.places is not None:
            return Streams([], [], [], []), conditions
        checks, _ = self._plan(query)
        # A count of keys would include the excluded entries.
        if not checks and not (self.excludes and conditions):
            return None
        await self._count(conditions)
        fewest = min(conditions, key=self._count_of)
        if self._count_of(fewest) <= ROWS:
            streams = self.lists.streams(fewest.path, fewest.ranges)
            return streams, _unread(conditions, fewest)
        if self.lists.entries > ROWS:
            return None
        # All entries, each once, because every entry has exactly one creation time.
        return self.lists.streams("createdAt", ranges.ALL), conditions

    async def _collected(
        self, streams: Streams, conditions: tuple[Condition, ...], query: PageQuery, offset: int
    ) -> tuple[int, list[Match]]:
        checks = Checks(conditions, query.sort)
        return await self._statements.collect(
            streams, self.places or (), checks, query.after, query.limit, offset
        )

    async def _walked(self, query: PageQuery) -> list[Match]:
        conditions, read = self._plan(query)
        checks = Checks(conditions, query.sort[1:])
        walk = Walk(self._statements, self._budget, checks, query.limit)
        if not query.sort:
            return await walk.by_position(read, query.after, query.above)
        first = query.sort[0]
        if first.field in ATTRIBUTES:
            return await self._by_attribute(query, first)
        return await walk.by_key(
            first,
            read.ranges if read else ranges.ALL,
            query.after,
            lambda key, limit: self.group(query, key, limit),
        )

    async def _by_attribute(self, query: PageQuery, first: SortKey) -> list[Match]:
        """List by list: the first key is the same for all entries of a list. Raises TooBroad."""
        found: list[Match] = []
        begins = "" if query.after is None else rank(query.after.keys[:1], [first.descending])
        groups = self.lists.by_attribute(first.field, descending=first.descending)
        for key, lists in groups:
            if rank([key], [first.descending]) < begins:
                continue
            finder = Finder(self._statements.within(lists), self._budget)
            found += await finder._inner(query, key, query.limit - len(found))
            if len(found) >= query.limit:
                break
            self._budget.spend(0, checked=bool(query.conditions))
        return found

    def _plan(self, query: PageQuery) -> tuple[tuple[Condition, ...], Condition | None]:
        """The conditions that a walk has to check, and the one that it reads instead."""
        conditions = query.conditions
        usable = [one for one in conditions if self._streams(one) <= STREAMS]
        if query.sort:
            usable = [one for one in usable if one.path == query.sort[0].field]
        else:
            usable = [one for one in usable if one.has_points]
        if not usable:
            return conditions, None
        read = min(usable, key=self._count_of)
        return _unread(conditions, read), read

    async def _total(self, conditions: tuple[Condition, ...]) -> int | None:
        """None if counting would exceed the budget."""
        if not conditions:
            return self.lists.entries - self.excludes
        if len(conditions) > 1 or conditions[0].part or self.excludes:
            return None
        [condition] = conditions
        others = replace(condition, ranges=ranges.complement(condition.ranges))
        # An entry may have several keys, but each key only once: counting one counts entries.
        countable = [one for one in (condition, others) if one.has_points or not one.repeats]
        for most in (ROWS, COUNTED):
            for counted in countable:
                [number] = await self._statements.counts([counted], most + 1)
                if number <= most:
                    return number if counted is condition else self.lists.entries - number
        return None

    async def _count(self, conditions: Sequence[Condition]) -> None:
        """Learns how many keys meet each, up to one more than ROWS."""
        unknown = [
            one for one in conditions if one not in self._counts and self._streams(one) <= STREAMS
        ]
        if unknown:
            counts = await self._statements.counts(unknown, ROWS + 1)
            self._counts |= zip(unknown, counts, strict=True)

    def _count_of(self, condition: Condition) -> int:
        return self._counts.get(condition, ROWS + 1)

    def _streams(self, condition: Condition) -> int:
        return len(condition.ranges) * len(self.lists.combinations)


def _unread(conditions: tuple[Condition, ...], walked: Condition) -> tuple[Condition, ...]:
    """The conditions that must still be checked for entries in the key ranges of one of them."""
    return tuple(one for one in conditions if one is not walked or one.part)
