"""How much a request for a page may read."""

from __future__ import annotations

import pytest

from read_side.queries.budget import COUNTED, MERGED, ROWS, Budget
from read_side.queries.comparison import selection
from read_side.queries.request import EntryQuery, Filter
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
