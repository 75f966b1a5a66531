"""Compares two read models that stand at one position, by the digests of what they store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, TypeAlias

from write_side.postgres.connection import Connection
from write_side.verification.claim_check import Difference, kind_of

Bucket: TypeAlias = tuple[str, int]

AT_ONCE = 20_000
_BUCKETS = """
SELECT relation, bucket, count(*) AS rows, sum(hash) AS sum FROM digest GROUP BY relation, bucket"""
_ROWS = """
SELECT relation, key, hash FROM digest
JOIN unnest($1::text[], $2::bigint[]) AS wanted(relation, bucket) USING (relation, bucket)"""


async def differences(live: Connection, log: Connection) -> list[Difference]:
    """Over two connections whose search_paths name the two read models, ``log`` the one made anew.

    What is held in memory is the differences, and AT_ONCE rows of each to find them.
    """
    of_live, of_log = await asyncio.gather(_buckets(live), _buckets(log))
    buckets = sorted(k for k in of_live.keys() | of_log.keys() if of_live.get(k) != of_log.get(k))
    sizes = [max(found.get(key, (0, 0))[0] for found in (of_live, of_log)) for key in buckets]
    found: list[Difference] = []
    for some in _slices(buckets, sizes):
        rows_of_live, rows_of_log = await asyncio.gather(_rows(live, some), _rows(log, some))
        found += _differing(rows_of_live, rows_of_log)
    return sorted(found)


def _slices(buckets: list[Bucket], sizes: list[int]) -> Iterator[list[Bucket]]:
    """Buckets of about AT_ONCE rows together."""
    some: list[Bucket] = []
    rows = 0
    for bucket, size in zip(buckets, sizes, strict=True):
        some.append(bucket)
        rows += size
        if rows >= AT_ONCE:
            yield some
            some, rows = [], 0
    if some:
        yield some


def _differing(
    rows_of_live: dict[tuple[str, str], int], rows_of_log: dict[tuple[str, str], int]
) -> list[Difference]:
    return [
        Difference(key[0], key[1], kind_of(rows_of_live.get(key), rows_of_log.get(key)))
        for key in rows_of_live.keys() | rows_of_log.keys()
        if rows_of_live.get(key) != rows_of_log.get(key)
    ]


async def _buckets(connection: Connection) -> dict[tuple[str, int], tuple[int, Any]]:
    rows = await connection.fetch(_BUCKETS)
    return {(row["relation"], row["bucket"]): (row["rows"], row["sum"]) for row in rows}


async def _rows(
    connection: Connection, buckets: list[tuple[str, int]]
) -> dict[tuple[str, str], int]:
    relations, numbers = map(list, zip(*buckets, strict=True))
    rows = await connection.fetch(_ROWS, relations, numbers)
    return {(row["relation"], row["key"]): row["hash"] for row in rows}
