"""The statements of a query, on one connection, within one snapshot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from read_side.queries.comparison import Condition
from read_side.queries.lists import Lists, Streams
from read_side.queries.ranges import Range, Ranges, rank
from read_side.queries.request import Boundary, SortKey
from read_side.stamp import LATEST
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

CHUNK = 2_000
"""The most entries of a walk's statement; the statements name this number too."""


class Candidate(Struct, frozen=True):
    """An entry that a walk met. ``keys``: of the further sort keys, if it passes all conditions."""

    key: bytes
    position: int
    passes: bool
    keys: Sequence[bytes] | None


class Match(Struct, frozen=True):
    """An entry that the query finds. ``keys``: one for each sort key. ``record``: the entry's
    version, if that has ended (``past_versions``)."""

    keys: tuple[bytes, ...]
    position: int
    record: Any = None


class Checks(Struct, frozen=True):
    """The conditions that candidates must meet, and the sort keys whose values are read."""

    conditions: tuple[Condition, ...] = ()
    sort: tuple[SortKey, ...] = ()


class Statements:
    """``excluded``: positions of entries that no page has."""

    def __init__(
        self, connection: Connection, lists: Lists, excluded: Collection[int] = ()
    ) -> None:
        self._connection = connection
        self.lists = lists
        self.excluded = list(excluded)

    def within(self, lists: Lists) -> Statements:
        """These statements for other lists."""
        return Statements(self._connection, lists, self.excluded)

    async def walk(
        self, path: str, ranges: Ranges, after: Boundary | None, checks: Checks, size: int
    ) -> list[Candidate]:
        """Candidates in the order of their keys, those with the same key newest first."""
        streams = self.lists.streams(path, ranges)
        lows, afters = streams.lows, [~LATEST] * len(streams.lows)
        if after is not None:
            first, below = after.keys[0], ~after.position
            afters = [below if low == first else ~LATEST for low in lows]
        found = await self._candidates(
            "query_walk",
            checks,
            streams.combinations,
            streams.lists,
            lows,
            afters,
            streams.highs,
            size,
        )
        return sorted(found, key=lambda one: (one.key, -one.position))

    async def walk_back(self, path: str, keys: Range, checks: Checks, size: int) -> list[Candidate]:
        """Candidates from the highest key of the range down."""
        streams = self.lists.streams(path, (keys,))
        found = await self._candidates("query_walk_back", checks, *astuple(streams), size)
        return sorted(found, key=lambda candidate: candidate.key, reverse=True)

    async def equal(
        self, condition: Condition, below: int, checks: Checks, size: int
    ) -> list[Candidate]:
        """Candidates with one of the condition's keys, newest first."""
        streams = self.lists.streams(condition.path, condition.ranges)
        found = await self._candidates("query_equal", checks, *astuple(streams), below, size)
        return sorted(found, key=lambda one: -one.position)

    async def newest(self, below: int, checks: Checks, size: int) -> list[Candidate]:
        """Candidates of all lists, newest first."""
        lists = self.lists.combinations
        found = await self._candidates(
            "query_newest",
            checks,
            list(range(1, len(lists) + 1)),
            [one.type_id for one in lists],
            [one.status for one in lists],
            [one.language for one in lists],
            below,
            size,
        )
        return sorted(found, key=lambda one: -one.position)

    async def collect(
        self,
        streams: Streams,
        known: Sequence[tuple[int, int]],
        checks: Checks,
        after: Boundary | None,
        limit: int,
        offset: int,
    ) -> tuple[int, list[Match]]:
        """The number of matches among all entries of the streams and the known ones (combination
        and position), and a page of them."""
        descending = [key.descending for key in checks.sort]
        records = await self._fetch(
            "query_collect",
            streams.combinations,
            *self._of_checks(checks),
            streams.lists,
            streams.lows,
            streams.highs,
            [number for number, _ in known],
            [position for _, position in known],
            descending,
            "" if after is None else rank(after.keys, descending),
            LATEST if after is None else after.position,
            limit,
            offset,
        )
        matches = [
            Match(tuple(record["keys"]), record["position"])
            for record in records
            if record["position"] is not None
        ]
        return records[0]["total"], sorted(
            matches, key=lambda one: (rank(one.keys, descending), -one.position)
        )

    async def counts(self, conditions: Sequence[Condition], most: int) -> list[int]:
        """The number of keys in the ranges of each condition, up to ``most``."""
        numbers, parts = [], []
        for number, one in enumerate(conditions):
            parts.append(self.lists.streams(one.path, one.ranges))
            numbers += [number] * len(parts[-1].lists)
        records = await self._fetch(
            "query_counts",
            numbers,
            [one for part in parts for one in part.lists],
            [one for part in parts for one in part.lows],
            [one for part in parts for one in part.highs],
            list(range(len(conditions))),
            most,
        )
        found = {record["number"]: record["n"] for record in records}
        return [found[number] for number in range(len(conditions))]

    async def places(self, ids: Collection[str]) -> dict[str, tuple[int, int]]:
        """The combination and position of each entry, by id; without those that are in none."""
        numbers = self.lists.numbers
        places = {}
        for record in await self._fetch("query_ids", list(ids)) if ids else ():
            key = (record["type_id"], record["status"], record["language"])
            if key in numbers:
                places[record["id"]] = (numbers[key], record["position"])
        return places

    async def _candidates(
        self, name: str, checks: Checks, combinations: list[int], *more: Any
    ) -> list[Candidate]:
        records = await self._fetch(name, combinations, *self._of_checks(checks), *more)
        return [Candidate(*record) for record in records]

    def _of_checks(self, checks: Checks) -> list[Any]:
        lists = self.lists
        paths = [key.field for key in checks.sort]
        sorts = [lists.adjacent(paths), lists.attribute_keys(paths), len(paths)]
        return [*lists.checks(checks.conditions), *sorts, self.excluded]

    async def _fetch(self, name: str, *parameters: Any) -> list[Any]:
        scope = self.lists.scope
        found: list[Any] = await self._connection.fetch(
            statement("read_side", name), scope.workspace, scope.environment, *parameters
        )
        return found
