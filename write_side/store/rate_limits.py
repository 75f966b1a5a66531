"""The counter that all API processes lease requests from: a table of the event store's database.

A window is 60 s of the database's clock, so the clocks of the API's machines do not matter. For
each bucket the table has the number of requests of the window that are leased, and how many of
those are spare: leased beyond the demand, so that they may still be returned. The formula is in
SQL, in ``write_side.lease`` and ``write_side.rate_block``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from write_side.postgres.connection import Connection, connect

WINDOW = 60
"""Seconds."""
FEW = 64
"""Below this number of free requests, none are leased as spare."""
SHARE = 16
"""One in this number of the free requests is leased as spare."""
MOST = 1_000
"""The largest number leased as spare."""

EXPIRED_AT_ONCE = 1_000
CONNECT_TIMEOUT = 2.0
APPLICATION_NAME = "contentlog rate limits"
_LEASE = "SELECT * FROM write_side.lease($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
# SKIP LOCKED and the second check of the window keep a bucket that is in use again. If the clock
# was set back a little, buckets of the next window are in use, too. Later buckets would never begin
# a new window until the clock reaches theirs.
_EXPIRE = """
WITH present AS (
    SELECT floor(extract(epoch FROM clock_timestamp()) / $1::bigint)::bigint * $1 AS started
), expired AS (
    SELECT bucket, started FROM write_side.rate_limit
    WHERE started < (SELECT started FROM present)
       OR started > (SELECT started FROM present) + $1
    LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM write_side.rate_limit r USING expired e
WHERE (r.bucket, r.started) = (e.bucket, e.started)"""


class Demand(Struct, frozen=True):
    """The number of requests demanded from a bucket, and the rest of its previous lease.

    ``window`` is the Unix second at which the window of that lease began; ``spare`` is what the
    counter recorded as spare, of which ``unused`` are returned.
    """

    bucket: str
    limit: int
    requested: int
    window: int = 0
    spare: int = 0
    unused: int = 0

    def for_retry(self) -> Demand:
        """The demand after a call that may have been executed: requests must not be returned twice,
        while demanding twice only wastes a lease."""
        return Demand(self.bucket, self.limit, self.requested)


class Grant(Struct, frozen=True):
    """``granted`` is less than the demand only if no more are free. ``free`` are left to lease;
    ``spare`` may still be returned by any process. ``window`` is the Unix second at which it began
    and ``at`` the current time, both by the database's clock."""

    window: int
    granted: int
    free: int
    spare: int
    at: float


class Counter:
    """Uses its own connection, opened on first use; one call at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Connection | None = None

    async def lease(self, demands: Sequence[Demand]) -> list[Grant]:
        """A grant for each demand; buckets are distinct and sorted. Without demands the call shows
        whether the counter can be reached."""
        columns = [[getattr(one, name) for one in demands] for name in Demand.__struct_fields__]
        connection = await self._connected()
        try:
            rows = await connection.fetch(_LEASE, WINDOW, FEW, SHARE, MOST, *columns)
        except BaseException:
            # A cancelled or failed call leaves a connection that is not safe to use.
            connection.terminate()
            raise
        return [Grant(*row) for row in rows]

    async def expire(self) -> bool:
        """Deletes some buckets that are not of this window or the next. True if there are more."""
        connection = await self._connected()
        deleted = await connection.execute(_EXPIRE, WINDOW, EXPIRED_AT_ONCE)
        return deleted == f"DELETE {EXPIRED_AT_ONCE}"

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(
                self._url,
                timeout=CONNECT_TIMEOUT,
                server_settings={"application_name": APPLICATION_NAME},
            )
        return self._connection
