"""The log a page at a time: a page is bounded by its events and by their bytes."""

from __future__ import annotations

import asyncpg

from write_side.postgres.connection import Connection

# The first event of a page is read whatever its size.
_PAGE = """
SELECT notification_id, originator_id, originator_version, topic, state FROM (
    SELECT *, sum(octet_length(state)) OVER (ORDER BY notification_id ROWS UNBOUNDED PRECEDING)
              - octet_length(state) AS bytes_before
    FROM (
        SELECT notification_id, originator_id, originator_version, topic, state
        FROM write_side.event WHERE notification_id > $1 ORDER BY notification_id LIMIT $2
    ) AS coming
) AS sized WHERE bytes_before < $3 ORDER BY notification_id"""
_PAGE_OF_STREAM = _PAGE.replace("> $1", "> $1 AND originator_id = $4")


async def log_page(
    connection: Connection, after: int, limit: int, size: int, stream: str | None = None
) -> list[asyncpg.Record]:
    """The next events after a position, or those of one stream, up to about ``size`` bytes."""
    if stream is None:
        return await connection.fetch(_PAGE, after, limit, size)
    return await connection.fetch(_PAGE_OF_STREAM, after, limit, size, stream)
