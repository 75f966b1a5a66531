"""``include``: how it is parsed, and which paths a content type has."""

from __future__ import annotations

import pytest

from api.errors import BadRequest
from api.rest.shape import parse_include, steps_of, unknown_step
from tests.integration.api.shapes import TYPES
from write_side.domain.definition import Field

BOOKS = (
    Field("author", "Author", "reference", to=("topics",)),
    Field("related", "Related", "reference", to=("topics",)),
)
"""Fields that refer to other types than those of posts with the same slugs."""
FIELDS = {
    (slug, field.slug): field
    for slug, fields in {**TYPES, "books": BOOKS}.items()
    for field in fields
}


def parsed(text: str) -> list[str]:
    return [".".join(path) for path in parse_include({"include": text})]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("", []),
        ("b,a,b", ["a", "b"]),
        ("a.b,a", ["a.b"]),
        ("a,a.b.c,a.b,a-b", ["a.b.c", "a-b"]),
        ("a.b,a.c,a", ["a.b", "a.c"]),
        ("ab,a.b", ["a.b", "ab"]),
    ],
)
def test_texts_that_mean_the_same_become_the_same(text: str, paths: list[str]) -> None:
    assert parsed(text) == paths


@pytest.mark.parametrize(
    "text", [",", "a,", "a.", ".a", "a..b", "A", "a b", "é", "a\0", "a.b.c.d", "A" * 5_000]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="in include") as refused:
        parsed(text)
    assert len(str(refused.value)) < 700


def test_paths_become_a_tree() -> None:
    start = steps_of(parse_include({"include": "a.b,a.c,d"}))
    assert start.next.keys() == {"a", "d"}
    assert start.next["a"].slugs() == {"b", "c"}
    assert start.slugs() == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("path", "types", "unknown"),
    [
        ("author.friend.photo", {"posts"}, None),
        ("related.part_of", {"posts"}, None),
        ("friend", None, None),
        ("author.friend", None, None),
        ("author.part_of", None, None),
        ("related.friend", None, None),
        ("related.friend", {"books"}, "friend"),
        ("friend", {"posts"}, "friend"),
        ("author.part_of", {"posts"}, "part_of"),
        ("author", {"topics"}, "author"),
        ("author", None, None),
        ("cover.friend", {"posts"}, "cover"),
        ("faq.author", {"posts"}, "faq"),
    ],
)
def test_each_field_of_a_path_is_in_some_type_that_is_reached(
    path: str, types: set[str] | None, unknown: str | None
) -> None:
    where = None if types is None else frozenset(types)
    found = unknown_step(tuple(path.split(".")), FIELDS, where)
    assert (found and found.slug) == unknown
