"""Dashboard sessions, stored in the event store's database, where every API process finds them.

The table holds the SHA-256 of a random token and the id of an API key.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from write_side.store.recorder import Recorder

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
