"""The command line: `contentlog COMMAND`.

Commands are loaded when they are called, and import what is heavy when they work, so that
`contentlog --help` is quick.
"""

from __future__ import annotations

import contextlib
import os
import signal
from importlib import import_module
from types import FrameType
from typing import Any

import click

from deploy.failures import Failed, explained

COMMANDS = {
    "dev": "deploy.commands.dev",
    "migrate": "deploy.commands.migrate",
    "api": "deploy.commands.api",
    "projector": "deploy.commands.projector",
    "status": "deploy.commands.status",
    "rebuild": "deploy.commands.rebuild",
    "rollback": "deploy.commands.rollback",
    "verify": "deploy.commands.verify",
    "events": "deploy.commands.events",
    "apply": "deploy.commands.apply",
    "key": "deploy.commands.key",
    "import": "deploy.commands.importing",
    "export": "deploy.commands.exporting",
    "settings": "deploy.commands.settings",
}
"""Name → module, each with a `command`."""


class Commands(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[name]).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what could be foreseen ends in one line (interface, exit status 1).

        Being told to stop is no failure to speak of.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(1) from None
        except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            reason = explained(error)
            if reason is None:
                raise
            raise Failed(reason) from error


@click.command(cls=Commands, epilog="Settings come from the environment: contentlog settings")
@click.version_option(package_name="contentlog")
def cli() -> None:
    """A headless CMS whose truth is an event log.

    \b
    Example:
      contentlog dev
    """


def main() -> None:
    """The entry point. SIGTERM is taken like Ctrl-C, so that what was started is stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(AttributeError):
        signal.signal(signal.SIGHUP, _as_sigterm)
    cli(prog_name="contentlog")


def _as_sigterm(_number: int, _frame: FrameType | None) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
