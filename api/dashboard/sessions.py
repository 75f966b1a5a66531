"""Who is signed in, in the event store's database: any API process knows any session.

The cookie holds a random token, the table its SHA-256 and the id of a key. What the key may do is
looked up at each request, so a session is never worth more than its key is at the moment.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from write_side.store.recorder import Recorder

LONGEST = timedelta(hours=12)
"""From signing in."""
IDLE = timedelta(hours=2)
"""Without a request of the person's own."""
_BEGIN = """
INSERT INTO write_side.dashboard_session (token_hash, key_id) VALUES ($1, $2)
RETURNING key_id"""
# Noted once a minute at most: a page that is looked at is mostly a read.
_FIND = """
WITH live AS (
    SELECT token_hash, key_id, seen_at FROM write_side.dashboard_session
    WHERE token_hash = $1 AND began_at > now() - $2::interval AND seen_at > now() - $3::interval
), seen AS (
    UPDATE write_side.dashboard_session s SET seen_at = now() FROM live
    WHERE s.token_hash = live.token_hash AND $4 AND live.seen_at < now() - interval '1 minute'
)
SELECT key_id FROM live"""
_END = "DELETE FROM write_side.dashboard_session WHERE token_hash = $1 RETURNING key_id"
_FORGET = """
DELETE FROM write_side.dashboard_session
WHERE began_at <= now() - $1::interval OR seen_at <= now() - $2::interval
RETURNING key_id"""


class Sessions:
    """Raises StoreUnavailable where the database does not answer."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    async def begin(self, key_id: str) -> str:
        """A new session's token; nobody can ask for it again. Forgets those that have expired."""
        await self._recorder.fetch(_FORGET, LONGEST, IDLE)
        token = secrets.token_urlsafe(32)
        await self._recorder.fetch(_BEGIN, _hash(token), key_id)
        return token

    async def key_of(self, token: str, *, active: bool = True) -> str | None:
        """The id of the session's key, as long as it lasts. ``active``: by the person's own doing,
        not by a page that refreshes itself."""
        rows = await self._recorder.fetch(_FIND, _hash(token), LONGEST, IDLE, active)
        return rows[0]["key_id"] if rows else None

    async def end(self, token: str) -> None:
        await self._recorder.fetch(_END, _hash(token))


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
