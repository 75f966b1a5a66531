"""`contentlog dev`: everything in one go."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from deploy.databases import Databases, connected, databases, open_repository
from deploy.failures import Failed
from deploy.logs import configure_logs
from deploy.ports import base_url, check_port
from deploy.settings import Settings, load_settings

if TYPE_CHECKING:
    from deploy.children import Child

PATIENCE = 60.0  # seconds until the API and the demo must be there
_LOCK = 0x636C_6F67_0005


@click.command(
    short_help="Everything in one go, on the embedded PostgreSQL, with a demo.",
    epilog="\b\nExample:\n  contentlog dev --port 9000",
)
@click.option("--host", help="The address to listen on (CONTENTLOG_HOST).")
@click.option("--port", type=click.IntRange(1, 65535), help="The port (CONTENTLOG_PORT).")
@click.option("--no-demo", is_flag=True, help="Begin without the demo magazine.")
def command(host: str | None, port: int | None, no_demo: bool) -> None:
    """Start PostgreSQL, the projector and the API; Ctrl-C stops them all.

    The first start brings a demo magazine, and prints how to read and write it.
    """
    settings = load_settings(os.environ)
    settings = replace(settings, host=host or settings.host, port=port or settings.port)
    configure_logs(settings, level=logging.WARNING)
    check_port(settings.host, settings.port)
    try:
        with databases(settings) as found:
            _run(settings, found, with_demo=not no_demo)
    except KeyboardInterrupt:
        return


def _run(settings: Settings, found: Databases, *, with_demo: bool) -> None:
    from deploy.children import Child, supervise
    from deploy.commands.migrate import migrated
    from deploy.program import contentlog

    asyncio.run(migrated(found))
    where = ("--host", settings.host, "--port", str(settings.port))
    children = [
        Child("projector", contentlog("projector")),
        Child("api", contentlog("api", *where)),
        *_watch(settings),
    ]
    os.environ.update(found.environment())

    async def started() -> None:
        await _greet(settings, found, with_demo=with_demo)

    asyncio.run(supervise(children, started))


def _watch(settings: Settings) -> list[Child]:
    """The embedded PostgreSQL is no child of ours: one that is looks after it."""
    from deploy.children import Child

    if settings.event_store_url and settings.read_model_url:
        return []
    watch = (sys.executable, "-P", "-m", "deploy.embedded.watch", settings.data)
    return [Child("postgres", watch)]


async def _greet(settings: Settings, found: Databases, *, with_demo: bool) -> None:
    """Bring the demo where it is due, wait until the API answers, then say where things are."""
    from deploy import greeting
    from deploy.demo import magazine
    from read_side.checkpoint import wait_until_visible

    base = base_url(settings.host, settings.port)
    position = await brought(found) if with_demo else None
    if position is not None:
        await wait_until_visible(found.read_model_url, position, PATIENCE)
    async with open_repository(found) as repository:
        has_demo = await magazine.has_key(repository)
    if not await greeting.answers(base, PATIENCE):
        raise Failed(f"the API does not answer at {base}: see the messages above")
    click.echo("\n".join(greeting.lines(base, magazine.secret() if has_demo else None)))


async def brought(found: Databases) -> int | None:
    """Bring the demo where it is due; returns the position that the log is at then.

    Two first starts at once would both find it due: the second waits for the first.
    """
    from deploy.demo import magazine

    async with connected("CONTENTLOG_EVENT_STORE_URL", found.event_store_url) as connection:
        # The lock is the session's: it is given up with the connection, whatever happens.
        await connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
        async with open_repository(found) as repository:
            if await magazine.is_due(repository):
                return await magazine.set_up(repository)
    return None
