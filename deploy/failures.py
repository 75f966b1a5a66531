"""Expected failures end a command with one line; anything else is a bug and shows its traceback."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from write_side.domain.identity import Scope

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
DOCTOR = ": run `contentlog doctor`"


class Failed(click.ClickException):
    """Ends a command with exit status 1 and one line on standard error, then the details."""

    def __init__(self, reason: str, details: Iterable[str] = ()) -> None:
        super().__init__(" ".join(reason.split()))
        self._details = details

    def show(self, file: object = None) -> None:  # noqa: ARG002 - click's signature
        for line in (f"contentlog: {self.message}", *self._details):
            click.echo(printable(line), err=True)


def printable(text: str) -> str:
    """The text with its control characters escaped, because a terminal would obey them."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def no_content_type(scope: Scope, slug: str) -> Failed:
    return Failed(
        f"workspace {scope.workspace!r} has no content type {slug!r} in {scope.environment}"
    )


@contextmanager
def explained(option: str = "") -> Iterator[None]:
    """Turns an expected exception into Failed. ``option``: see ``reason_of``."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
        raise
    except Exception as error:
        raise Failed(reason_of(error, option), getattr(error, "details", ())) from error


def reason_of(error: Exception, option: str = "") -> str:
    """The error in one line. Raises it if it is unexpected. ``option``: ``ReadModel.option``."""
    from write_side.domain.refusals import for_read_model

    reason = explanation(error)
    if reason is None:
        raise error
    return for_read_model(reason, option)


def explanation(error: Exception) -> str | None:
    """The error in one line; None for an unexpected one."""
    import asyncpg

    from read_side.refusals import ReadModelUnavailable
    from write_side.domain.refusals import ExplainedError, Refused
    from write_side.postgres.connection import MIGRATE, NOT_MIGRATED, is_transient
    from write_side.postgres.faults import FAULTS, reason_of_fault
    from write_side.store.conflicts import StoreUnavailable

    if isinstance(error, Refused | StoreUnavailable):
        return _in_lower_case(str(error))
    if isinstance(error, ReadModelUnavailable):
        if isinstance(error.__cause__, NOT_MIGRATED) and not is_transient(error.__cause__):
            return MIGRATE
        return f"the read model does not respond: {error.__cause__!r}"
    if isinstance(error, ExplainedError):
        return str(error)
    if not is_transient(error) and isinstance(error, NOT_MIGRATED):
        return MIGRATE
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return (
            f"{error}: grant the privilege to the role, or, for the event store, set "
            "CONTENTLOG_OWNER_URL to connect as the owner of its tables"
        )
    if isinstance(error, OSError) and _is_output_error(error):
        return f"cannot write the output: {error.strerror}"
    if isinstance(error, asyncpg.ConnectionDoesNotExistError) or (
        isinstance(error, asyncpg.InterfaceError) and "connection is closed" in str(error)
    ):
        return f"the connection to PostgreSQL was lost{DOCTOR}"
    if isinstance(error, TimeoutError):
        return f"PostgreSQL does not respond{DOCTOR}"
    if isinstance(error, FAULTS):
        reason = reason_of_fault(error).removesuffix(".")
        return f"PostgreSQL or the operating system refused: {reason}{DOCTOR}"
    return None


def _is_output_error(error: OSError) -> bool:
    """Whether ``click.echo`` raised it."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(frame.f_code is click.echo.__code__ for frame in frames)


def _in_lower_case(text: str) -> str:
    """The sentence as it continues a line. In the API and the dashboard it begins the message."""
    begins_with_word = text[1:2] == " " or text[1:2].islower()
    return text[:1].lower() + text[1:] if begins_with_word else text
