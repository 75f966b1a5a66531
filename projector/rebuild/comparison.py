"""Compares the live read model with one built from the log, both at the same position."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Struct

from projector.checkpoint import Checkpoint
from projector.entry_values import Incomplete, incomplete
from projector.log import Halted, Log
from projector.process import connected_model
from projector.rebuild.progress import Operation
from projector.rebuild.switch import IDLE_TIMEOUT, Candidate
from projector.rows import columns
from read_side.engine import is_distributed
from read_side.schema import SHAPE, Workspaces, described, existing_checkpoint, workspaces_of
from write_side.domain.identity import Scope
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement
from write_side.verification.claim_check import Difference, Kind, differing_keys
from write_side.waiting import portions

Bucket: TypeAlias = tuple[str, int]

ROWS_AT_ONCE = 20_000
_CHECKPOINT = "SELECT * FROM checkpoint"
_POSITION = "SELECT position FROM checkpoint"
# A batch updates the checkpoint on every node. This one waits until all of them have committed it.
_PAUSE = "UPDATE checkpoint SET epoch = epoch"
_LOOK_EVERYWHERE = "SELECT count(*) FROM workspace"
_BUCKETS = """
SELECT relation, bucket, count(*) AS rows, sum(hash) AS sum FROM digest GROUP BY relation, bucket"""
_ROWS = """
SELECT relation, key, hash FROM digest
WHERE (relation, bucket) IN (SELECT * FROM unnest($1::text[], $2::bigint[]))"""


class LiveModel(Struct, frozen=True):
    """The live read model at the beginning. ``through``: the position up to which the new one is
    built before it follows the log. ``not_comparable``: why the two cannot be compared."""

    through: int
    not_comparable: str | None = None
    is_empty: bool = False

    @classmethod
    async def read(cls, url: str, log: Log, workspaces: Workspaces) -> LiveModel:
        """``workspaces``: those that the new one holds."""
        async with snapshot(url) as connection:
            row = existing_checkpoint(await connection.fetchrow(_CHECKPOINT))
        if row["position"] == 0:
            return cls(await log.head(), "it is empty", is_empty=True)
        if row["shape"] != SHAPE:
            return cls(await log.head(), "it has a different shape")
        if workspaces_of(row) != workspaces:
            held = described(workspaces_of(row))
            return cls(await log.head(), f"it holds {held}, the new one {described(workspaces)}")
        try:
            await log.check(Checkpoint.of(row))
        except Halted as restored:
            return cls(await log.head(), str(restored))
        return cls(row["position"])


async def compare(
    url: str, live: LiveModel, candidate: Candidate, operation: Operation
) -> list[Difference]:
    """Brings the candidate to the position of a snapshot of the live read model and compares
    them."""
    if live.not_comparable is not None:
        return []
    # Project most new events before the snapshot is taken, because the snapshot holds up vacuum.
    async with snapshot(url) as connection:
        position = await connection.fetchval(_POSITION)
    through = min(await candidate.log.head(), position)
    operation.begin("follow", through - candidate.checkpoint.position)
    await candidate.follow(through, operation.advance)
    operation.begin("compare")
    async with snapshot(url) as connection:
        await candidate.follow(await connection.fetchval(_POSITION))
        return await differences(connection, candidate.model)


@asynccontextmanager
async def snapshot(url: str) -> AsyncIterator[Connection]:
    async with connected_model(url) as connection:
        distributed = await is_distributed(connection)
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            # It is idle while the candidate follows, but with a limit, because vacuum waits for it.
            await connection.execute("SET LOCAL idle_in_transaction_session_timeout = '10min'")
            if distributed:
                await _take_snapshots(url, connection)
            yield connection


async def _take_snapshots(url: str, reading: Connection) -> None:
    """Takes a snapshot on every node, all at the same checkpoint, for a transaction that has just
    begun to read the live read model: Citus has no snapshot of several nodes (ADR 59). Meanwhile,
    the projector is paused."""
    async with connected_model(url) as pausing:
        transaction = pausing.transaction()
        await transaction.start()
        await pausing.execute(IDLE_TIMEOUT)
        await pausing.execute(_PAUSE)
        await reading.execute(_LOOK_EVERYWHERE)
        await transaction.rollback()


async def differences(live: Connection, log: Connection) -> list[Difference]:
    """The differing rows, over two connections whose search_paths name the two read models; ``log``
    is the one built from the log.

    Compares digests of the stored rows: first of buckets, then of the rows in those that differ,
    up to ROWS_AT_ONCE at a time. Values that either is about to bring up to date may differ.
    """
    coming = [await incomplete(live), await incomplete(log)]
    of_live, of_log = await asyncio.gather(_buckets(live), _buckets(log))
    buckets = sorted(key for key, _ in differing_keys(of_live, of_log))
    sizes = {key: max(of_live.get(key, (0, 0))[0], of_log.get(key, (0, 0))[0]) for key in buckets}
    found: list[Difference] = []
    for some in portions(buckets, sizes.__getitem__, ROWS_AT_ONCE):
        rows_of_live, rows_of_log = await asyncio.gather(_rows(live, some), _rows(log, some))
        differing = [
            (key, kind)
            for key, kind in differing_keys(rows_of_live, rows_of_log)
            if not any(_is_coming(one, *key, kind) for one in coming)
        ]
        texts = [text for (relation, text), kind in differing if _has_other_words(relation, kind)]
        unread = {*await _unread(live, texts), *await _unread(log, texts)}
        found += [Difference(*key, kind) for key, kind in differing if key not in unread]
    return sorted(found)


def _is_coming(incomplete: Incomplete, relation: str, key: str, kind: Kind) -> bool:
    """Whether the row may not yet be brought up to date."""
    if _has_other_words(relation, kind):
        return Scope(*msgspec.json.decode(key)[:2]) in incomplete.searches
    if relation == "entry_value":
        return UUID(msgspec.json.decode(key)[3]) in incomplete.lists
    return False


def _has_other_words(relation: str, kind: Kind) -> bool:
    return relation == "entry_search" and kind == "different"


async def _unread(connection: Connection, texts: list[str]) -> set[tuple[str, str]]:
    """Relation and key of the texts whose words are still to be found. ``texts``: their keys."""
    if not texts:
        return set()
    keys = columns(map(msgspec.json.decode, texts))
    rows = await connection.fetch(statement("projector", "unread_texts"), *keys)
    return {("entry_search", key) for (key,) in rows}


async def _buckets(connection: Connection) -> dict[Bucket, tuple[int, Any]]:
    rows = await connection.fetch(_BUCKETS)
    return {(row["relation"], row["bucket"]): (row["rows"], row["sum"]) for row in rows}


async def _rows(connection: Connection, buckets: list[Bucket]) -> dict[tuple[str, str], int]:
    relations, numbers = map(list, zip(*buckets, strict=True))
    rows = await connection.fetch(_ROWS, relations, numbers)
    return {(row["relation"], row["key"]): row["hash"] for row in rows}
