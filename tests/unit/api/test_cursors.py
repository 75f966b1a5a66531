"""A cursor is valid only for the query that returned it."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from msgspec.structs import replace

from api.errors import BadRequest
from api.rest.list_query import PageCursors
from api.rest.tokens import Positions
from read_side.queries.request import Boundary, EntryQuery, Filter, SortKey
from write_side.domain.identity import Scope

KEY = b"secret"
CURSORS = PageCursors(KEY)
SCOPE = Scope("acme", "production")
QUERY = EntryQuery(type_slug="posts", status="draft", language="en-US", limit=10)
BOUNDARY = Boundary((b"key",), 7)
OTHERS: list[dict[str, Any]] = [
    {"type_slug": "notes"},
    {"status": None},
    {"language": "fr-FR"},
    {"filters": (Filter("title", "eq", ("a",)),)},
    {"sort": (SortKey("title"),)},
    {"custom": False},
]


def token(boundary: Boundary = BOUNDARY) -> str:
    made = CURSORS.token(SCOPE, "en-US", QUERY, boundary)
    assert made
    return made


@given(st.lists(st.binary(max_size=1000), max_size=3), st.integers(1, 2**63 - 1))
def test_a_cursor_is_its_boundary_in_every_process(keys: list[bytes], position: int) -> None:
    boundary = Boundary(tuple(keys), position)
    given_ = token(boundary)
    assert given_ == PageCursors(KEY).token(SCOPE, "en-US", QUERY, boundary)
    assert CURSORS.page_query(SCOPE, "en-US", QUERY, given_).after == boundary


def test_the_length_of_the_page_and_the_total_may_differ() -> None:
    page = replace(QUERY, limit=3, counted=False)
    assert CURSORS.page_query(SCOPE, "en-US", page, token()) == replace(page, after=BOUNDARY)


@pytest.mark.parametrize("changes", OTHERS, ids=lambda changes: next(iter(changes)))
def test_a_cursor_of_another_query_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match="Unknown cursor"):
        CURSORS.page_query(SCOPE, "en-US", replace(QUERY, **changes), token())


@pytest.mark.parametrize(
    ("scope", "locale"),
    [(Scope("other", "production"), "en-US"), (Scope("acme", "staging"), "en-US"), (SCOPE, "fr")],
)
def test_a_cursor_of_another_workspace_environment_or_locale_is_refused(
    scope: Scope, locale: str
) -> None:
    with pytest.raises(BadRequest, match="Unknown cursor"):
        CURSORS.page_query(scope, locale, QUERY, token())


def test_an_altered_cursor_is_refused() -> None:
    made = token()
    other = str.maketrans("AB", "BA")
    altered = [
        made[:at] + (one.translate(other) if one in "AB" else "A") + made[at + 1 :]
        for at, one in enumerate(made)
    ]
    for text in (*altered, made + "=", made[:-4], "x", "é", "FIRST", "first "):
        with pytest.raises(BadRequest, match="Unknown cursor"):
            CURSORS.page_query(SCOPE, "en-US", QUERY, text)


def test_a_position_is_no_cursor() -> None:
    with pytest.raises(BadRequest):
        CURSORS.page_query(SCOPE, "en-US", QUERY, Positions(KEY).token("acme", 7))
