"""Runs the commands that do one thing and exit."""

from __future__ import annotations

import getpass
import logging
import os
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from deploy.databases import Databases, connect_read_model, open_databases
from deploy.environment import load_settings, unknown_names
from deploy.failures import explained, reason_of
from deploy.logs import configure_logs
from deploy.settings import PREFIX, Settings
from deploy.stopping import run_stoppable
from write_side.domain.identity import ENVIRONMENTS, PRODUCTION, Actor

T = TypeVar("T")

VISIBLE_TIMEOUT = 10.0  # seconds until a command stops waiting for the read model
UNATTENDED_TIMEOUT = 1.0  # the same if no projector is running

workspace_option = click.option(
    "--workspace", required=True, metavar="W", help="The workspace's slug."
)
environment_option = click.option(
    "--environment",
    default=PRODUCTION,
    show_default=True,
    type=click.Choice(ENVIRONMENTS),
    help="The environment.",
)


class WholeNumber(click.IntRange):
    """A whole number; the error for anything else states the range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            self.fail(
                f"{str(value)!r} is not allowed; use a whole number from {self.min} to {self.max}",
                param,
                ctx,
            )


def _select(context: click.Context, _option: click.Parameter, name: str | None) -> None:
    if name is not None:
        context.obj = {f"{PREFIX}READ_MODEL": name}


def environment() -> dict[str, str]:
    """The process's environment variables, overridden by the command's options."""
    return {**os.environ, **(click.get_current_context().obj or {})}


read_model_option = click.option(
    "--read-model",
    metavar="NAME",
    callback=_select,
    expose_value=False,
    help="The read model.  [default: CONTENTLOG_READ_MODEL, or the default one]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def run(
    work: Callable[[Databases, Settings], Coroutine[Any, Any, T]], *, create: bool = False
) -> T:
    """Does the work on the databases that the settings name; logs only warnings.

    ``create=True`` lets it create an embedded PostgreSQL.
    """
    settings = command_settings()
    with (
        open_databases(settings, create=create) as databases,
        explained(databases.model.option),
    ):
        return run_stoppable(work(databases, settings))


def command_settings() -> Settings:
    """The settings; from now on, only warnings are logged."""
    settings = load_settings(environment())
    warn_of_unknown_settings(note)
    # A command's logs are for people, like its output, unless JSON was requested.
    as_text = replace(settings, log_format=settings.log_format or "text")
    configure_logs(as_text, level=logging.WARNING)
    return settings


def warn_of_unknown_settings(warn: Callable[[str], None]) -> None:
    """Warns about each variable that looks like a setting but is not. It is removed from the
    environment, so that child processes do not repeat the warning."""
    for name, warning in unknown_names(os.environ).items():
        warn(warning)
        del os.environ[name]


def note(text: str) -> None:
    """A remark on standard error."""
    click.echo(f"note: {text}", err=True)


def utc_minute(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"


def operator() -> Actor:
    """The user who runs the command. Bytes of the name that are not UTF-8 are replaced."""
    try:
        name = getpass.getuser().encode(errors="replace").decode()
    except (KeyError, OSError):  # a user id without a name, as in some containers
        name = f"uid {os.getuid()}"
    return Actor("operator", name)


async def until_visible(databases: Databases, position: int) -> None:
    """Waits until the read model has passed the position, or prints a note that it has not. If the
    read model cannot be reached, this is a note too, because the command has done its work."""
    from read_side.checkpoint import wait_until_visible
    from read_side.status import read_status

    try:
        async with connect_read_model(databases) as connection:
            status = await read_status(connection)
    except Exception as error:
        note(
            f"done, but cannot check whether the read model shows it yet: "
            f"{reason_of(error, databases.model.option)}"
        )
        return
    if status.position >= position:
        return
    timeout = VISIBLE_TIMEOUT if status.projectors else UNATTENDED_TIMEOUT
    if not await wait_until_visible(databases.read_model_url, position, timeout):
        reason = "it is behind" if status.projectors else "no projector is running"
        note(f"done, but the read model does not show it yet: {reason} (see contentlog status)")
