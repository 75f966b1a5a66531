"""`contentlog events`"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import click
import msgspec

from deploy.databases import Databases, connected
from deploy.work import run

PAGE = 1000
PAGE_BYTES = 16 * 1024 * 1024
POLL = 1.0
# The first of a page is read whatever its size: before it, there is nothing.
_EVENTS = """
SELECT notification_id, originator_id, originator_version, topic, state FROM (
    SELECT *, sum(octet_length(state)) OVER (ORDER BY notification_id ROWS UNBOUNDED PRECEDING)
              - octet_length(state) AS bytes_before
    FROM (
        SELECT notification_id, originator_id, originator_version, topic, state
        FROM write_side.event WHERE notification_id > $1 ORDER BY notification_id LIMIT $2
    ) AS coming
) AS sized WHERE bytes_before < $3 ORDER BY notification_id"""
_OF_STREAM = """
SELECT notification_id, originator_id, originator_version, topic, state FROM (
    SELECT *, sum(octet_length(state)) OVER (ORDER BY notification_id ROWS UNBOUNDED PRECEDING)
              - octet_length(state) AS bytes_before
    FROM (
        SELECT notification_id, originator_id, originator_version, topic, state
        FROM write_side.event WHERE notification_id > $1 AND originator_id = $4
        ORDER BY notification_id LIMIT $2
    ) AS coming
) AS sized WHERE bytes_before < $3 ORDER BY notification_id"""


@click.command(
    short_help="The log as JSON lines.",
    epilog="\b\nExample:\n  contentlog events --after 100 --follow | jq .topic",
)
@click.option("--after", type=click.IntRange(0), default=0, help="Begin after this position.")
@click.option("--stream", metavar="ID", help="Only one stream, such as workspace/acme.")
@click.option("--follow", is_flag=True, help="Go on with what is appended, until Ctrl-C.")
def command(after: int, stream: str | None, follow: bool) -> None:
    """Print the log, one event a line, in the order of positions."""

    async def work(found: Databases) -> None:
        async for line in _lines(found, after, stream, follow=follow):
            click.echo(line)

    with contextlib.suppress(KeyboardInterrupt):
        run(work, make=False)


async def _lines(
    found: Databases, after: int, stream: str | None, *, follow: bool
) -> AsyncIterator[bytes]:
    appended = asyncio.Event()
    async with connected("CONTENTLOG_EVENT_STORE_URL", found.event_store_url) as connection:
        if follow:
            await connection.add_listener("contentlog_event", lambda *_: appended.set())
        while True:
            appended.clear()
            page = (after, PAGE, PAGE_BYTES)
            given = (_EVENTS, *page) if stream is None else (_OF_STREAM, *page, stream)
            rows = await connection.fetch(*given)
            for row in rows:
                yield _line(row)
                after = row["notification_id"]
            if rows:
                continue
            if not follow:
                return
            with contextlib.suppress(TimeoutError):
                # Never wait_for: in Python 3.11 it may swallow being told to stop.
                async with asyncio.timeout(POLL):
                    await appended.wait()


def _line(row: Any) -> bytes:
    return msgspec.json.encode(
        {
            "position": row["notification_id"],
            "stream": row["originator_id"],
            "version": row["originator_version"],
            "topic": row["topic"],
            "event": msgspec.Raw(row["state"].encode()),
        }
    )
