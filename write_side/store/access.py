"""The data by which API processes authenticate callers: keys from their claims, a version that
tells when to read them again, and sessions of the dashboard.

The claims are read, not the read model, so neither a halted projector nor a rollback keeps a
revoked key valid. Every change of a key, a plan or an environment increments the access version.

All API processes read the same table of sessions. A row has the SHA-256 of a random token and the
id of an API key.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import cache

import asyncpg
from msgspec import Struct

from write_side.postgres.connection import Fetch
from write_side.store.recorder import Recorder

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


LIFETIME = timedelta(hours=12)
"""Measured from sign-in."""
IDLE = timedelta(hours=2)
"""Measured from the user's last request."""
_BEGIN = "INSERT INTO write_side.dashboard_session (token_hash, key_id) VALUES ($1, $2)"
# Written at most once a minute, so that viewing a page is mostly a read.
_FIND = """
WITH live AS (
    SELECT token_hash, key_id, seen_at FROM write_side.dashboard_session
    WHERE token_hash = $1 AND began_at > now() - $2::interval AND seen_at > now() - $3::interval
), seen AS (
    UPDATE write_side.dashboard_session s SET seen_at = now() FROM live
    WHERE s.token_hash = live.token_hash AND $4 AND live.seen_at < now() - interval '1 minute'
)
SELECT key_id FROM live"""
_END = "DELETE FROM write_side.dashboard_session WHERE token_hash = $1"
_DELETE_EXPIRED = """
DELETE FROM write_side.dashboard_session
WHERE began_at <= now() - $1::interval OR seen_at <= now() - $2::interval"""


class Sessions:
    """Raises StoreUnavailable if the database does not respond."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    async def begin(self, key_id: str) -> str:
        """The token of a new session, which is not stored. Deletes expired sessions."""
        await self._recorder.fetch(_DELETE_EXPIRED, LIFETIME, IDLE)
        token = secrets.token_urlsafe(32)
        await self._recorder.fetch(_BEGIN, _hash(token), key_id)
        return token

    async def key_of(self, token: str, *, active: bool = True) -> str | None:
        """The id of the session's key, None if it has ended. ``active``: the user made the
        request, not a page that refreshes itself."""
        rows = await self._recorder.fetch(_FIND, _hash(token), LIFETIME, IDLE, active)
        return rows[0]["key_id"] if rows else None

    async def end(self, token: str) -> None:
        await self._recorder.fetch(_END, _hash(token))


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
