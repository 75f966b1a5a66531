"""Kinds of lists with random parameters, both as contentlog's list parameters and as the SQL that
Directus sends for the same list."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from msgspec import Struct

from tests.benchmarks.query_content import COLUMNS, VIEWS, VOCABULARY, Texts

LIMIT = 10
BY_VIEWS = {"sort": "fields.views"}


class Query(Struct, frozen=True):
    """A list. ``parameters`` are for the HTTP list, the other members for the SQL statement."""

    parameters: dict[str, str]
    where: str = "true"
    values: tuple[Any, ...] = ()
    order: str = "created_at DESC"
    offset: int = 0

    @property
    def page(self) -> str:
        return (
            f"SELECT {COLUMNS} FROM posts WHERE {self.where} "  # noqa: S608
            f"ORDER BY {self.order} LIMIT {LIMIT} OFFSET {self.offset}"
        )

    @property
    def count(self) -> str:
        return f"SELECT count(*) FROM posts WHERE {self.where}"  # noqa: S608


class Sample(Struct, frozen=True):
    """The source of random parameters: some of the entries, and cursors with the number of entries
    before their page."""

    entries: int
    posts: list[dict[str, Any]]
    cursors: list[tuple[int, str]]
    cursors_by_views: list[tuple[int, str]]
    texts: Texts


class Kind(Struct, frozen=True):
    """A kind of list. ``is_exact`` means that both forms select the same entries."""

    what: str
    make: Callable[[Random, Sample], Query]
    is_exact: bool = True


def _plain(_random: Random, _sample: Sample) -> Query:
    return Query({})


def _offset(random: Random, sample: Sample) -> Query:
    offset = sample.entries // 2 + random.randrange(sample.entries // 10)
    return Query({"offset": str(offset)}, offset=offset)


def _cursor(random: Random, sample: Sample) -> Query:
    offset, cursor = random.choice(sample.cursors)
    return Query({"cursor": cursor}, offset=offset)


def _cursor_by_views(random: Random, sample: Sample) -> Query:
    offset, cursor = random.choice(sample.cursors_by_views)
    return Query({**BY_VIEWS, "cursor": cursor}, order="views", offset=offset)


def _equal(field: str) -> Callable[[Random, Sample], Query]:
    def make(random: Random, sample: Sample) -> Query:
        value = random.choice(sample.posts)[field]
        return Query({f"filter[fields.{field}]": str(value)}, f"{field} = $1", (value,))

    return make


def _range(share: float, **query: Any) -> Callable[[Random, Sample], Query]:
    """A range of views that holds this share of all entries."""

    def make(random: Random, _sample: Sample) -> Query:
        low = random.randrange(round(VIEWS * (1 - share)))
        high = low + round(VIEWS * share)
        parameters = {
            "filter[fields.views][gte]": str(low),
            "filter[fields.views][lt]": str(high),
            **({"sort": query["sort"]} if query else {}),
        }
        order = query.get("order", "created_at DESC")
        return Query(parameters, "views >= $1 AND views < $2", (low, high), order)

    return make


def _two(first: str, second: str) -> Callable[[Random, Sample], Query]:
    def make(random: Random, sample: Sample) -> Query:
        post = random.choice(sample.posts)
        values = post[first], post[second]
        parameters = {
            f"filter[fields.{field}]": str(value).lower()
            for field, value in zip((first, second), values, strict=True)
        }
        return Query(parameters, f"{first} = $1 AND {second} = $2", values)

    return make


def _equal_and_range(random: Random, sample: Sample) -> Query:
    category, low = random.choice(sample.posts)["category"], random.randrange(VIEWS * 9 // 10)
    parameters = {"filter[fields.category]": category, "filter[fields.views][gte]": str(low)}
    where = "category = $1 AND views >= $2"
    return Query(parameters, where, (category, low))


def _search(words: int, ranks: range, letters: int = 99) -> Callable[[Random, Sample], Query]:
    """A search for ``words`` random words. ``ranks`` are their ranks by frequency."""

    def make(random: Random, sample: Sample) -> Query:
        drawn = random.sample(ranks, words)
        text = " ".join(sample.texts.words[rank] for rank in drawn)[: 99 if words > 1 else letters]
        columns = ("title", "summary", "body")
        where = " OR ".join(f"LOWER({column}) LIKE $1" for column in columns)
        return Query({"q": text}, f"({where})", (f"%{text}%",))

    return make


KINDS = (
    Kind("no filter, first page", _plain),
    Kind("deep offset: no filter, from the middle", _offset),
    Kind("deep cursor: no filter, from the middle", _cursor),
    Kind("deep cursor: sorted by a number, from the middle", _cursor_by_views),
    Kind("equality: text, one entry", _equal("code")),
    Kind("equality: text, 0.1 % of the entries", _equal("city")),
    Kind("equality: reference, 0.1 %", _equal("author")),
    Kind("equality: select, 5 %", _equal("category")),
    Kind("range: number, 0.1 %", _range(0.001)),
    Kind("range: number, 0.9 %", _range(0.009)),
    Kind("range: number, 10 %", _range(0.1)),
    Kind("sorted range: number, 10 %", _range(0.1, sort="fields.views", order="views")),
    Kind("sorted range, descending: 10 %", _range(0.1, sort="-fields.views", order="views DESC")),
    Kind("two filters: 0.1 % and 50 %", _two("city", "featured")),
    Kind("two filters: 5 % and 50 %", _two("category", "featured")),
    Kind("two filters: 5 % and a range", _equal_and_range),
    Kind("search: a rare word", _search(1, range(1_000, VOCABULARY)), is_exact=False),
    Kind("search: a frequent word", _search(1, range(200)), is_exact=False),
    Kind("search: two words", _search(2, range(200, 2_000)), is_exact=False),
    Kind("prefix search: four letters", _search(1, range(VOCABULARY), 4), is_exact=False),
)
