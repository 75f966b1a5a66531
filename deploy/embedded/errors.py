"""Errors of the embedded PostgreSQL: one line that says what is wrong and what to do."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from write_side.domain.refusals import ExplainedError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG),
)
_FULL_TEXT = ("No space left on device", "Disk quota exceeded")
_SEVERE = ("PANIC:", "FATAL:", "ERROR:", "error:")


class EmbeddedPostgresError(ExplainedError):
    """The embedded PostgreSQL cannot run; the text is one line that says what to do."""


def disk_full(folder: Path) -> EmbeddedPostgresError:
    return EmbeddedPostgresError(
        f"the disk that holds {folder} is full (No space left on device): "
        "free some space there, or set CONTENTLOG_DATA to a folder on another disk"
    )


def unusable(folder: Path, reason: str) -> EmbeddedPostgresError:
    return EmbeddedPostgresError(
        f"the data folder {folder} cannot be used: {reason}; "
        f"make it a folder that user id {os.geteuid()} can write, or set CONTENTLOG_DATA to another"
    )


def failed(what: str, output: str, folder: Path, log: Path | None = None) -> EmbeddedPostgresError:
    """The error for a program of PostgreSQL that failed with this output or log text."""
    if any(text in output for text in _FULL_TEXT):
        return disk_full(folder)
    more = f"; see {log}" if log else ""
    return EmbeddedPostgresError(f"{what}: {error_lines(output)[-1]}{more}")


def error_lines(output: str) -> list[str]:
    """The lines of a program's output that report errors, or else all lines."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    severe = [line for line in lines if any(word in line for word in _SEVERE)]
    return severe or lines or ["no output"]


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Converts errors of the operating system in this folder to EmbeddedPostgresError."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise disk_full(folder) from error
        if error.errno in _REFUSED:
            raise unusable(folder, f"{error.filename or ''} {error.strerror}".strip()) from error
        raise
