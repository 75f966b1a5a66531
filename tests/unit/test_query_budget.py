"""How much a request for a page may read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from read_side.queries import ranges
from read_side.queries.budget import COUNTED, MERGED, ROWS, Budget
from read_side.queries.comparison import Condition, selection
from read_side.queries.request import EntryQuery, Filter, SortKey
from read_side.queries.statements import CHUNK, Candidate, Checks, Match
from read_side.queries.walk import Walk
from read_side.refusals import TooBroad
from write_side.domain.definition import Field

FIELDS = (
    Field("price", "Price", "number", indexed=True),
    Field("rank", "Rank", "number", indexed=True),
    Field("plain", "Plain", "number"),
    Field("span", "Span", "datetime", range=True, indexed=True),
)


def budget_of(*fields: str, type_slug: str | None = "posts", offset: int = 0) -> Budget:
    """Returns the budget of a query that filters on these fields, for a page at the offset."""
    query = EntryQuery(
        type_slug=type_slug,
        status=None if type_slug is None else "published",
        language=None if type_slug is None else "en-US",
        filters=tuple(Filter(one, "ne", ("1",)) for one in fields),
        custom=type_slug is not None,
        limit=10,
    )
    return Budget(selection(query, FIELDS), offset)


def keys_read(budget: Budget, wanted: int, streams: int, *, checked: bool) -> int:
    """Returns how many keys a scan without matches reads before it is refused."""
    keys = 0
    while True:
        size = budget.size(wanted, streams, checked=checked)
        keys += size * streams
        try:
            budget.spend(size, checked=checked)
        except TooBroad:
            return keys


@pytest.mark.parametrize("streams", [1, 10, 1_000])
def test_checked_entries_and_merged_keys_are_limited(streams: int) -> None:
    keys = keys_read(budget_of("title"), 11, streams, checked=True)
    assert keys <= min(2 * ROWS * streams, MERGED + COUNTED)


@pytest.mark.parametrize("streams", [1, 10, 1_000])
def test_a_walk_without_checks_is_limited_too(streams: int) -> None:
    keys = keys_read(budget_of(), 101, streams, checked=False)
    assert keys <= min(2 * COUNTED * streams, MERGED + COUNTED)


class EntriesThatFail:
    """Statements on a list of which every entry has its own first key and fails the conditions."""

    def __init__(self) -> None:
        self.lists = SimpleNamespace(combinations=(1,))
        self.read = 0

    async def walk(self, *arguments: Any) -> list[Candidate]:
        self.read += arguments[-1]
        numbers = range(self.read - arguments[-1], self.read)
        return [Candidate(one.to_bytes(4), one, passes=False, keys=None) for one in numbers]


async def test_a_walk_over_groups_spends_the_entries_that_do_not_match() -> None:
    statements: Any = EntriesThatFail()
    checks = Checks((Condition("title", ranges.ALL),), (SortKey("rank"),))
    walk = Walk(statements, budget_of("title"), checks, 11)

    async def find_no_entry_of_the_group(_key: bytes, _limit: int) -> list[Match]:
        return []

    with pytest.raises(TooBroad):
        await walk.by_key(SortKey("price"), ranges.ALL, None, find_no_entry_of_the_group)
    assert statements.read <= ROWS + CHUNK


def test_a_page_of_the_most_lists_is_within_the_budget() -> None:
    budget, found = budget_of(), 0
    while found < 101:
        size = budget.size(101 - found, 1_000, checked=False)
        budget.spend(size, checked=False)
        found += size


@pytest.mark.parametrize(
    ("budget", "narrow", "others"),
    [
        (
            budget_of("title"),
            "filter[title][ne]",
            "fields.price, fields.rank, fields.span.from, fields.span.to, createdAt or updatedAt",
        ),
        (
            budget_of("fields.price", "fields.rank"),
            "filter[fields.price][ne] or filter[fields.rank][ne]",
            "fields.span.from, fields.span.to, createdAt or updatedAt",
        ),
        (
            budget_of("slug", "language", type_slug=None),
            "filter[slug][ne]",
            "status, contentType, createdAt or updatedAt",
        ),
    ],
)
def test_a_refusal_names_the_fields_that_a_filter_could_name(
    budget: Budget, narrow: str, others: str
) -> None:
    with pytest.raises(TooBroad) as caught:
        budget.spend(ROWS, checked=True)
    assert str(caught.value) == (
        f"The query checks more than 10,000 entries to find this page: narrow {narrow}, or add a "
        f"filter on {others} that at most 10,000 entries match, because only these are checked then"
    )


def test_a_refusal_without_a_filter_is_about_the_sort_keys() -> None:
    # Entries with equal first sort keys are checked; even without a filter there may be too many.
    with pytest.raises(TooBroad, match="to find this page: sort by fewer keys, or add a filter on"):
        budget_of().spend(ROWS, checked=True)


def test_a_refusal_of_an_offset_proposes_a_cursor() -> None:
    with pytest.raises(
        TooBroad, match="page: page with cursor=first and the cursors that follow, or narrow"
    ):
        budget_of("slug", offset=1).spend(ROWS, checked=True)
