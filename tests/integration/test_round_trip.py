"""Importing an export changes nothing, whatever the entries hold, as CSV and as .xlsx. In an
environment without these entries, it creates entries that are equal except for ids and times."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from api.export.table import csv_chunks
from api.export.xlsx_file import write_xlsx
from read_side.export import export
from read_side.paging import Filters
from read_side.pool import open_pool
from tests.engines import engine
from tests.integration.live_projector import connected, head_of, project_all
from tests.integration.projector.sample_log import ACTOR, ContentBuilder, raws
from tests.spreadsheets import (
    NASTY,
    NUMBERS,
    ONE_OF,
    OPTIONS,
    REPEATER,
    SCALAR_FIELDS,
    escaped,
    plain,
    repeaters,
    texts,
)
from write_side import commands as c
from write_side.domain.cells import is_listable
from write_side.domain.definition import Field, Option
from write_side.domain.identity import Scope, is_id, new_id
from write_side.imports.columns import load_proposal
from write_side.imports.importer import ImportRun, RowsRefused, run_import
from write_side.imports.preview import Counts
from write_side.imports.report import Report
from write_side.imports.request import ImportRequest
from write_side.imports.table import LIMITS, Choice, Table
from write_side.imports.worker import Task, table_in
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

Kind = Literal["csv", "xlsx"]
Entry: TypeAlias = dict[str, Any]
"""Title, slug, status and values; references are the numbers of their targets."""

KINDS: tuple[Kind, ...] = ("csv", "xlsx")
FRENCH = "fr-FR"
AUTHOR = Field("author", "Author", "reference", to=("authors",))
ABOUT = Field("about", "About", "reference", multiple=True, to=("authors", "topics"))
RELATED = Field("related", "ID", "reference", multiple=True, to=("posts",))
ANYTHING = Field("anything", "Anything", "reference", multiple=True)
CREDITS = Field(
    "credits", "Credits", "repeater", fields=(Field("who", "Who", "reference", to=("authors",)),)
)
FIELDS = (
    Field("intro", "Intro", "section"),
    *(field for field, _ in SCALAR_FIELDS.values()),
    REPEATER,
    AUTHOR,
    ABOUT,
    RELATED,
    ANYTHING,
    CREDITS,
)
# (type, slug, language). Exports name a target by id if its slug is ambiguous ("ann" for fields
# that take both types), is another entry's id, does not fit a list, or is of another language.
TARGETS = (
    ("authors", "bob", "en-US"),
    ("topics", "sea", "en-US"),
    ("authors", "Ünï ✓", "en-US"),
    ("authors", "ann", "en-US"),
    ("topics", "ann", "en-US"),
    ("authors", "a, b", "en-US"),
    ("authors", " lead", "en-US"),
    ("topics", "[x]", "en-US"),
    ("topics", "=sum", "en-US"),
    ("authors", "UUID", "en-US"),
    ("authors", "bob", FRENCH),
    ("authors", "gone", "en-US"),
)
AUTHORS = [number for number, target in enumerate(TARGETS) if target[0] == "authors"]
# The targets that have the same unambiguous slug in another environment.
PORTABLE = (0, 1, 2)
IN_THE_SUITE = settings(
    max_examples=4,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
_workspaces = itertools.count()
_null = st.just(Raw(b"null"))
_values = st.fixed_dictionaries(
    {},
    optional={
        **{field.slug: values | _null for field, values in SCALAR_FIELDS.values()},
        REPEATER.slug: repeaters | _null,
    },
)


def _references(among: Iterable[int]) -> st.SearchStrategy[dict[str, Any]]:
    """``related`` are numbers of the drawn entries."""
    numbers = st.sampled_from(sorted(among))
    authors = st.sampled_from([number for number in among if number in AUTHORS])
    return st.fixed_dictionaries(
        {},
        optional={
            "author": authors,
            "about": st.lists(numbers, max_size=3),
            "anything": st.lists(numbers, max_size=3),
            "related": st.lists(st.integers(0, 20), max_size=3),
        },
    )


def _entries(references: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[list[Entry]]:
    entry = st.fixed_dictionaries(
        {
            "title": texts.filter(str.strip),
            "slug": texts.filter(bool),
            "status": st.sampled_from(["draft", "published", "archived"]),
            "values": _values,
            "references": references,
        }
    )
    return st.lists(entry, min_size=1, max_size=8, unique_by=lambda one: str(one["slug"]))


def nasty() -> list[Entry]:
    """An entry for every unusual value, and entries that hold many values at once."""
    kinds = {
        "text": [plain(text) for text in NASTY],
        "rich_text": [escaped(text) for text in NASTY if not text.isascii()],
        "number": [Raw(number.encode()) for number in NUMBERS],
        "select": [plain(option) for option in ONE_OF],
        "selects": [plain([]), plain(list(OPTIONS)), *(plain([option]) for option in OPTIONS)],
        "medias": [plain([]), plain(["hero", "logo"])],
        "json": [Raw(text) for text in (b'""', b'"null"', b"[]", b"1.10", b'"=1"', b'{"b":1}')],
    }
    values = [{SCALAR_FIELDS[kind][0].slug: value} for kind in kinds for value in kinds[kind]]
    # Too long for a cell of a workbook.
    values += [{"body": plain("long " * 10_000), "html": plain("😀" * 40_000)}]
    values += [{"faq": Raw(b"[]")}, {"faq": plain(values[:40])}]
    return [
        {
            "title": f"x{NASTY[number % len(NASTY)]}",
            "slug": NASTY[number] if 0 < number < len(NASTY) else f"n{number}",
            "status": "draft",
            "values": one,
            "references": {"related": [number, number + 1], "author": 2},
        }
        for number, one in enumerate(values)
    ]


class Magazine:
    """A workspace with two environments; its entries are in production.

    ``language``: of the entries; if None, every entry exists in English and in French.
    """

    def __init__(self, url: str, repository: Repository, language: str | None = "en-US") -> None:
        self.url = url
        self.repository = repository
        self.language = language
        self.scope = Scope(f"w{next(_workspaces)}", "production")
        self.there = Scope(self.scope.workspace, "staging")

    async def made(self, entries: list[Entry]) -> None:
        builder = ContentBuilder(self.repository, self.scope)
        await builder.workspace(staging=True)
        await builder.execute(c.AddEnvironment, scope=self.there)
        for media_id in ("hero", "logo"):
            await builder.execute(
                c.PutMedia,
                workspace=self.scope.workspace,
                media_id=media_id,
                url=f"https://cdn.example.com/{media_id}",
                name=media_id,
                content_type="image/png",
            )
        for scope in (self.there, self.scope):
            targets = await self._targets(ContentBuilder(self.repository, scope))
        languages = [self.language] if self.language else ["en-US", FRENCH]
        copies = [(language, entry) for language in languages for entry in entries]
        ids = [new_id() for _ in copies]
        for entry_id, (language, entry) in zip(ids, copies, strict=True):
            await self._create(builder, entry_id, entry, language)
        for entry_id, (_, entry) in zip(ids, copies, strict=True):
            await self._refer(builder, entry_id, entry["references"], targets, ids)
        await builder.delete(targets[-1])
        # The id of a deleted entry may be another entry's slug.
        await builder.entry(targets[-1], type_slug="authors")
        await project_all(self.url, self.url)

    async def _targets(self, builder: ContentBuilder) -> list[str]:
        """Create the types and the target entries in an environment; return the entries' ids."""
        for type_slug in ("authors", "topics"):
            await builder.content_type(Field("x", "X", "text"), slug=type_slug)
        await builder.content_type(*FIELDS)
        targets: list[str] = []
        for type_slug, slug, language in TARGETS:
            known = targets[0] if slug == "UUID" else slug
            targets.append(await builder.entry(known, type_slug=type_slug, language=language))
        return targets

    async def _create(
        self, builder: ContentBuilder, entry_id: str, entry: Entry, language: str
    ) -> None:
        await builder.execute(
            c.CreateEntry,
            scope=builder.scope,
            content_type_slug="posts",
            entry_id=entry_id,
            title=entry["title"],
            slug=entry["slug"],
            status=entry["status"],
            language=language,
            fields=entry["values"],
        )

    async def _refer(
        self,
        builder: ContentBuilder,
        entry_id: str,
        references: Entry,
        targets: list[str],
        ids: list[str],
    ) -> None:
        values: dict[str, Any] = {}
        for slug, named in references.items():
            if slug == "related":
                values[slug] = [ids[number % len(ids)] for number in named]
            elif slug == "author":
                values[slug] = targets[named]
                if named not in PORTABLE:
                    values["credits"] = [{"who": targets[named]}]
            else:
                values[slug] = [targets[number] for number in named]
        if values:
            await builder.update(entry_id, fields=raws(**values))

    async def exported(self, kind: Kind) -> Table:
        """Export to a file and read the file back."""
        async with open_pool(engine().url_for_requests(self.url)) as pool:
            filters = Filters("posts", language=self.language)
            wanted = await export(pool, self.scope, filters)
            if kind == "csv":
                document = b"".join([chunk async for chunk in csv_chunks(wanted)])
            else:
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "e.xlsx"
                    await write_xlsx(wanted, path)
                    document = path.read_bytes()
        return table_in(io.BytesIO(document), Task(f"e.{kind}", Choice(), LIMITS))

    async def imported(self, table: Table, scope: Scope, *, update: bool = False) -> Report:
        proposal = await load_proposal(self.repository, scope, "posts", table.headings)
        # Rows without a language would create German entries.
        language = self.language or "de-DE"
        request = ImportRequest(
            scope, "posts", new_id(), proposal.targets, language=language, update=update
        )
        try:
            report = await run_import(ImportRun(self.repository, table, request, ACTOR))
        except RowsRefused as refused:
            rows = [row for row in refused.preview.rows if row.state == "error"]
            raise AssertionError(rows) from None
        return report

    async def contents(self, scope: Scope) -> list[tuple[Any, ...]]:
        """All posts without ids and times; references are slugs."""
        async with connected(self.url, search_path="read_model") as connection:
            slugs = {
                row["id"]: row["slug"]
                for row in await connection.fetch(_SLUGS, scope.workspace, scope.environment)
            }
            rows = await connection.fetch(_POSTS, scope.workspace, scope.environment)
        return sorted((*tuple(row)[:-1], _named(json_of(row["fields"]), slugs)) for row in rows)


_SLUGS = "SELECT id::text, slug FROM entry WHERE workspace = $1 AND environment = $2"
_POSTS = """
SELECT e.title, e.slug, e.status, e.language, e.fields
FROM entry e JOIN content_type t ON t.workspace = e.workspace AND t.id = e.content_type_id
WHERE e.workspace = $1 AND e.environment = $2 AND t.slug = 'posts'"""


def json_of(document: str) -> Any:
    """Parse JSON with numbers as text."""
    return json.loads(document, parse_float=str, parse_int=str, parse_constant=str)


def _named(value: Any, slugs: dict[str, str]) -> str:
    """The value as comparable text, with slugs in place of ids."""
    text = json.dumps(value, sort_keys=True)
    for entry_id, slug in slugs.items():
        text = text.replace(f'"{entry_id}"', json.dumps(slug))
    return text


def is_portable(slug: str) -> bool:
    """Whether references are exported as this slug, which may name an entry created later."""
    return is_listable(slug) and not is_id(slug)


async def changes_nothing(
    url: str, entries: list[Entry], *revised: Field, language: str | None = "en-US"
) -> None:
    async with open_recorder(engine().url_for_requests(url)) as recorder:
        magazine = Magazine(url, Repository(recorder, EventMapper()), language)
        await magazine.made(entries)
        if revised:
            await ContentBuilder(magazine.repository, magazine.scope).revise_type(*revised)
            await project_all(url, url)
        head = await head_of(url)
        for kind in KINDS:
            table = await magazine.exported(kind)
            report = await magazine.imported(table, magazine.scope, update=True)
            assert report.counts == Counts(unchanged=len(table.rows)), kind
            assert len(table.rows) == len(entries) * (1 if language else 2)
        assert await head_of(url) == head


async def makes_the_same(url: str, entries: list[Entry], kind: Kind) -> None:
    for entry in entries:
        related = entry["references"].get("related", [])
        entry["references"]["related"] = [
            number for number in related if is_portable(entries[number % len(entries)]["slug"])
        ]
    async with open_recorder(engine().url_for_requests(url)) as recorder:
        magazine = Magazine(url, Repository(recorder, EventMapper()))
        await magazine.made(entries)
        report = await magazine.imported(await magazine.exported(kind), magazine.there)
        assert report.counts.new == len(entries)
        await project_all(url, url)
        assert await magazine.contents(magazine.there) == await magazine.contents(magazine.scope)


@pytest.mark.slow
@IN_THE_SUITE
@given(
    entries=_entries(_references(range(len(TARGETS)))),
    language=st.sampled_from(["en-US", FRENCH, None]),
)
def test_an_export_imported_again_changes_nothing(
    database_url: str, entries: list[Entry], language: str | None
) -> None:
    asyncio.run(changes_nothing(database_url, entries, language=language))


@pytest.mark.slow
@IN_THE_SUITE
@given(entries=_entries(_references(PORTABLE)), kind=st.sampled_from(KINDS))
def test_an_export_imported_into_an_empty_workspace_creates_equal_entries(
    database_url: str, entries: list[Entry], kind: Kind
) -> None:
    asyncio.run(makes_the_same(database_url, entries, kind))


def test_an_export_of_several_languages_imported_again_changes_nothing(database_url: str) -> None:
    """Every slug exists twice, and entries refer to entries of the other language too."""
    entries = [
        {
            "title": slug,
            "slug": slug,
            "status": "draft",
            "values": {},
            "references": {"related": [1, 3], "author": number},
        }
        for number, slug in ((0, "sea"), (10, "ann"))
    ]
    asyncio.run(changes_nothing(database_url, entries, language=None))


@pytest.mark.slow
def test_an_export_of_difficult_values_imported_again_changes_nothing(database_url: str) -> None:
    asyncio.run(changes_nothing(database_url, nasty()))
    asyncio.run(makes_the_same(database_url, nasty(), "xlsx"))


@pytest.mark.slow
def test_an_export_imported_after_a_type_change_changes_nothing(database_url: str) -> None:
    """Entries hold options, targets and inner fields that are no longer allowed."""
    entries = [
        {
            "title": f"Entry {number}",
            "slug": f"entry-{number}",
            "status": "published",
            "values": {
                "mood": plain(ONE_OF[1 + number % 3]),
                "moods": plain(list(OPTIONS[number:])),
                "faq": escaped([{"body": "é", "views": 1, "mood": "how to"}, {"open": None}]),
            },
            "references": {"author": number, "about": [number, 3, 4], "anything": [11, number]},
        }
        for number in AUTHORS
    ]
    narrow = {
        "mood": replace(SCALAR_FIELDS["select"][0], options=(Option("news", "News"),)),
        "moods": replace(SCALAR_FIELDS["selects"][0], options=(Option("news", "News"),)),
        "faq": replace(REPEATER, fields=REPEATER.fields[2:0:-1]),
        "author": replace(AUTHOR, to=("topics",)),
        "about": replace(ABOUT, to=("topics",)),
        "credits": replace(CREDITS, required=True),
    }
    revised = [narrow.get(field.slug, field) for field in FIELDS if field.slug != "body"]
    asyncio.run(changes_nothing(database_url, entries, *revised))
