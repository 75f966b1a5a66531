"""`contentlog events`"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import click
import msgspec

from deploy.databases import Databases, connect_event_store
from deploy.failures import Failed
from deploy.runner import WholeNumber, run
from deploy.settings import Settings
from write_side.waiting import wait_until_set

PAGE = 1000
LAST = 2**63 - 1
"""The largest position that PostgreSQL can store."""
PAGE_BYTES = 16 * 1024 * 1024
POLL = 1.0  # seconds


@click.command(
    "events", epilog="\b\nExample:\n  contentlog events --after 100 --follow | jq .topic"
)
@click.option("--after", type=WholeNumber(0, LAST), default=0, help="Start after this position.")
@click.option("--stream", metavar="ID", help="Only one stream, such as workspace/acme.")
@click.option("--follow", is_flag=True, help="Continue with new events until Ctrl-C.")
def events_command(after: int, stream: str | None, follow: bool) -> None:
    """Print the log as JSON lines, ordered by position."""

    async def work(databases: Databases, _: Settings) -> None:
        async with contextlib.aclosing(_lines(databases, after, stream, follow=follow)) as lines:
            async for line in lines:
                click.echo(line)

    with contextlib.suppress(KeyboardInterrupt):
        run(work)


async def _lines(
    databases: Databases, after: int, stream: str | None, *, follow: bool
) -> AsyncGenerator[bytes, None]:
    from write_side.store.log_reader import batch

    appended = asyncio.Event()
    async with connect_event_store(databases) as connection:
        if follow:
            await connection.add_listener("contentlog_event", lambda *_: appended.set())
        is_known = stream is None
        while True:
            appended.clear()
            rows = await batch(connection, after, PAGE, PAGE_BYTES, stream)
            is_known = is_known or bool(rows or await batch(connection, 0, 1, PAGE_BYTES, stream))
            if not is_known:
                raise Failed(
                    f"there is no stream {stream!r}; streams have names such as workspace/acme or "
                    "entry/ID, as `contentlog events` prints it"
                )
            for row in rows:
                yield _line(row)
                after = row["notification_id"]
            if rows:
                continue
            if not follow:
                return
            await wait_until_set(appended, POLL)


def _line(row: Any) -> bytes:
    return msgspec.json.encode(
        {
            "position": row["notification_id"],
            "stream": row["originator_id"],
            "version": row["originator_version"],
            "at": row["at"],
            "topic": row["topic"],
            "event": msgspec.Raw(row["state"].encode()),
        }
    )
