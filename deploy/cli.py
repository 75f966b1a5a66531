"""The command line: `contentlog COMMAND`.

Commands are loaded when they are called and import heavy modules when they run, so that `contentlog
--help` is fast.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from importlib import import_module
from types import FrameType
from typing import Any, TextIO

import click

from deploy.failures import explained

COMMANDS = {
    "dev": "dev",
    "migrate": "installation",
    "api": "servers",
    "projector": "servers",
    "webhooks": "servers",
    "status": "installation",
    "doctor": "installation",
    "rebuild": "read_model",
    "rollback": "read_model",
    "verify": "read_model",
    "backup": "backup",
    "events": "events",
    "changes": "changes",
    "apply": "manifest",
    "manifest": "manifest",
    "key": "key",
    "webhook": "webhook",
    "import": "imports",
    "export": "export",
    "settings": "installation",
}
"""Name → module of deploy.commands, which has the command as NAME_command."""
REPEAT_AFTER = 0.01
"""Seconds until an ignored signal is sent again."""


class Commands(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = import_module(f"deploy.commands.{COMMANDS[name]}")
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises NoSuchCommand with the names that are similar to the mistyped one."""
        # `invoke` needs it if the import of the command is interrupted.
        ctx.invoked_subcommand = args[0]
        _block_stops(signal.SIG_UNBLOCK)
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(
                error.command_name, possibilities=COMMANDS, ctx=ctx
            ) from None

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Also explains a failure to print the help or the version."""
        with explained():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; an expected failure ends with one line and exit status 1.

        Ctrl-C or SIGTERM also ends it with status 1, but a server that is asked to stop while it
        starts ends with status 0, as it does later.
        """
        try:
            with explained():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            _block_stops(signal.SIG_BLOCK)
            is_server = COMMANDS.get(ctx.invoked_subcommand or "") in ("dev", "servers")
            raise click.exceptions.Exit(0 if is_server else 1) from None


@click.command(cls=Commands, epilog="Settings come from the environment: contentlog settings")
@click.version_option(package_name="contentlog")
def cli() -> None:
    """A headless CMS with an event log as its source of truth.

    \b
    Example:
      contentlog dev
    """


def main() -> None:
    """The entry point. SIGTERM acts like Ctrl-C, so that started processes are stopped."""
    _open_closed_streams()
    # Until the name of the command is known: an interrupted command's status depends on it.
    _block_stops(signal.SIG_BLOCK)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.unraisablehook = _repeat_interrupt
    signal.signal(signal.SIGALRM, _as_sigterm)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores it
        signal.signal(signal.SIGHUP, _as_sigterm)
    try:
        cli(prog_name="contentlog")
    finally:
        # While Python ends, another signal would kill it and change the exit status.
        _block_stops(signal.SIG_BLOCK)


def _open_closed_streams() -> None:
    """Opens the null device for each closed standard stream. Otherwise a lock or a connection would
    get the file descriptor of one, and messages would be written to it. Output to one that was
    closed still fails, since what a command prints must not be lost; messages do not."""
    for stream, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest free number, which is that of the stream
    sys.stdout, sys.stderr = sys.stdout or _unbuffered(1), sys.stderr or _unbuffered(2)


def _unbuffered(stream: int) -> TextIO:
    """Keeps nothing that Python would write, and fail to, when it ends."""
    return io.TextIOWrapper(os.fdopen(stream, "wb", 0), write_through=True)


def _block_stops(how: int) -> None:
    signal.pthread_sigmask(how, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM))


def _repeat_interrupt(ignored: Any) -> None:
    """Python ignores exceptions in finalizers and in some callbacks, such as those of imports. If
    the exception is the KeyboardInterrupt of a signal, SIGTERM follows after REPEAT_AFTER."""
    if isinstance(ignored.exc_value, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, REPEAT_AFTER)
    else:
        sys.__unraisablehook__(ignored)


def _as_sigterm(_number: int, _frame: FrameType | None) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
