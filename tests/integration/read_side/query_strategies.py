"""Hypothesis strategies for lists: filters, sort keys and pages, and the values of entries."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import hypothesis.strategies as st
import msgspec
from msgspec.structs import replace

from read_side.queries.comparison import ATTRIBUTES, EQUALITY, operators_of
from read_side.queries.request import ANY_OF, EntryQuery, Filter, SortKey
from write_side.domain.definition import Field, Option
from write_side.domain.entry_keys import BUILT_IN, paths_of

OPTIONS = (Option("news", "News"), Option("howto", "How-to"), Option("tide", "Tide"))
IDS = [f"018f0000-0000-7000-8000-00000000000{n}" for n in range(4)]
"""Ids of the first entries, to which others refer."""
NOBODY = "018f0000-0000-7000-8000-00000000dead"
FIELDS = (
    Field("lead", "Lead", "text", indexed=True),
    Field("views", "Views", "number", indexed=True),
    Field("featured", "Featured", "boolean", indexed=True),
    Field("goes_live", "Goes live", "datetime", indexed=True),
    Field("campaign", "Campaign", "datetime", range=True, indexed=True),
    Field("category", "Category", "select", options=OPTIONS, indexed=True),
    Field("tags", "Tags", "select", options=OPTIONS, multiple=True, indexed=True),
    Field("author", "Author", "reference", indexed=True),
    Field("related", "Related", "reference", multiple=True, indexed=True),
)
STATUSES = ("published", "draft", "archived")
LANGUAGES = ("en-US", "fr-FR")
TEXTS = ["", "a", "A", "ab", "aé", "b", "Été", "été", "z z", "\U0001f600", "\uffff", "x" * 1001]
NUMBERS = ["0", "-0.0", "1", "1.0", "1e0", "-3.5", "10", "9", "1e300", "-1e-300", "0.1", "1e-20000"]
TIMES = ["2026-01-31", "2026-01-31T09:30:00Z", "2026-01-31T10:30:00+01:00", "2025-12-31T23:59:59.5"]
PREFIX = "fields."
TEXTUAL = ("title", "slug", "fields.lead")
BUILT_IN_TIMES = ("createdAt", "updatedAt", "publishedAt")
ORDERINGS = {
    **BUILT_IN,
    **{path: field.spec.ordering for field in FIELDS for path in paths_of(field)},
}
MULTIPLE = tuple(f"{PREFIX}{field.slug}" for field in FIELDS if field.multiple)
SORTABLE = tuple(path for path in ORDERINGS if path not in (*MULTIPLE, "id"))
SORT_KEYS = (*SORTABLE, "id", *ATTRIBUTES)


def random_values(rng: Random) -> dict[str, str]:
    """JSON by field slug; some fields are missing, some null."""
    values: dict[str, Any] = {
        "lead": rng.choice(TEXTS),
        "views": msgspec.Raw(rng.choice(NUMBERS).encode()),
        "featured": rng.choice([True, False]),
        "goes_live": rng.choice(TIMES),
        "campaign": {"from": rng.choice(TIMES), "to": rng.choice(TIMES)},
        "category": rng.choice(OPTIONS).value,
        "tags": [one.value for one in OPTIONS if rng.random() < 0.4],
        "author": rng.choice(IDS),
        "related": [one for one in IDS if rng.random() < 0.4],
    }
    return {
        slug: "null" if rng.random() < 0.1 else msgspec.json.encode(value).decode()
        for slug, value in values.items()
        if rng.random() < 0.85
    }


def shown(values: dict[str, str]) -> dict[str, Any]:
    """Values by path, in the form that the oracle compares."""
    found: dict[str, Any] = {}
    for slug, text in values.items():
        value: Any = text if slug == "views" else msgspec.json.decode(text)
        if text == "null":
            continue
        if slug == "campaign":
            found |= {f"fields.campaign.{end}": value[end] for end in ("from", "to")}
        else:
            found[PREFIX + slug] = value
    return found


def values_of(path: str, ids: Sequence[str]) -> st.SearchStrategy[str]:
    if path in TEXTUAL:
        return st.sampled_from([text for text in TEXTS if text and len(text) < 1000] + ["entry-5"])
    if path == "fields.views":
        return st.sampled_from([*NUMBERS[:-1], "2", "1e16000"])
    if path == "fields.featured":
        return st.sampled_from(["true", "false"])
    if path in ("fields.category", "fields.tags"):
        return st.sampled_from([*(one.value for one in OPTIONS), "unknown"])
    if path in ("fields.author", "fields.related"):
        return st.sampled_from([*ids, NOBODY])
    if path == "stage":
        return st.sampled_from(["writing", "review", "other"])
    return st.sampled_from([*TIMES, "2099-01-01"])


@st.composite
def filters(draw: st.DrawFn, built_in: bool, ids: Sequence[str] = IDS) -> Filter:
    """``ids``: the ids with which references may be compared."""
    paths = [*SORTABLE, *MULTIPLE]
    path = draw(st.sampled_from([one for one in paths if not built_in or PREFIX not in one]))
    ordering = ORDERINGS[path]
    assert ordering is not None
    operator = draw(st.sampled_from(operators_of(ordering, multiple=path in MULTIPLE)))
    if operator == "exists":
        return Filter(path, operator, (draw(st.sampled_from(["true", "false"])),))
    most = 4 if operator in ANY_OF else 1
    return Filter(
        path, operator, tuple(draw(st.lists(values_of(path, ids), min_size=1, max_size=most)))
    )


@st.composite
def attribute_filters(draw: st.DrawFn) -> Filter:
    """An id is given as the number of an entry."""
    name, values = draw(
        st.sampled_from(
            [
                ("status", STATUSES),
                ("language", (*LANGUAGES, "de-DE")),
                ("contentType", ("posts", "notes", "none")),
                ("id", tuple(map(str, range(60)))),
            ]
        )
    )
    operator = draw(st.sampled_from(EQUALITY))
    if operator == "exists":
        return Filter(name, operator, (draw(st.sampled_from(["true", "true", "false"])),))
    most = 40 if operator in ANY_OF else 1
    chosen = draw(st.lists(st.sampled_from(values), min_size=1, max_size=most))
    return Filter(name, operator, tuple(chosen))


@st.composite
def queries(draw: st.DrawFn) -> EntryQuery:
    type_slug = draw(st.sampled_from(["posts", "posts", "notes", None]))
    chosen = draw(st.lists(filters(type_slug is None), max_size=4))
    chosen += draw(st.lists(attribute_filters(), max_size=1))
    sortable = [one for one in SORT_KEYS if type_slug or PREFIX not in one]
    names = draw(st.lists(st.sampled_from(sortable), max_size=3, unique=True))
    return EntryQuery(
        type_slug=type_slug,
        status=draw(st.sampled_from(["published", None, *STATUSES])),
        language=draw(st.sampled_from(["en-US", None, *LANGUAGES, "de-DE"])),
        filters=tuple({(one.field, one.operator): one for one in chosen}.values()),
        sort=tuple(SortKey(name, draw(st.booleans())) for name in names),
        limit=draw(st.integers(1, 12)),
        offset=draw(st.sampled_from([0, 0, 1, 5, 200])),
        custom=type_slug is not None,
    )


@st.composite
def sorted_by_attributes(draw: st.DrawFn) -> EntryQuery:
    """Sort keys that include attributes, often across statuses and languages."""
    query = draw(queries())
    names = draw(st.lists(st.sampled_from(ATTRIBUTES), min_size=1, max_size=3, unique=True))
    added = [SortKey(name, draw(st.booleans())) for name in names]
    others = [key for key in query.sort if key.field not in ATTRIBUTES]
    return replace(
        query,
        status=draw(st.sampled_from([None, None, query.status])),
        language=draw(st.sampled_from([None, None, query.language])),
        sort=tuple(draw(st.permutations((*added, *others)[:3]))),
    )
