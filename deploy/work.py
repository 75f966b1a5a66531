"""What the commands that do one thing and end have in common."""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deploy.databases import Databases, connected, databases
from deploy.logs import configure_logs
from deploy.settings import Settings, load_settings

if TYPE_CHECKING:
    from write_side.domain.identity import Actor

T = TypeVar("T")

PATIENCE = 10.0  # seconds until a command no longer waits for the read model
UNATTENDED = 1.0  # the same, where no projector has been heard of


def run(work: Callable[[Databases], Coroutine[Any, Any, T]], *, make: bool = True) -> T:
    """Do the work on the databases that the settings name; only warnings are logged.

    ``make=False`` refuses to make an embedded PostgreSQL where there is none.
    """
    return run_with(lambda found, _: work(found), make=make)


def run_with(
    work: Callable[[Databases, Settings], Coroutine[Any, Any, T]], *, make: bool = True
) -> T:
    """The same for work that has settings of its own."""
    settings = load_settings(os.environ)
    configure_logs(settings, level=logging.WARNING)
    with databases(settings, make=make) as found:
        return asyncio.run(work(found, settings))


def login_name() -> str:
    """Whatever bytes it is of, as text that can be stored."""
    try:
        return getpass.getuser().encode(errors="replace").decode()
    except (KeyError, OSError):  # a user id without a name, as in some containers
        return f"uid {os.getuid()}"


def operator() -> Actor:
    """Who acts at the command line."""
    from write_side.domain.identity import Actor

    return Actor("operator", login_name())


async def until_visible(found: Databases, position: int) -> None:
    """Wait until the read model has passed the position, or note that it has not."""
    from read_side.checkpoint import wait_until_visible
    from read_side.status import read_status

    async with connected("CONTENTLOG_READ_MODEL_URL", found.read_model_url) as connection:
        status = await read_status(connection)
    if status.position >= position:
        return
    patience = PATIENCE if status.projectors else UNATTENDED
    if not await wait_until_visible(found.read_model_url, position, patience):
        reason = "it is behind" if status.projectors else "no projector is running"
        click.echo(
            f"note: done, but not yet to be read: {reason} (see contentlog status)", err=True
        )
