"""What a request for a page may read."""

from __future__ import annotations

import pytest

from read_side.queries.budget import COUNTED, MERGED, ROWS, Budget
from read_side.refusals import TooBroad


def keys_read(budget: Budget, wanted: int, streams: int, *, checked: bool) -> int:
    """By a walk that finds nothing, until it is refused."""
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
    keys = keys_read(Budget(["filter[title]"]), 11, streams, checked=True)
    assert keys <= min(2 * ROWS * streams, MERGED + COUNTED)


@pytest.mark.parametrize("streams", [1, 10, 1_000])
def test_a_walk_without_checks_is_limited_too(streams: int) -> None:
    keys = keys_read(Budget([]), 101, streams, checked=False)
    assert keys <= min(2 * COUNTED * streams, MERGED + COUNTED)


def test_a_page_of_the_most_lists_is_within_the_budget() -> None:
    budget, found = Budget([]), 0
    while found < 101:
        size = budget.size(101 - found, 1_000, checked=False)
        budget.spend(size, checked=False)
        found += size
