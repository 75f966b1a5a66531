"""`contentlog dev`: all processes at once, and what it prints when they are ready."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from urllib.parse import urlsplit

import click

from deploy.commands.installation import migrate_databases
from deploy.commands.servers import at_address, check_port, host_option, port_option
from deploy.databases import Databases, connect_event_store, open_databases, open_repository
from deploy.environment import load_settings
from deploy.failures import Failed
from deploy.logs import configure_logs
from deploy.runner import note, warn_of_unknown_settings
from deploy.settings import Settings
from deploy.stopping import run_stoppable
from deploy.supervisor import Child, contentlog, supervise
from deploy.tracing import trace_settings

START_TIMEOUT = 60.0  # seconds until the API responds and the demo can be read
POLL = 0.05
_LOCK = 0x636C_6F67_0005


@click.command("dev", epilog="\b\nExample:\n  contentlog dev --port 9000")
@host_option
@port_option
@click.option("--no-demo", is_flag=True, help="Start without the demo magazine.")
def dev_command(host: str | None, port: int | None, no_demo: bool) -> None:
    """Run everything on this machine, with a demo.

    Starts PostgreSQL, the projector, the API and webhooks. The first start creates a demo magazine,
    and prints how to read and write it. Ctrl-C stops everything.
    """
    settings = at_address(load_settings(os.environ), host, port)
    configure_logs(settings, level=logging.WARNING)
    warn_of_unknown_settings(note)
    trace_settings(os.environ)  # otherwise each process would fail, again and again
    check_port(settings)
    with suppress(KeyboardInterrupt), open_databases(settings, create=True) as databases:
        _run(settings, databases, with_demo=not no_demo)
    click.echo("contentlog has stopped")


def _run(settings: Settings, databases: Databases, *, with_demo: bool) -> None:
    run_stoppable(migrate_databases(databases))
    address = ("--host", settings.host, "--port", str(settings.port))
    children = [
        Child("projector", contentlog("projector")),
        Child("api", contentlog("api", *address)),
    ]
    if databases.model.workspaces is None:  # otherwise it would fail, again and again
        children.append(Child("webhooks", contentlog("webhooks")))
    else:
        note(f"no webhooks: the read model '{databases.model.name}' holds only some workspaces")
    if not (settings.event_store_url and databases.model.url):
        # The embedded PostgreSQL is not our child; this child starts it again if it ends.
        watch = (sys.executable, "-P", "-m", "deploy.embedded.server", settings.data)
        children.append(Child("postgres", watch))
    os.environ.update(databases.environment())
    os.environ.pop("CONTENTLOG_PROBE_PORT", None)  # both could not have it
    greet = partial(_greet, settings, databases, with_demo=with_demo)
    asyncio.run(supervise(children, greet))


async def _greet(settings: Settings, databases: Databases, *, with_demo: bool) -> None:
    """Creates the demo if needed, waits until the API responds, then prints the URLs."""
    from deploy.demo import magazine
    from read_side.checkpoint import wait_until_visible

    url = base_url(settings.host, settings.port)
    position = await create_demo(databases) if with_demo else None
    if position is not None:
        await wait_until_visible(databases.read_model_url, position, START_TIMEOUT)
    async with open_repository(databases) as repository:
        has_demo = await magazine.has_key(repository)
    limit = time.monotonic() + START_TIMEOUT
    while not await _is_ready(url):
        if time.monotonic() > limit:
            raise Failed(f"the API does not respond at {url}: see the messages above")
        await asyncio.sleep(POLL)
    click.echo("\n".join(greeting(url, magazine.secret() if has_demo else None)))


async def create_demo(databases: Databases) -> int | None:
    """Creates the demo if needed; returns the position of the log afterwards. If two first starts
    run at once, the second waits for the first."""
    from deploy.demo import magazine

    async with connect_event_store(databases) as connection:
        # The session's lock ends with the connection.
        await connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
        async with open_repository(databases) as repository:
            if await magazine.is_due(repository):
                return await magazine.set_up(repository)
    return None


async def _is_ready(url: str) -> bool:
    address = urlsplit(url)
    try:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
    except OSError:
        return False
    try:
        request = f"GET /readyz HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n\r\n"
        writer.write(request.encode())
        async with asyncio.timeout(5):
            status = await reader.readline()
    except (OSError, TimeoutError):
        return False
    finally:
        writer.close()
    return status.startswith(b"HTTP/1.1 200")


def base_url(host: str, port: int) -> str:
    """The URL, from this machine, of a process that listens there."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - read, not bound
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def greeting(url: str, key: str | None) -> Iterator[str]:
    """The URLs and, with a demo key, three commands to copy."""
    yield f"contentlog is ready at {url}   (Ctrl-C stops everything)"
    yield f"  dashboard {url}/dashboard"
    yield f"  content   {url}/v1/content"
    yield f"  health    {url}/readyz"
    if key is None:
        yield "  keys      contentlog key issue --help"
        return
    # A title that no earlier start has used.
    entry = {
        "contentTypeSlug": "articles",
        "title": f"A letter from the terminal, {time.strftime('%d %B %Y at %H:%M:%S')}",
        "fields": {"form": "letter", "standfirst": "Written at the prompt, posted at once."},
    }
    curl = f"  curl -H 'Authorization: Bearer {key}'"
    yield f"  demo key  {key}"
    yield ""
    yield "The latest articles, one of them in French, and one of your own:"
    yield f"{curl} '{url}/v1/content/articles?limit=3'"
    yield f"{curl} '{url}/v1/content/articles/fog-by-ear?locale=fr-FR'"
    yield (
        f"{curl} -H 'Content-Type: application/json' -d '{json.dumps(entry)}' '{url}/v1/content'"
    )
