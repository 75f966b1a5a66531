"""Ranges of keys, and ranks that sort as several keys do."""

from __future__ import annotations

from functools import cmp_to_key

import hypothesis.strategies as st
import pytest
from hypothesis import given

from read_side.queries import ranges
from read_side.queries.ranges import Ranges, rank
from read_side.queries.request import ANY_OF, OPERATORS
from write_side.domain.keys import INCOMPARABLE, MISSING, text_key

KEYS = st.one_of(st.text(max_size=3).map(text_key), st.sampled_from([b"", INCOMPARABLE, MISSING]))
SETS = st.lists(KEYS, max_size=5).map(ranges.points)


def has(found: Ranges, key: bytes) -> bool:
    return any(low <= key < high for low, high in found)


@given(SETS, SETS, KEYS)
def test_the_algebra_of_ranges(one: Ranges, other: Ranges, key: bytes) -> None:
    assert has(ranges.complement(one), key) != has(one, key)
    both = has(one, key) and has(other, key)
    assert has(ranges.intersection(one, other), key) == both
    assert has(ranges.complement(ranges.complement(one)), key) == has(one, key)


@given(st.text(min_size=1, max_size=3), st.text(max_size=5))
def test_texts_that_begin_with_another(prefix: str, text: str) -> None:
    assert has(ranges.beginning_with(prefix.encode()), text.encode()) == text.startswith(prefix)


@pytest.mark.parametrize("operator", sorted({*OPERATORS} - {"exists"}))
@given(st.lists(st.text(alphabet="ab", min_size=1, max_size=3).map(text_key), min_size=1))
def test_the_ranges_of_an_operator_are_sorted_and_do_not_overlap(
    operator: str, keys: list[bytes]
) -> None:
    """Queries rely on this: an entry in two ranges would be listed twice."""
    found = ranges.of_operator(operator, keys if operator in ANY_OF else keys[:1])
    edges = [edge for one in found for edge in one]
    assert edges == sorted(edges)
    assert all(low < high for low, high in found)


@given(st.lists(st.tuples(KEYS, KEYS), max_size=6), st.tuples(st.booleans(), st.booleans()))
def test_ranks_sort_as_the_keys_do(
    rows: list[tuple[bytes, bytes]], descending: tuple[bool, bool]
) -> None:
    def compare(one: tuple[bytes, ...], other: tuple[bytes, ...]) -> int:
        for a, b, down in zip(one, other, descending, strict=True):
            if a != b:
                down = down and a < INCOMPARABLE and b < INCOMPARABLE
                return (1 if a > b else -1) * (-1 if down else 1)
        return 0

    assert sorted(rows, key=lambda row: rank(row, descending)) == sorted(
        rows, key=cmp_to_key(compare)
    )
