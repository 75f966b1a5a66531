"""Filters, sort keys, pages and cursors in any combination, compared with an oracle in Python."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, islice
from random import Random
from typing import Any

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
from tests.integration.projector.sample_log import SCOPE, STAGES, ContentBuilder, raws, rows
from tests.integration.read_side.query_oracle import Known, expected
from tests.integration.read_side.query_strategies import (
    BUILT_IN_TIMES,
    FIELDS,
    IDS,
    MULTIPLE,
    ORDERINGS,
    SORTABLE,
    STATUSES,
    TEXTS,
    TEXTUAL,
    queries,
    random_values,
    shown,
    sorted_by_attributes,
)
from write_side.domain.field_types import FIELD_TYPES
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

ENTRIES = 160


class SampleEntries:
    """The entries of a workspace as they were written, and a pool that reads them."""

    def __init__(self, runner: asyncio.Runner, pool: Pool, entries: list[Known]) -> None:
        self.runner = runner
        self.pool = pool
        self.entries = entries

    def page(self, query: EntryQuery) -> tuple[FoundPage, list[EntryRow]]:
        page = self.runner.run(list_found(self.pool, SCOPE, query, "en-US"))
        return page.matches, page.rows

    def named(self, one: Filter) -> Filter:
        if one.field != "id" or one.operator == "exists":
            return one
        return replace(one, values=tuple(self.entries[int(number)].id for number in one.values))

    def ids(self, query: EntryQuery) -> list[str]:
        return [one.id for one in expected(self.entries, query)]


@pytest.fixture(scope="module")
def samples(databases: Databases) -> Iterator[SampleEntries]:
    with databases.new() as url, asyncio.Runner() as runner:
        entries = runner.run(write(url))
        pool = Pool(url)
        yield SampleEntries(runner, pool, entries)
        pool.close()


async def write(url: str) -> list[Known]:
    written: dict[str, tuple[str, str, dict[str, Any]]] = {}
    rng = Random(14)
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        builder = ContentBuilder(repository)
        await builder.workspace()
        await builder.content_type(*FIELDS, stages=STAGES)
        await builder.content_type(*FIELDS, slug="notes")
        other = ContentBuilder(repository, replace(SCOPE, workspace="other"))
        await other.workspace()
        await other.content_type(*FIELDS)
        for entry_id in IDS:
            await builder.entry(entry_id, type_slug="notes", title="a", entry_id=entry_id)
            written[entry_id] = ("notes", "en-US", {})
        for number in range(ENTRIES):
            type_slug = rng.choice(["posts", "posts", "posts", "notes"])
            language = rng.choice(["en-US", "en-US", "en-US", "fr-FR"])
            values = random_values(rng)
            title = rng.choice([text for text in TEXTS if text])
            entry_id = await builder.entry(
                f"entry-{rng.randrange(10**6)}-{number}",
                type_slug=type_slug,
                title=title,
                language=language,
                status=rng.choice(STATUSES),
                stage_id=rng.choice([None, "review"]) if type_slug == "posts" else None,
                fields={slug: msgspec.Raw(text.encode()) for slug, text in values.items()},
            )
            written[entry_id] = (type_slug, language, shown(values))
        await other.entry("theirs", status="published", fields=raws(lead="a", views=1))
        for entry_id in islice(written, 0, ENTRIES, 7):
            await builder.update(entry_id, status=rng.choice(STATUSES))
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


CHECKED = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large)
IN_THE_SUITE = settings(max_examples=40, derandomize=True, suppress_health_check=CHECKED)
AT_LENGTH = settings(max_examples=1_000, derandomize=True, suppress_health_check=CHECKED)
LARGE, SMALL = (10_000, 2_000, 1_000), (6, 3, 1_000)


def check(samples: SampleEntries, query: EntryQuery, rows_: int, chunk: int, streams: int) -> None:
    """``rows_``: how many entries are collected at most. ``chunk``: how many a walk reads at once.
    ``streams``: the most ranges that it merges instead of checking the entries."""
    query = replace(query, filters=tuple(samples.named(one) for one in query.filters))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finder, "ROWS", rows_)
        patch.setattr(budget, "CHUNK", chunk)
        # With chunks of three, a page takes as many statements as others read entries.
        patch.setattr(budget, "ROWS", 10**9)
        patch.setattr(budget, "COUNTED", 10**9)
        patch.setattr(budget, "MERGED", 10**9)
        patch.setattr(finder, "STREAMS", streams)
        page, found = samples.page(query)
        wanted = samples.ids(query)
        assert [one.id for one in found] == wanted[query.offset :][: query.limit]
        assert page.total in (None, len(wanted))
        assert page.total is not None or rows_ < ENTRIES
        assert (page.next is None) == (len(wanted) <= query.offset + query.limit)
        assert list(walked(samples, replace(query, offset=0))) == wanted


def walked(samples: SampleEntries, query: EntryQuery) -> Iterator[str]:
    """The ids on all pages, by cursor."""
    after: Boundary | None = None
    while True:
        page, found = samples.page(replace(query, after=after, counted=False))
        yield from (one.id for one in found)
        if page.next is None:
            return
        after = page.next


@pytest.mark.parametrize(("rows_", "chunk", "streams"), [LARGE, SMALL], ids=["collected", "walked"])
@IN_THE_SUITE
@given(query=queries() | sorted_by_attributes())
def test_any_query_against_the_oracle(
    query: EntryQuery, rows_: int, chunk: int, streams: int, samples: SampleEntries
) -> None:
    check(samples, query, rows_, chunk, streams)


@pytest.mark.slow
@pytest.mark.parametrize(("rows_", "chunk", "streams"), [LARGE, SMALL], ids=["collected", "walked"])
@AT_LENGTH
@given(query=queries() | sorted_by_attributes())
def test_thousands_of_queries_against_the_oracle(
    query: EntryQuery, rows_: int, chunk: int, streams: int, samples: SampleEntries
) -> None:
    check(samples, query, rows_, chunk, streams)


@pytest.mark.parametrize("descending", [False, True])
def test_a_walk_that_checks_its_own_key_leaves_out_groups(
    descending: bool, samples: SampleEntries
) -> None:
    """With more ranges than a walk merges, it meets the keys between them too."""
    query = EntryQuery(
        type_slug="posts",
        status=None,
        language=None,
        filters=(Filter("fields.category", "ne", ("howto",)),),
        sort=(SortKey("fields.category", descending), SortKey("title")),
        limit=10,
    )
    check(samples, query, rows_=6, chunk=3, streams=5)


def test_random_queries_compare_values_in_every_order() -> None:
    orderings = [spec.ordering for spec in FIELD_TYPES.values()]
    ordered = {one.takes for one in orderings if one and one.has_order}
    drawn = {one.takes for one in ORDERINGS.values() if one}
    assert ordered - drawn == set(), "add an indexed field to FIELDS"


def test_the_entries_differ_enough(samples: SampleEntries) -> None:
    """Entries have several values in each field, and none; otherwise the tests above would prove
    little."""
    assert len(samples.entries) == len(IDS) + ENTRIES
    for path in (*SORTABLE, *MULTIPLE):
        values = {str(one.values.get(path)) for one in samples.entries}
        assert len(values) > 2, path
        assert "None" in values or path in (*TEXTUAL[:2], *BUILT_IN_TIMES[:2]), path
    values = set(chain.from_iterable(one.values for one in samples.entries))
    assert values >= set(SORTABLE) - {"fields.author"}
