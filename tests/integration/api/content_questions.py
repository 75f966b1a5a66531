"""Hypothesis strategies for list requests, and their REST and GraphQL forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote

import hypothesis.strategies as st
from msgspec import Raw

from api.rest.wire import timestamp
from read_side.queries.request import ANY_OF, Filter, SortKey
from tests.integration.api.content_oracle import ANY, LISTED, Question
from tests.integration.api.random_history import IDS, LOCALES, TYPES, WORDS
from tests.integration.read_side.query_strategies import (
    PREFIX,
    SORT_KEYS,
    STATUSES,
    attribute_filters,
    filters,
)

T = TypeVar("T")
BEGINNINGS = (*WORDS, "ti", "la", "lam", "f", "z")
"""Prefixes of words. The last word of a search may be a prefix."""
SLUGS = ("body", "cover", "author", "campaign", "note", "views")
PATHS = {
    "posts": ("author", "author.friend", "author.photo", "related", "related.author", "cover"),
    "notes": ("about", "about.author.friend", "about.related", "about.cover"),
    "authors": ("friend", "friend.friend.photo", "photo"),
    "flyers": ("cover",),
}
PAGE = """query ($type: String, $status: EntryStatus, $language: String, $locale: String,
    $limit: Int, $offset: Int, $filter: JSON, $sort: [String!], $search: String, $cursor: String,
    $asOf: DateTime) {
  contentEntries(type: $type, status: $status, language: $language, locale: $locale, limit: $limit,
    offset: $offset, filter: $filter, sort: $sort, search: $search, cursor: $cursor, asOf: $asOf) {
    data { ...Entry %s } pagination { limit offset next %s }
  } }
fragment Entry on ContentEntry {
  id title slug status stage { id name } language locale publishedAt createdAt updatedAt
  contentType { name slug } fields version }"""
REFERENCES = """
  author: references(field: "author") { id } related: references(field: "related") { id }"""
"""Reference fields of posts."""


def with_ids(one: Filter) -> Filter:
    """Replaces entry numbers in a filter on ids with the ids."""
    if one.field != "id" or one.operator == "exists":
        return one
    return Filter("id", one.operator, tuple(IDS[int(number)] for number in one.values))


def some(strategy: st.SearchStrategy[T], sizes: Sequence[int]) -> st.SearchStrategy[list[T]]:
    return st.sampled_from(sizes).flatmap(
        lambda size: st.lists(strategy, min_size=size, max_size=size)
    )


@st.composite
def questions(draw: st.DrawFn, moments: Sequence[datetime]) -> Question:
    across = draw(st.booleans())
    types = st.sampled_from(["posts"] * 4 + [*TYPES, "none"])
    type_slug = draw(types | st.none() if across else types)
    as_of = draw(st.sampled_from([None, draw(st.sampled_from(moments))]))
    # Occasionally draw a request that is refused.
    is_odd = draw(st.sampled_from([False] * 6 + [True]))
    built_in = across or as_of is not None or type_slug != "posts"
    own = filters(built_in and not is_odd, IDS[:12])
    chosen = draw(some(own, [0, 0, 1, 1, 2])) + draw(some(attribute_filters(), [0, 0, 0, 1]))
    has_stages = as_of is None or is_odd or type_slug == "posts"
    chosen = [with_ids(one) for one in chosen if has_stages or one.field != "stage"]
    sortable = [one for one in SORT_KEYS if is_odd or not built_in or PREFIX not in one]
    names = draw(st.lists(st.sampled_from(sortable), max_size=3, unique=True))
    has_words = as_of is None or is_odd
    whole, beginnings = st.sampled_from(WORDS), st.sampled_from(BEGINNINGS)
    words = draw(some(whole, [0, 0, 0, 1])) if has_words else []
    words += draw(some(beginnings, [0, 1])) if has_words else []
    has_cursor = draw(st.booleans())
    slugs = [field["slug"] for slug in [type_slug or "posts"] for field in TYPES.get(slug, [])]
    members = [*(ANY if across else LISTED), *(PREFIX + one for one in slugs if one != "layout")]
    known = PATHS.get(type_slug or "posts", ())
    paths = known if not is_odd else [path for of in PATHS.values() for path in of]
    published_only = draw(st.sampled_from([False, False, True]))
    statuses = [*STATUSES, "published"] if is_odd or not published_only else ["published"]
    return Question(
        type_slug=type_slug,
        across=across,
        status=None if across else draw(st.sampled_from(statuses)),
        language=None if across else draw(st.sampled_from(["en-US"] * 4 + ["fr-FR", "de-DE"])),
        locale=draw(st.sampled_from(LOCALES)),
        environment=draw(st.sampled_from(["production"] * 5 + ["staging"])),
        filters=tuple({(one.field, one.operator): one for one in chosen}.values()),
        sort=tuple(
            SortKey(name, draw(st.booleans())) for name in names if has_stages or name != "stage"
        ),
        words=tuple(words),
        limit=draw(st.sampled_from([5, 30, 100] if has_cursor else [1, 2, 5, 12, 100])),
        offset=0 if has_cursor else draw(st.sampled_from([0, 0, 0, 0, 1, 5, 200])),
        has_cursor=has_cursor,
        counted=draw(st.booleans()),
        as_of=as_of,
        select=tuple(draw(st.sampled_from([[], draw(st.lists(st.sampled_from(members)))]))),
        include=tuple(draw(some(st.sampled_from(paths), [0, 0, 1, 2, 3]))) if paths else (),
        published_only=published_only,
    )


def rest(question: Question, cursor: str | None = None) -> str:
    """The request target."""
    parameters = dict(_parameters(question))
    if cursor is not None:
        parameters["cursor"] = cursor
    path = "/v1/content" if question.across else f"/v1/content/{question.type_slug}"
    return f"{path}?" + "&".join(f"{name}={quote(value)}" for name, value in parameters.items())


def _parameters(question: Question) -> Iterator[tuple[str, str]]:
    if question.across and question.type_slug is not None:
        yield "type", question.type_slug
    yield from _given(status=question.status, language=question.language, locale=question.locale)
    yield from _given(environment="" if question.environment == "production" else "staging")
    yield from _given(limit=str(question.limit), offset=str(question.offset or ""))
    yield from _given(q=" ".join(question.words), sort=",".join(sort_keys(question)))
    yield from _given(total="" if question.counted else "none")
    yield from _given(asOf=timestamp(question.as_of) if question.as_of else None)
    yield from _given(select=",".join(question.select), include=",".join(question.include))
    for one in question.filters:
        values = one.values
        if _is_list(one):
            values = tuple('"' + value.replace('"', '""') + '"' for value in values)
        yield f"filter[{one.field}][{one.operator}]", ",".join(values)


def _given(**parameters: str | None) -> Iterator[tuple[str, str]]:
    yield from ((name, value) for name, value in parameters.items() if value)


def sort_keys(question: Question) -> list[str]:
    return [f"-{one.field}" if one.descending else one.field for one in question.sort]


def variables(question: Question, cursor: str | None = None) -> dict[str, Any]:
    """Variables of ``PAGE``."""
    wanted: dict[str, dict[str, Any]] = {}
    for one in question.filters:
        values = [_json(one, value) for value in one.values]
        wanted.setdefault(one.field, {})[one.operator] = values if _is_list(one) else values[0]
    return {
        "type": question.type_slug,
        "status": question.status,
        "language": question.language,
        "locale": question.locale,
        "limit": question.limit,
        "offset": question.offset,
        "filter": wanted or None,
        "sort": sort_keys(question) or None,
        "search": " ".join(question.words),
        "cursor": cursor,
        "asOf": question.as_of and timestamp(question.as_of),
    }


def _is_list(one: Filter) -> bool:
    return one.operator in ANY_OF


def _json(one: Filter, value: str) -> Any:
    """Numbers and booleans as raw JSON, so that numbers keep their notation."""
    is_number = one.field == "fields.views" and one.operator != "exists"
    if is_number or one.operator == "exists" or one.field == "fields.featured":
        return Raw(value.encode())
    return value
