"""Sorting by the status, the language and the content type, which have no keys, among other sort
keys, filters and pages: against the oracle in Python."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from read_side.queries.comparison import ATTRIBUTES
from read_side.queries.request import EntryQuery, SortKey
from tests.integration.read_side.query_strategies import queries
from tests.integration.read_side.test_query_pages import (
    LARGE,
    SMALL,
    Desk,
    check,
    desk,  # noqa: F401 - a fixture
)

SUPPRESSED = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large)
IN_THE_SUITE = settings(max_examples=25, derandomize=True, suppress_health_check=SUPPRESSED)
AT_LENGTH = settings(max_examples=500, derandomize=True, suppress_health_check=SUPPRESSED)


@st.composite
def sorted_by_attributes(draw: st.DrawFn) -> EntryQuery:
    query = draw(queries())
    names = draw(st.lists(st.sampled_from(ATTRIBUTES), min_size=1, max_size=3, unique=True))
    added = [SortKey(name, draw(st.booleans())) for name in names]
    others = [key for key in query.sort if key.field not in ATTRIBUTES]
    kept = (*added, *others)[:3]
    return replace(
        query,
        status=draw(st.sampled_from([None, None, query.status])),
        language=draw(st.sampled_from([None, None, query.language])),
        sort=tuple(draw(st.permutations(kept))),
    )


@pytest.mark.parametrize(("rows_", "chunk", "streams"), [LARGE, SMALL], ids=["collected", "walked"])
@IN_THE_SUITE
@given(query=sorted_by_attributes())
def test_any_sort_by_attributes(
    query: EntryQuery,
    rows_: int,
    chunk: int,
    streams: int,
    desk: Desk,  # noqa: F811
) -> None:
    check(desk, query, rows_, chunk, streams)


@pytest.mark.slow
@pytest.mark.parametrize(("rows_", "chunk", "streams"), [LARGE, SMALL], ids=["collected", "walked"])
@AT_LENGTH
@given(query=sorted_by_attributes())
def test_hundreds_of_sorts_by_attributes(
    query: EntryQuery,
    rows_: int,
    chunk: int,
    streams: int,
    desk: Desk,  # noqa: F811
) -> None:
    check(desk, query, rows_, chunk, streams)
