"""Compares the claims, usage and snapshots of the event store with the log, and corrects them.

Entries are read in ranges, each in a separate short snapshot, because one snapshot of the whole log
would keep vacuum from the row that every append changes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, Protocol, TypeVar

import asyncpg
import msgspec
from msgspec import Struct

from write_side.domain.entry import Entry, evolve
from write_side.domain.events import Event
from write_side.domain.identity import (
    content_type_stream,
    entry_stream,
    key_stream,
    workspace_stream,
)
from write_side.entry_snapshots import SHAPE, state_of
from write_side.postgres.connection import Connection, catalog_transaction
from write_side.store.log_reader import ENTRIES, StreamRange, head, pages, ranges_of_entries
from write_side.store.mapper import EventMapper
from write_side.store.recorder import STREAM
from write_side.verification.claims import (
    Claims,
    Place,
    stored_entries,
    stored_without_entries,
)

PAGE_BYTES = 4 * 1024 * 1024
OTHERS = (
    StreamRange("workspace/", "workspace0"),
    StreamRange("content-type/", "content-type0"),
    StreamRange("key/", "key0"),
)
Key = TypeVar("Key")
Kind = Literal["missing", "unknown", "different"]
_COUNTS = """
SELECT workspace, environment, count(*) AS n FROM write_side.entry_claim GROUP BY 1, 2"""
_SNAPSHOTS = """
SELECT stream, version, md5(state) AS digest FROM write_side.entry_snapshot
WHERE stream >= $1 AND stream < $2 AND shape = $3"""
ATTEMPTS = 5
STREAM_OF = {
    "entry_claim": entry_stream,
    "content_type_claim": content_type_stream,
    "key_claim": key_stream,
}
_HOLD_APPENDS = "SELECT position FROM write_side.head FOR UPDATE"
_DELETE = {
    "entry_claim": "DELETE FROM write_side.entry_claim WHERE id = ANY ($1::uuid[])",
    "content_type_claim": "DELETE FROM write_side.content_type_claim WHERE id = ANY ($1::uuid[])",
    "key_claim": "DELETE FROM write_side.key_claim WHERE id = ANY ($1)",
    # The next update that reads enough events writes a new one.
    "entry_snapshot": """
        DELETE FROM write_side.entry_snapshot
        WHERE stream IN (SELECT 'entry/' || id FROM unnest($1::text[]) AS id)""",
}
_DELETE_USAGE = """
DELETE FROM write_side.usage WHERE (workspace, environment, quota) = ($1, $2, $3)"""
# Counts the claims, which are correct by then.
_INSERT_USAGE = """
INSERT INTO write_side.usage (workspace, environment, quota, used, bound)
SELECT $1::text, $2::text, $3::text, count(*), $4 FROM (
    SELECT FROM write_side.entry_claim
    WHERE $3 = 'entries' AND workspace = $1 AND environment = $2
    UNION ALL
    SELECT FROM write_side.content_type_claim
    WHERE $3 = 'content_types' AND workspace = $1 AND environment = $2
) AS used"""
# The API's caches of keys and plans compare the version.
_RAISE_ACCESS = """
WITH raised AS (UPDATE write_side.access SET version = version + 1 RETURNING version)
SELECT pg_notify('contentlog_access', '') FROM raised"""


class Difference(Struct, frozen=True, order=True):
    """A row of the claims that differs from the log.

    ``missing`` from the table, ``unknown`` to the log, or ``different``. ``key``: the primary key
    as JSON.
    """

    relation: str
    key: str
    kind: Kind


class Progress(Protocol):
    def begin(self, phase: str, total: int) -> None: ...

    def advance(self, done: int) -> None: ...


async def claim_differences(store: Connection, progress: Progress) -> list[Difference]:
    """The rows of the claims tables that differ from the log. Appends may continue meanwhile.

    Raises UnknownTopic or UndecodableEvent.
    """
    check = _Check(store, progress)
    async with _snapshot(store) as through:
        ranges = await ranges_of_entries(store, through)
    progress.begin("claims", through)
    found: list[Difference] = []
    for streams in ranges:
        found += await check.entries(streams)
    found += await check.others()
    return sorted(found)


def differing_keys(
    stored: Mapping[Key, Any], expected: Mapping[Key, Any]
) -> list[tuple[Key, Kind]]:
    return [
        (key, _kind(stored.get(key), expected.get(key)))
        for key in stored.keys() | expected.keys()
        if stored.get(key) != expected.get(key)
    ]


def _kind(stored: object | None, expected: object | None) -> Kind:
    if stored is None:
        return "missing"
    return "unknown" if expected is None else "different"


class _Check:
    def __init__(self, store: Connection, progress: Progress) -> None:
        self._store = store
        self._progress = progress
        self._mapper = EventMapper()
        # How many claims of entries each scope lacks, minus those it has in excess.
        self._lacking: Counter[Place] = Counter()

    async def entries(self, streams: StreamRange) -> list[Difference]:
        expected = Claims()
        async with _snapshot(self._store) as through:
            snapshots = _Snapshots(
                await self._store.fetch(_SNAPSHOTS, streams.first, streams.end, SHAPE)
            )
            async for rows in pages(self._store, streams, through, PAGE_BYTES):
                events = self._decoded(rows)
                self._progress.advance(len(events))
                expected.apply(events)
                snapshots.take(zip(rows, events, strict=True))
            ids = _entry_id(streams.first), _entry_id(streams.end)
            stored = await stored_entries(self._store, *ids)
        found = _compared("entry_claim", stored, expected.entry_claim)
        for one in found:
            [entry_id] = msgspec.json.decode(one.key)
            for claims, n in ((expected.entry_claim, 1), (stored, -1)):
                if row := claims.get(entry_id):
                    self._lacking[row.workspace, row.environment] += n
        return found + [
            Difference("entry_snapshot", _json(stream.removeprefix(ENTRIES.first)), kind)
            for stream, kind in snapshots.wrong()
        ]

    async def others(self) -> list[Difference]:
        """All claims except those of entries. Usage counts the existing claims of entries, each
        compared with the log before, plus the missing ones."""
        expected = Claims()
        async with _snapshot(self._store) as through:
            for streams in OTHERS:
                async for rows in pages(self._store, streams, through, PAGE_BYTES):
                    expected.apply(self._decoded(rows))
            counts = await self._store.fetch(_COUNTS)
            stored = await stored_without_entries(self._store)
        entries = Counter({(row["workspace"], row["environment"]): row["n"] for row in counts})
        entries.update(self._lacking)
        expected.count(entries)
        return [
            difference
            for table in ("content_type_claim", "key_claim", "usage")
            for difference in _compared(table, getattr(stored, table), getattr(expected, table))
        ]

    def _decoded(self, rows: list[asyncpg.Record]) -> list[Event]:
        return list(map(self._mapper.event_of, rows))


class _Snapshots:
    """Compares the snapshots of entries with the fold of the events up to each. Receives the events
    of a range of streams, stream by stream."""

    def __init__(self, rows: list[asyncpg.Record]) -> None:
        self._stored = {row["stream"]: (row["version"], row["digest"]) for row in rows}
        self._wrong: list[tuple[str, Kind]] = []
        self._stream = ""
        self._entry: Entry | None = None

    def take(self, events: Iterable[tuple[asyncpg.Record, Any]]) -> None:
        for row, event in events:
            stream = row["originator_id"]
            if stream not in self._stored:
                continue
            before = self._entry if stream == self._stream else None
            self._stream, self._entry = stream, evolve(before, event)
            version, digest = self._stored[stream]
            if row["originator_version"] == version:
                del self._stored[stream]
                state = state_of(self._entry).encode()
                if hashlib.md5(state, usedforsecurity=False).hexdigest() != digest:
                    self._wrong.append((stream, "different"))

    def wrong(self) -> list[tuple[str, Kind]]:
        """The streams of the entries with wrong snapshots, after the last event."""
        return [*self._wrong, *((stream, "unknown") for stream in self._stored)]


@asynccontextmanager
async def _snapshot(store: Connection) -> AsyncIterator[int]:
    """The head of the log, and the claims at the same moment."""
    async with store.transaction(isolation="repeatable_read", readonly=True):
        yield await head(store)


def _entry_id(stream: str) -> str | None:
    """The entry id at an end of a range; None at the very first and the very last."""
    return None if stream in (ENTRIES.first, ENTRIES.end) else stream.removeprefix(ENTRIES.first)


def _compared(
    table: str, stored: Mapping[Any, Any], expected: Mapping[Any, Any]
) -> list[Difference]:
    return [Difference(table, _json(key), kind) for key, kind in differing_keys(stored, expected)]


def _json(key: str | tuple[str, ...]) -> str:
    return msgspec.json.encode([key] if isinstance(key, str) else key).decode()


async def repair_claims(store: Connection, wrong: Sequence[Difference]) -> int:
    """Rewrites these rows from the log, while appends wait. Returns their number. Rows that are
    correct by now do not change. Raises PostgresError if the log itself violates the claims'
    constraints."""
    for attempt in range(ATTEMPTS):
        try:
            # Appends lock the head last, so none commits from here on. An append that already has
            # claims and waits for the head causes a deadlock, and either it or this is retried.
            async with catalog_transaction(store):
                await store.execute(_HOLD_APPENDS)
                await _rewrite(store, wrong)
                return len(wrong)
        except asyncpg.DeadlockDetectedError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


async def _rewrite(store: Connection, wrong: Sequence[Difference]) -> None:
    """Runs within one transaction, for which all appends wait."""
    mapper = EventMapper()
    keys: dict[str, list[list[str]]] = {}
    for difference in wrong:
        keys.setdefault(difference.relation, []).append(msgspec.json.decode(difference.key))
    # All wrong rows are deleted before any is inserted, because they may hold the slugs of the
    # right ones.
    for table, statement in _DELETE.items():
        await store.execute(statement, [key for (key,) in keys.get(table, ())])
    for table, stream_of in STREAM_OF.items():
        rows = []
        for (key,) in keys.get(table, ()):
            claims = await _claims_of(store, mapper, stream_of(key))
            if row := getattr(claims, table).get(key):
                rows.append(row)
        if rows:
            await store.copy_records_to_table(
                table,
                schema_name="write_side",
                columns=rows[0].__struct_fields__,
                records=map(msgspec.structs.astuple, rows),
            )
    for workspace, environment, quota in keys.get("usage", ()):
        claims = await _claims_of(store, mapper, workspace_stream(workspace))
        await store.execute(_DELETE_USAGE, workspace, environment, quota)
        if usage := claims.usage.get((workspace, environment, quota)):
            await store.execute(_INSERT_USAGE, workspace, environment, quota, usage.bound)
    await store.execute(_RAISE_ACCESS)


async def _claims_of(store: Connection, mapper: EventMapper, stream: str) -> Claims:
    claims = Claims()
    claims.apply(map(mapper.event_of, await store.fetch(STREAM, stream)))
    return claims
