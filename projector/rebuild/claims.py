"""Proves that the claims and the usage of the event store are what its log comes to.

A range of entries at a time, each in a short snapshot of its own: one that lasted for the whole
log would keep vacuum from the row that every append changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import asyncpg
from msgspec.structs import replace

from projector.rebuild.differences import Difference, kind_of
from projector.rebuild.replay import Folding
from projector.rebuild.streams import ENTRIES, Range, pages, ranges_of_entries
from projector.rebuild.work import Work
from projector.rows import EntryState
from write_side import claims
from write_side.claims import Claims, EntryRow
from write_side.domain.slugs import slug_hash
from write_side.store import append
from write_side.store.mapper import EventMapper

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

PAGE_BYTES = 4 * 1024 * 1024
# Workspaces first: content types count against their plans.
AROUND = (
    Range("workspace/", "workspace0"),
    Range("content-type/", "content-type0"),
    Range("key/", "key0"),
)
_HEAD = "SELECT position FROM write_side.head"
_ENTRIES = """
SELECT id::text, workspace, environment, content_type_id::text, language, slug_hash
FROM write_side.entry_claim
WHERE ($1::uuid IS NULL OR id >= $1) AND ($2::uuid IS NULL OR id < $2)"""
_COUNTS = """
SELECT workspace, environment, count(*) AS n FROM write_side.entry_claim GROUP BY 1, 2"""


Scope: TypeAlias = tuple[str, str]


async def claims_that_differ(store: Connection, work: Work) -> list[Difference]:
    """The rows of the claims tables that are not as the log says, while appends go on.

    Raises Halted, Inconsistent.
    """
    mapper = EventMapper()
    async with snapshot(store) as head:
        ranges = await ranges_of_entries(store, head)
    work.begin("claims", head)
    found: list[Difference] = []
    amiss: Counter[Scope] = Counter()
    for streams in ranges:
        async with snapshot(store) as head:
            found += await _entries(store, mapper, streams, head, work, amiss)
    async with snapshot(store) as head:
        found += await _around(store, mapper, head, amiss)
    return sorted(found)


@asynccontextmanager
async def snapshot(store: Connection) -> AsyncIterator[int]:
    """The head of the log and the claims of the same moment."""
    async with store.transaction(isolation="repeatable_read", readonly=True):
        yield int(await store.fetchval(_HEAD))


async def _entries(
    store: Connection,
    mapper: EventMapper,
    streams: Range,
    head: int,
    work: Work,
    amiss: Counter[Scope],
) -> list[Difference]:
    """``amiss`` is told how many claims each scope lacks."""
    expected: dict[str, EntryRow] = {}
    folding = Folding()
    async for page in pages(store, mapper, streams, head, PAGE_BYTES):
        work.go_on(len(page))
        expected |= entry_claims(folding.living(page))
    expected |= entry_claims(folding.last())
    rows = await store.fetch(_ENTRIES, _id(streams.first), _id(streams.end))
    stored = {row["id"]: EntryRow(**row) for row in rows}
    wrong = [key for key in stored.keys() | expected.keys() if stored.get(key) != expected.get(key)]
    for rows_of, lacking in ((expected, 1), (stored, -1)):
        for row in filter(None, map(rows_of.get, wrong)):
            amiss[row.workspace, row.environment] += lacking
    return compared("entry_claim", stored, expected)


def entry_claims(states: Iterable[EntryState]) -> dict[str, EntryRow]:
    return {
        state.entry.id: EntryRow(
            state.entry.id,
            state.entry.workspace,
            state.entry.environment,
            state.entry.content_type_id,
            state.entry.language,
            slug_hash(state.entry.slug),
        )
        for state in states
    }


def _id(stream: str) -> str | None:
    """The entry id that a range begins or ends with; None at the ends of all."""
    return None if stream in (ENTRIES.first, ENTRIES.end) else stream.removeprefix(ENTRIES.first)


async def _around(
    store: Connection, mapper: EventMapper, head: int, amiss: Counter[Scope]
) -> list[Difference]:
    expected = await _expected_around(store, mapper, head, amiss)
    stored = await claims.stored_around(store)
    return [
        *compared("content_type_claim", stored.content_types, expected.content_types),
        *compared("key_claim", stored.keys, expected.keys),
        *compared("usage", stored.usage, expected.usage),
    ]


async def _expected_around(
    store: Connection, mapper: EventMapper, head: int, amiss: Counter[Scope]
) -> Claims:
    """All claims but those of entries. Usage is what the claims of entries come to, of which each
    was held against the log, and those that they lack."""
    expected = Claims()
    for streams in AROUND:
        async for page in pages(store, mapper, streams, head, PAGE_BYTES):
            claims.take(expected, (recorded.event for recorded in page))
    living = Counter(
        {(row["workspace"], row["environment"]): row["n"] for row in await store.fetch(_COUNTS)}
    )
    living.update(amiss)
    for key, row in expected.usage.items():
        if row.quota == append.ENTRIES:
            expected.usage[key] = replace(row, used=living[row.workspace, row.environment])
    return expected


def compared(
    relation: str, stored: Mapping[Any, Any], expected: Mapping[Any, Any]
) -> list[Difference]:
    return [
        Difference(relation, claims.key_text(key), kind_of(stored.get(key), expected.get(key)))
        for key in stored.keys() | expected.keys()
        if stored.get(key) != expected.get(key)
    ]
