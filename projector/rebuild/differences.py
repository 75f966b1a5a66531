"""Compares two read models that stand at one position, by the digests of what they store."""

from __future__ import annotations

import asyncio
from typing import Any, Literal, TypeAlias

import asyncpg
from msgspec import Struct

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

Kind = Literal["missing", "unknown", "different"]

_BUCKETS = """
SELECT relation, bucket, count(*) AS rows, sum(hash) AS sum FROM digest GROUP BY relation, bucket"""
_ROWS = """
SELECT relation, key, hash FROM digest
JOIN unnest($1::text[], $2::bigint[]) AS wanted(relation, bucket) USING (relation, bucket)"""


class Difference(Struct, frozen=True, order=True):
    """A row of the live read model, or of the claims, that is not as the log says.

    ``missing`` from it, ``unknown`` to the log, or ``different``. ``key`` is JSON: the row's
    primary key.
    """

    relation: str
    key: str
    kind: Kind


async def differences(live: Connection, log: Connection) -> list[Difference]:
    """Over two connections whose search_paths name the two read models, ``log`` the one made anew.

    Bounded by the number of differences, not of rows.
    """
    of_live, of_log = await asyncio.gather(_buckets(live), _buckets(log))
    buckets = [key for key in of_live.keys() | of_log.keys() if of_live.get(key) != of_log.get(key)]
    if not buckets:
        return []
    rows_of_live, rows_of_log = await asyncio.gather(_rows(live, buckets), _rows(log, buckets))
    return sorted(
        Difference(key[0], key[1], kind_of(rows_of_live.get(key), rows_of_log.get(key)))
        for key in rows_of_live.keys() | rows_of_log.keys()
        if rows_of_live.get(key) != rows_of_log.get(key)
    )


async def _buckets(connection: Connection) -> dict[tuple[str, int], tuple[int, Any]]:
    rows = await connection.fetch(_BUCKETS)
    return {(row["relation"], row["bucket"]): (row["rows"], row["sum"]) for row in rows}


async def _rows(
    connection: Connection, buckets: list[tuple[str, int]]
) -> dict[tuple[str, str], int]:
    relations, numbers = map(list, zip(*buckets, strict=True))
    rows = await connection.fetch(_ROWS, relations, numbers)
    return {(row["relation"], row["key"]): row["hash"] for row in rows}


def kind_of(live: object | None, log: object | None) -> Kind:
    if live is None:
        return "missing"
    return "unknown" if log is None else "different"
