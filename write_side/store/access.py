"""The data that API processes read to authenticate callers: keys from their claims, and what
changed.

The claims are read, not the read model, so neither a halted projector nor a rollback keeps a
revoked key valid. Every change of a key, a plan or an environment increments the access version.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from functools import cache

import asyncpg
from msgspec import Struct

from write_side.postgres.connection import Fetch

_MARK = """
SELECT version, position, pg_postmaster_start_time() AS since, clock_timestamp() AS now
FROM write_side.access, write_side.head"""
_LIVE = """
SELECT * FROM write_side.key_claim WHERE NOT revoked AND id > $1 ORDER BY id LIMIT $2"""
_SOME = "SELECT * FROM write_side.key_claim WHERE id = ANY ($1)"
# By the names of streams, to include event types of newer versions. A workspace's name has no
# effect on access, and renaming does not increment the version.
_CHANGED = """
SELECT originator_id AS stream, count(*) AS events FROM write_side.event
WHERE notification_id > $1 AND notification_id <= $2
  AND (originator_id LIKE 'key/%' OR originator_id LIKE 'workspace/%')
  AND topic NOT LIKE 'workspace.renamed.%'
GROUP BY originator_id"""
# Written once per key and day: another process may have been first.
_RECORD_USE = """
INSERT INTO write_side.key_use (key_id, day)
SELECT id, $2 FROM unnest($1::text[]) AS used (id)
WHERE NOT EXISTS (SELECT FROM write_side.key_use known WHERE known.key_id = id AND day >= $2)
ORDER BY id
ON CONFLICT (key_id) DO UPDATE SET day = excluded.day WHERE key_use.day < excluded.day
RETURNING key_id"""
_LAST_USES = "SELECT key_id, day FROM write_side.key_use WHERE key_id = ANY ($1)"
_KEY_OF_TOKENS = "SELECT key FROM write_side.token_key"


class Mark(Struct, frozen=True):
    """The state of the store at one time; ``since``: the start of its server; ``now``: the time of
    its clock."""

    version: int
    position: int
    since: datetime
    now: datetime


class KeyClaim(Struct, frozen=True, gc=False):
    """``digest``: of the key's secret (``secret_hash``). ``environment`` None: all."""

    id: str
    workspace: str
    name: str
    digest: str
    permissions: frozenset[str]
    environment: str | None = None
    expires_at: datetime | None = None
    revoked: bool = False


async def mark(fetch: Fetch) -> Mark:
    [row] = await fetch(_MARK)
    return Mark(*row)


async def live_keys(fetch: Fetch, after: str, limit: int) -> list[KeyClaim]:
    """The next keys by id that are not revoked."""
    return [_claim(row) for row in await fetch(_LIVE, after, limit)]


async def keys_by_id(fetch: Fetch, ids: Sequence[str]) -> list[KeyClaim]:
    return [_claim(row) for row in await fetch(_SOME, ids)]


async def changed_streams(fetch: Fetch, after: int, until: int) -> dict[str, int]:
    """The number of events between two positions that may change access, by stream."""
    return {row["stream"]: row["events"] for row in await fetch(_CHANGED, after, until)}


async def record_use(fetch: Fetch, ids: Sequence[str], day: date) -> int:
    """Records that the keys were used on the day. Returns how many rows were written; none is
    written for a key whose use on that day or later is already recorded."""
    return len(await fetch(_RECORD_USE, ids, day))


async def last_uses(fetch: Fetch, ids: Sequence[str]) -> dict[str, date]:
    """The day of the last use by key; keys that were never used are absent."""
    return {row["key_id"]: row["day"] for row in await fetch(_LAST_USES, ids)}


async def token_key(fetch: Fetch) -> bytes:
    """The installation's secret for the tokens of ``X-Content-Position``."""
    [row] = await fetch(_KEY_OF_TOKENS)
    return bytes(row["key"])


def _claim(row: asyncpg.Record) -> KeyClaim:
    return KeyClaim(
        row["id"],
        row["workspace"],
        row["name"],
        row["secret_hash"],
        _permissions(tuple(row["permissions"])),
        row["environment"],
        row["expires_at"],
        row["revoked"],
    )


@cache
def _permissions(names: tuple[str, ...]) -> frozenset[str]:
    """Keys with the same permissions share one set, to save memory."""
    return frozenset(names)
