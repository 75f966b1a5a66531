"""Filters, sort keys, pages and cursors in any combination, against an oracle in Python."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, islice
from random import Random
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from read_side.entries import EntryRow
from read_side.pool import Pool
from read_side.queries import budget, finder
from read_side.queries.pages import FoundPage, list_found
from read_side.queries.request import Boundary, EntryQuery, Filter, SortKey
from tests.databases import Databases
from tests.integration.live_projector import project_all
from tests.integration.projector.sample_log import SCOPE, STAGES, Given, raws, rows
from tests.integration.read_side.query_oracle import Known, expected
from write_side.domain.definition import Field, Option
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

ENTRIES = 160
OPTIONS = (Option("news", "News"), Option("howto", "How-to"), Option("tide", "Tide"))
IDS = [f"018f0000-0000-7000-8000-00000000000{n}" for n in range(4)]
"""Of the first entries, which others refer to."""
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
ORDERED = ("fields.views", "fields.goes_live", "fields.campaign.from", "fields.campaign.to")
BUILT_IN_TIMES = ("createdAt", "updatedAt", "publishedAt")
CHOICES = ("stage", "fields.featured", "fields.category", "fields.author")
MULTIPLE = ("fields.tags", "fields.related")
SORTABLE = (*TEXTUAL, *ORDERED, *BUILT_IN_TIMES, *CHOICES)
EQUALITY = ("eq", "ne", "in", "nin", "exists")
ORDER = (*EQUALITY, "lt", "lte", "gt", "gte")


class Desk:
    """Entries of a workspace as they were written, and a pool that reads them."""

    def __init__(self, runner: asyncio.Runner, pool: Pool, entries: list[Known]) -> None:
        self.runner = runner
        self.pool = pool
        self.entries = entries

    def page(self, query: EntryQuery) -> tuple[FoundPage, list[EntryRow]]:
        page = self.runner.run(list_found(self.pool, SCOPE, query, "en-US"))
        return page.total, page.rows

    def named(self, one: Filter) -> Filter:
        if one.field != "id" or one.operator == "exists":
            return one
        return replace(one, values=tuple(self.entries[int(number)].id for number in one.values))

    def ids(self, query: EntryQuery) -> list[str]:
        return [one.id for one in expected(self.entries, query)]


@pytest.fixture(scope="module")
def desk(databases: Databases) -> Iterator[Desk]:
    with databases.new() as url, asyncio.Runner() as runner:
        entries = runner.run(write(url))
        pool = Pool(url)
        yield Desk(runner, pool, entries)
        pool.close()


async def write(url: str) -> list[Known]:
    written: dict[str, tuple[str, str, dict[str, Any]]] = {}
    chance = Random(14)
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        given = Given(repository)
        await given.workspace()
        await given.content_type(*FIELDS, stages=STAGES)
        await given.content_type(*FIELDS, slug="notes")
        other = Given(repository, replace(SCOPE, workspace="other"))
        await other.workspace()
        await other.content_type(*FIELDS)
        for entry_id in IDS:
            await given.entry(entry_id, type_slug="notes", title="a", entry_id=entry_id)
            written[entry_id] = ("notes", "en-US", {})
        for number in range(ENTRIES):
            type_slug = chance.choice(["posts", "posts", "posts", "notes"])
            language = chance.choice(["en-US", "en-US", "en-US", "fr-FR"])
            values = random_values(chance)
            title = chance.choice([text for text in TEXTS if text])
            entry_id = await given.entry(
                f"entry-{chance.randrange(10**6)}-{number}",
                type_slug=type_slug,
                title=title,
                language=language,
                status=chance.choice(STATUSES),
                stage_id=chance.choice([None, "review"]) if type_slug == "posts" else None,
                fields={slug: msgspec.Raw(text.encode()) for slug, text in values.items()},
            )
            written[entry_id] = (type_slug, language, shown(values))
        await other.entry("theirs", status="published", fields=raws(lead="a", views=1))
        for entry_id in islice(written, 0, ENTRIES, 7):
            await given.update(entry_id, status=chance.choice(STATUSES))
    await project_all(url, url)
    known = []
    for record in await rows(
        url,
        "SELECT id::text, position, status, title, slug, stage_id, created_at, updated_at, "
        "published_at FROM entry WHERE workspace = 'acme' ORDER BY position DESC",
    ):
        type_slug, language, values = written[record[0]]
        stage = record[5] if record[2] != "archived" and type_slug == "posts" else None
        built_in = dict(zip(("title", "slug", "stage"), (*record[3:5], stage), strict=True))
        built_in |= dict(zip(BUILT_IN_TIMES, record[6:9], strict=True))
        present = {path: value for path, value in built_in.items() if value is not None}
        known.append(
            Known(record[0], record[1], type_slug, record[2], language, {**present, **values})
        )
    return known


def random_values(chance: Random) -> dict[str, str]:
    """JSON by field slug; some fields are missing, some null."""
    values: dict[str, Any] = {
        "lead": chance.choice(TEXTS),
        "views": msgspec.Raw(chance.choice(NUMBERS).encode()),
        "featured": chance.choice([True, False]),
        "goes_live": chance.choice(TIMES),
        "campaign": {"from": chance.choice(TIMES), "to": chance.choice(TIMES)},
        "category": chance.choice(OPTIONS).value,
        "tags": [one.value for one in OPTIONS if chance.random() < 0.4],
        "author": chance.choice(IDS),
        "related": [one for one in IDS if chance.random() < 0.4],
    }
    return {
        slug: "null" if chance.random() < 0.1 else msgspec.json.encode(value).decode()
        for slug, value in values.items()
        if chance.random() < 0.85
    }


def shown(values: dict[str, str]) -> dict[str, Any]:
    """By path, as the oracle compares them."""
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


def values_of(path: str) -> st.SearchStrategy[str]:
    if path in TEXTUAL:
        return st.sampled_from([text for text in TEXTS if text and len(text) < 1000] + ["entry-5"])
    if path == "fields.views":
        return st.sampled_from([*NUMBERS[:-1], "2", "1e16000"])
    if path == "fields.featured":
        return st.sampled_from(["true", "false"])
    if path in ("fields.category", "fields.tags"):
        return st.sampled_from([*(one.value for one in OPTIONS), "unknown"])
    if path in ("fields.author", "fields.related"):
        return st.sampled_from([*IDS, NOBODY])
    if path == "stage":
        return st.sampled_from(["writing", "review", "other"])
    return st.sampled_from([*TIMES, "2099-01-01"])


@st.composite
def filters(draw: st.DrawFn, built_in: bool) -> Filter:
    paths = [*SORTABLE, *MULTIPLE]
    path = draw(st.sampled_from([one for one in paths if not built_in or PREFIX not in one]))
    operators: tuple[str, ...] = EQUALITY
    if path in TEXTUAL:
        operators = (*ORDER, "contains", "startsWith")
    elif path in (*ORDERED, *BUILT_IN_TIMES):
        operators = ORDER
    elif path in MULTIPLE:
        operators = ("contains", "exists")
    operator = draw(st.sampled_from(operators))
    if operator == "exists":
        return Filter(path, operator, (draw(st.sampled_from(["true", "false"])),))
    most = 4 if operator in ("in", "nin") else 1
    return Filter(path, operator, tuple(draw(st.lists(values_of(path), min_size=1, max_size=most))))


@st.composite
def attribute_filters(draw: st.DrawFn) -> Filter:
    """An id is the number of an entry."""
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
    most = 40 if operator in ("in", "nin") else 1
    chosen = draw(st.lists(st.sampled_from(values), min_size=1, max_size=most))
    return Filter(name, operator, tuple(chosen))


@st.composite
def queries(draw: st.DrawFn) -> EntryQuery:
    type_slug = draw(st.sampled_from(["posts", "posts", "notes", None]))
    chosen = draw(st.lists(filters(type_slug is None), max_size=4))
    chosen += draw(st.lists(attribute_filters(), max_size=1))
    sortable = [one for one in SORTABLE if type_slug or PREFIX not in one]
    names = draw(st.lists(st.sampled_from(sortable), max_size=3, unique=True))
    return EntryQuery(
        type_slug=type_slug,
        status=draw(st.sampled_from(["published", None])),
        language=draw(st.sampled_from(["en-US", None])),
        filters=tuple({(one.field, one.operator): one for one in chosen}.values()),
        sort=tuple(SortKey(name, draw(st.booleans())) for name in names),
        limit=draw(st.integers(1, 12)),
        offset=draw(st.sampled_from([0, 0, 1, 5, 200])),
        custom=type_slug is not None,
    )


CHECKED = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large)
IN_THE_SUITE = settings(max_examples=40, derandomize=True, suppress_health_check=CHECKED)
AT_LENGTH = settings(max_examples=1_000, derandomize=True, suppress_health_check=CHECKED)
LARGE, SMALL = (10_000, 2_000, 1_000), (6, 3, 1_000)


def check(desk: Desk, query: EntryQuery, rows_: int, chunk: int, streams: int) -> None:
    """``rows_``: up to how many entries are collected; ``chunk``: how many a walk reads at once;
    ``streams``: the most ranges that it merges instead of checking the entries."""
    query = replace(query, filters=tuple(desk.named(one) for one in query.filters))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finder, "ROWS", rows_)
        patch.setattr(budget, "CHUNK", chunk)
        # Chunks of three make as many statements of a page as others read entries.
        patch.setattr(budget, "ROWS", 10**9)
        patch.setattr(budget, "COUNTED", 10**9)
        patch.setattr(budget, "MERGED", 10**9)
        patch.setattr(finder, "STREAMS", streams)
        page, found = desk.page(query)
        wanted = desk.ids(query)
        assert [one.id for one in found] == wanted[query.offset :][: query.limit]
        assert page.total in (None, len(wanted))
        assert page.total is not None or rows_ < ENTRIES
        assert (page.next is None) == (len(wanted) <= query.offset + query.limit)
        assert list(walked(desk, replace(query, offset=0))) == wanted


def walked(desk: Desk, query: EntryQuery) -> Iterator[str]:
    """The ids on all pages, by cursor."""
    after: Boundary | None = None
    while True:
        page, found = desk.page(replace(query, after=after, counted=False))
        yield from (one.id for one in found)
        if page.next is None:
            return
        after = page.next


@pytest.mark.parametrize(("rows_", "chunk", "streams"), [LARGE, SMALL], ids=["collected", "walked"])
@IN_THE_SUITE
@given(query=queries())
def test_any_query_against_the_oracle(
    query: EntryQuery, rows_: int, chunk: int, streams: int, desk: Desk
) -> None:
    check(desk, query, rows_, chunk, streams)


@pytest.mark.slow
@pytest.mark.parametrize(("rows_", "chunk", "streams"), [LARGE, SMALL], ids=["collected", "walked"])
@AT_LENGTH
@given(query=queries())
def test_thousands_of_queries_against_the_oracle(
    query: EntryQuery, rows_: int, chunk: int, streams: int, desk: Desk
) -> None:
    check(desk, query, rows_, chunk, streams)


@pytest.mark.parametrize("descending", [False, True])
def test_a_walk_that_checks_its_own_key_leaves_out_groups(descending: bool, desk: Desk) -> None:
    """More ranges than a walk merges: it meets the keys between them too."""
    query = EntryQuery(
        type_slug="posts",
        status=None,
        language=None,
        filters=(Filter("fields.category", "ne", ("howto",)),),
        sort=(SortKey("fields.category", descending), SortKey("title")),
        limit=10,
    )
    check(desk, query, rows_=6, chunk=3, streams=5)


def test_the_entries_differ_enough(desk: Desk) -> None:
    """The tests above can fail: entries have several values in each field, or none."""
    assert len(desk.entries) == len(IDS) + ENTRIES
    for path in (*SORTABLE, *MULTIPLE):
        values = {str(one.values.get(path)) for one in desk.entries}
        assert len(values) > 2, path
        assert "None" in values or path in (*TEXTUAL[:2], *BUILT_IN_TIMES[:2]), path
    values = set(chain.from_iterable(one.values for one in desk.entries))
    assert values >= set(SORTABLE) - {"fields.author"}
