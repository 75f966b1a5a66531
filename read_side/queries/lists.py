"""The lists that a query reads: the entries of each content type, status and language are one, and
each path of theirs is a list of keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from msgspec import Struct

from read_side.queries.comparison import ATTRIBUTES, Condition, EntrySelection
from read_side.queries.ranges import Ranges
from read_side.queries.request import EntryQuery
from read_side.refusals import IncompleteIndex, TooBroad, TypeNotFound
from write_side.domain.definition import Field, decode_fields
from write_side.domain.entry_keys import SEARCH
from write_side.domain.identity import Scope
from write_side.domain.keys import list_id

COMBINATIONS = 1_000
"""The most lists that a query merges."""


class Combination(Struct, frozen=True):
    type_id: str
    content_type: str
    status: str
    language: str

    @property
    def kind(self) -> tuple[str, str, str]:
        return (self.type_id, self.status, self.language)


class CountedCombination(Combination, frozen=True):
    """``number``: of entries."""

    number: int


class Catalogue(Struct, frozen=True):
    """What a query may read. ``type_id`` and ``fields``: of the one type that it names.
    ``incomplete``: paths whose index is being filled."""

    type_id: str | None
    fields: tuple[Field, ...]
    combinations: tuple[CountedCombination, ...]
    incomplete: frozenset[str]
    stamp: int | None

    def selected(
        self, selection: EntrySelection, query: EntryQuery
    ) -> tuple[CountedCombination, ...]:
        """Raises TooBroad, IncompleteIndex."""
        used = {one.path for one in selection.conditions} | {key.field for key in selection.sort}
        if query.words is not None:
            used.add(SEARCH)
        for path in sorted(used & self.incomplete):
            raise IncompleteIndex(path)
        found = tuple(one for one in self.combinations if is_selected(one, selection, query))
        if len(found) > COMBINATIONS:
            raise TooBroad(
                f"The query spans {len(found):,} content types, statuses and languages; the limit "
                f"is {COMBINATIONS:,}: add filter[contentType], filter[status] or filter[language]"
            )
        return found


def catalogue(records: Sequence[Any], type_slug: str | None) -> Catalogue:
    """From the records of ``query_lists.sql``. Raises TypeNotFound."""
    if not records and type_slug is not None:
        raise TypeNotFound
    return Catalogue(
        type_id=records[0]["id"] if type_slug is not None else None,
        fields=decode_fields(records[0]["fields"]) if type_slug is not None else (),
        combinations=tuple(
            CountedCombination(record["id"], record["slug"], *counted)
            for record in records
            for counted in zip(
                record["statuses"], record["languages"], record["numbers"], strict=True
            )
        ),
        incomplete=frozenset(path for record in records for path in record["incomplete"]),
        stamp=records[0]["stamp"] if records else None,
    )


def is_selected(combination: Combination, selection: EntrySelection, query: EntryQuery) -> bool:
    """Whether the entries of a combination may be selected."""
    return (
        query.status in (None, combination.status)
        and query.language in (None, combination.language)
        and all(accepts(_value(combination, name)) for name, accepts in selection.attributes)
    )


def _value(combination: Combination, name: str) -> str:
    return combination.content_type if name == "contentType" else str(getattr(combination, name))


class Streams(Struct, frozen=True):
    """Ranges of keys of several lists, as the columns of a table. ``combinations``: numbers, from
    1, of the combinations that the lists are of."""

    combinations: list[int]
    lists: list[UUID]
    lows: list[bytes]
    highs: list[bytes]


class Lists:
    """The lists of the selected combinations."""

    def __init__(self, scope: Scope, combinations: Sequence[CountedCombination]) -> None:
        self.scope = scope
        self.combinations = combinations
        self.entries = sum(one.number for one in combinations)
        self._ids: dict[str, list[UUID]] = {}

    @property
    def numbers(self) -> dict[tuple[str, str, str], int]:
        """The numbers of the combinations, from 1, by kind."""
        return {one.kind: number for number, one in enumerate(self.combinations, 1)}

    def of_path(self, path: str) -> list[UUID]:
        """The list of each combination."""
        if path not in self._ids:
            self._ids[path] = [
                list_id(self.scope, one.type_id, one.status, one.language, path)
                for one in self.combinations
            ]
        return self._ids[path]

    def streams(self, path: str, ranges: Ranges) -> Streams:
        found = Streams([], [], [], [])
        for number, list_ in enumerate(self.of_path(path), 1):
            for low, high in ranges:
                found.combinations.append(number)
                found.lists.append(list_)
                found.lows.append(low)
                found.highs.append(high)
        return found

    def adjacent(self, paths: Sequence[str]) -> list[UUID]:
        """The lists of all paths of the first combination, then those of the next."""
        by_path = [self.of_path(path) for path in paths]
        return [ids[number] for number in range(len(self.combinations)) for ids in by_path]

    def by_attribute(self, name: str, *, descending: bool) -> Iterable[tuple[bytes, Lists]]:
        """The lists of each value of an attribute, in its order, with the key of the value."""
        found: dict[bytes, list[CountedCombination]] = {}
        for one in self.combinations:
            found.setdefault(_value(one, name).encode(), []).append(one)
        for key in sorted(found, reverse=descending):
            yield key, Lists(self.scope, found[key])

    def attribute_keys(self, paths: Sequence[str]) -> list[bytes | None]:
        """The keys of the attributes among the paths, as ``adjacent``; None for other paths. Empty
        if there are no attributes."""
        if not set(ATTRIBUTES) & set(paths):
            return []
        return [
            _value(one, path).encode() if path in ATTRIBUTES else None
            for one in self.combinations
            for path in paths
        ]

    def checks(self, conditions: Sequence[Condition]) -> list[list[Any]]:
        """The parameters of ``checked.sql`` for conditions."""
        firsts, lasts, lows, highs = [], [], list[bytes](), list[bytes]()
        for one in conditions:
            firsts.append(len(lows) + 1)
            lows += (low for low, _ in one.ranges)
            highs += (high for _, high in one.ranges)
            lasts.append(len(lows))
        paths = [one.path for one in conditions]
        parts = [one.part for one in conditions]
        return [self.adjacent(paths), firsts, lasts, parts, lows, highs]
