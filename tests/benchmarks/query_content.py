"""Entries to query: a type with ten indexed and two searchable fields, and the same entries in a
conventional table with a column for each field."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import asyncpg
import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tests.benchmarks.workload import OPERATOR, SCOPE
from tests.databases import owner_of
from write_side.commands import Command, CreateContentType, CreateEntry
from write_side.dispatch import execute
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field, Option
from write_side.domain.events import EntryCreated
from write_side.domain.identity import new_id
from write_side.repository import Repository

AUTHORS = 1_000
CITIES = 1_000
CATEGORIES = 20
TAGS = 30
VIEWS = 1_000_000
VOCABULARY = 20_000
_BEGAN = datetime(2016, 1, 1, tzinfo=UTC)


def _options(what: str, number: int) -> tuple[Option, ...]:
    return tuple(Option(f"{what}-{n}", f"{what} {n}") for n in range(number))


FIELDS = (
    Field("code", "Code", "text", indexed=True),
    Field("city", "City", "text", indexed=True),
    Field("views", "Views", "number", indexed=True),
    Field("price", "Price", "number", indexed=True),
    Field("featured", "Featured", "boolean", indexed=True),
    Field("live", "Live", "datetime", indexed=True),
    Field("category", "Category", "select", options=_options("category", CATEGORIES), indexed=True),
    Field("tags", "Tags", "select", multiple=True, options=_options("tag", TAGS), indexed=True),
    Field("author", "Author", "reference", indexed=True),
    Field("editors", "Editors", "reference", multiple=True, indexed=True),
    Field("summary", "Summary", "text", searchable=True),
    Field("body", "Body", "rich_text", searchable=True),
)
PLAIN = tuple(replace(field, indexed=False, searchable=False) for field in FIELDS)
COLUMNS = (
    "id, status, title, slug, created_at, updated_at, code, city, views, price, featured, live, "
    "category, tags, author, editors, summary, body"
)
_TABLE = """
CREATE TABLE posts (
    id uuid PRIMARY KEY, status varchar(255), title varchar(255), slug varchar(255),
    created_at timestamptz, updated_at timestamptz, code varchar(255), city varchar(255),
    views integer, price numeric(10, 2), featured boolean, live timestamptz,
    category varchar(255), tags json, author uuid, editors json, summary text, body text);
INSERT INTO posts
SELECT id, status, title, slug, created_at, updated_at, texts ->> 'code', texts ->> 'city',
    (texts ->> 'views')::integer, (texts ->> 'price')::numeric,
    (texts ->> 'featured')::boolean, (texts ->> 'live')::timestamptz, texts ->> 'category',
    texts -> 'tags', (texts ->> 'author')::uuid, texts -> 'editors', texts ->> 'summary',
    texts ->> 'body'
FROM read_model.entry
CROSS JOIN LATERAL (SELECT coalesce(stored, fields)::json AS texts) AS entry_values
WHERE content_type_id = (
    SELECT id FROM read_model.content_type WHERE slug = 'posts')
ORDER BY position"""
_INDEXED = (
    *("status", "title", "created_at", "code", "city", "views"),
    *("price", "featured", "live", "category", "author"),
)


class Texts:
    """Sentences of made-up words, with word frequencies like those of a natural language."""

    def __init__(self) -> None:
        random = Random(0)
        syllables = [a + b for a in "bcdfghklmnprstvz" for b in "aeiou"]
        made = {"".join(random.choices(syllables, k=random.randint(2, 4))) for _ in range(40_000)}
        self.words = random.sample(sorted(made), VOCABULARY)
        """Sorted by frequency, the most frequent first."""
        weights = (1 / (rank + 10) for rank in range(VOCABULARY))
        self._weights = list(itertools.accumulate(weights))

    def some(self, random: Random, number: int) -> str:
        return " ".join(random.choices(self.words, cum_weights=self._weights, k=number))


async def create_authors(repository: Repository) -> list[str]:
    """Creates entries of a separate type to refer to. Returns their ids."""
    authors = [new_id() for _ in range(AUTHORS)]
    commands: list[Command] = [
        CreateContentType(actor=OPERATOR, scope=SCOPE, slug="authors", name="Authors", fields=())
    ]
    commands += (
        CreateEntry(
            actor=OPERATOR,
            scope=SCOPE,
            content_type_slug="authors",
            title=f"Author {n}",
            entry_id=author,
        )
        for n, author in enumerate(authors)
    )
    for command in commands:
        await execute(command, repository)
    return authors


def contents(authors: list[str], first: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields titles and values of entries, without end."""
    random, texts = Random(first), Texts()
    for n in itertools.count(first):
        yield (
            texts.some(random, 6),
            {
                "code": f"C-{n:08}",
                "city": f"city-{random.randrange(CITIES)}",
                "views": random.randrange(VIEWS),
                "price": random.randrange(100_000) / 100,
                "featured": random.random() < 0.5,
                "live": f"{_BEGAN + timedelta(minutes=random.randrange(5_000_000)):%FT%TZ}",
                "category": f"category-{random.randrange(CATEGORIES)}",
                "tags": [f"tag-{tag}" for tag in random.sample(range(TAGS), 2)],
                "author": random.choice(authors),
                "editors": random.sample(authors, 2),
                "summary": texts.some(random, 12),
                "body": texts.some(random, 60),
            },
        )


def created(
    content_type: ContentType, authors: list[str], number: int, first: int = 0
) -> Iterator[EntryCreated]:
    encode = msgspec.json.Encoder().encode
    for n, (title, values) in enumerate(itertools.islice(contents(authors, first), number), first):
        yield EntryCreated(
            workspace=SCOPE.workspace,
            environment=SCOPE.environment,
            actor=OPERATOR,
            entry_id=new_id(),
            content_type_id=content_type.id,
            slug=f"entry-{n}",
            title=title,
            language="en-US",
            status="published",
            fields={slug: Raw(encode(value)) for slug, value in values.items()},
        )


async def make_table(url: str) -> None:
    """Stores the entries as another CMS does, but with more indexes than it creates by default."""
    connection = await asyncpg.connect(owner_of(url))
    await connection.execute(_TABLE)
    for column in _INDEXED:
        await connection.execute(f"CREATE INDEX ON posts ({column})")
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
