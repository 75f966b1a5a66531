"""Reads keys in the order of a page until the page is full.

A list of keys is in ascending order, and the newest entry of each key comes first. That is the
order of a page with one ascending sort key. Otherwise the entries of one key are a *group*: a group
that ends within what a statement reads is sorted here, and a longer one is found as a query of its
own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from read_side.queries.budget import Budget
from read_side.queries.comparison import Condition
from read_side.queries.ranges import COMPARABLE, END, Range, Ranges, intersection, point, rank
from read_side.queries.request import Boundary, SortKey
from read_side.queries.statements import Candidate, Checks, Match, Statements
from read_side.stamp import LATEST
from write_side.domain.keys import INCOMPARABLE

FindGroup: TypeAlias = Callable[[bytes, int], Awaitable[list[Match]]]
"""Finds the first entries of a group, by its key."""
_LAST: Ranges = ((INCOMPARABLE, END),)


class Walk:
    """``checks``: the conditions that are not part of what is read, and the sort keys but the
    first. ``limit``: how many matches to find."""

    def __init__(self, statements: Statements, budget: Budget, checks: Checks, limit: int) -> None:
        self._statements = statements
        self._budget = budget
        self._checks = checks
        self._limit = limit
        self._found: list[Match] = []

    async def by_position(
        self, read: Condition | None, after: Boundary | None, above: int
    ) -> list[Match]:
        """The entries with one of the condition's keys, or all, newest first; down to the position
        ``above``, or further. Raises TooBroad."""
        below = LATEST if after is None else after.position
        ranges = 1 if read is None else len(read.ranges)
        while not self._is_full:
            size = self._size(ranges)
            if read is None:
                rows = await self._statements.newest(below, self._checks, size)
            else:
                rows = await self._statements.equal(read, below, self._checks, size)
            self._found += [Match((), one.position) for one in rows if one.passes]
            if len(rows) < size or rows[-1].position <= above:
                break
            below = rows[-1].position
            self._spend(rows)
        return self._found[: self._limit]

    async def by_key(
        self, first: SortKey, ranges: Ranges, after: Boundary | None, find_group: FindGroup
    ) -> list[Match]:
        """Matches in the order of their keys at a path, within ranges of keys. Raises TooBroad."""
        self._path, self._find_group = first.field, find_group
        if after is not None and (first.descending or self._checks.sort):
            key = after.keys[0]
            self._found += await find_group(key, self._limit)
            ranges = _beyond(ranges, key, descending=first.descending)
            after = None
        if not first.descending:
            await self._ascend(ranges, after)
            return self._found[: self._limit]
        for one in reversed(intersection(ranges, COMPARABLE)):
            await self._descend(one)
        # What cannot be compared comes last in both directions.
        await self._ascend(intersection(ranges, _LAST), None)
        return self._found[: self._limit]

    async def _ascend(self, ranges: Ranges, after: Boundary | None) -> None:
        while ranges and not self._is_full:
            if after is not None:
                ranges = _from(ranges, after.keys[0])
            size = self._size(len(ranges))
            rows = await self._statements.walk(self._path, ranges, after, self._checks, size)
            if not self._checks.sort:
                self._found += _matches(rows)
                if len(rows) < size:
                    break
                after = Boundary((rows[-1].key,), rows[-1].position)
                self._spend(rows)
                continue
            last = await self._add_groups(rows, size, descending=False)
            if last is None:
                break
            ranges = _beyond(ranges, last, descending=False)

    async def _descend(self, range_: Range) -> None:
        low, high = range_
        while low < high and not self._is_full:
            size = self._size(1)
            rows = await self._statements.walk_back(self._path, (low, high), self._checks, size)
            last = await self._add_groups(rows, size, descending=True)
            if last is None:
                break
            high = last

    async def _add_groups(
        self, rows: Sequence[Candidate], size: int, *, descending: bool
    ) -> bytes | None:
        """Adds the groups that begin in the rows. Returns the key of the last, or None if the rows
        are the last ones."""
        is_end = len(rows) < size
        last = None if is_end else rows[-1].key
        whole = [one for one in rows if one.key != last]
        directions = (descending, *(key.descending for key in self._checks.sort))
        self._found += sorted(
            _matches(whole), key=lambda one: (rank(one.keys, directions), -one.position)
        )
        if last is None:
            return None
        if not self._is_full:
            self._spend(rows)
            group = await self._find_group(last, self._limit - len(self._found))
            self._found += group
            self._spend(group)
        return last

    @property
    def _is_full(self) -> bool:
        return len(self._found) >= self._limit

    @property
    def _is_checked(self) -> bool:
        return bool(self._checks.conditions)

    def _size(self, ranges: int) -> int:
        wanted = self._limit - len(self._found) + 1
        streams = ranges * len(self._statements.lists.combinations)
        return self._budget.size(wanted, streams, checked=self._is_checked)

    def _spend(self, rows: Sequence[Candidate | Match]) -> None:
        if not self._is_full:
            self._budget.spend(len(rows), checked=self._is_checked)


def _matches(rows: Sequence[Candidate]) -> list[Match]:
    return [Match((one.key, *(one.keys or ())), one.position) for one in rows if one.passes]


def _from(ranges: Ranges, key: bytes) -> Ranges:
    return intersection(ranges, ((key, END),))


def _beyond(ranges: Ranges, key: bytes, *, descending: bool) -> Ranges:
    """The ranges after a key."""
    if descending and key < INCOMPARABLE:
        return intersection(ranges, ((b"", key), *_LAST))
    return _from(ranges, point(key)[1])
