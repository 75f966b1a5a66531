"""The temporary folder in which the workers of one `contentlog api` share their metrics."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

PREFIX = "contentlog-metrics-"
NEW = 60.0
"""Seconds in which a folder may not be locked yet."""


@contextmanager
def metrics_folder() -> Iterator[str]:
    """A new folder, locked until it is removed at the end. First removes those of processes that
    were killed. Raises OSError."""
    for left in Path(gettempdir()).glob(f"{PREFIX}*"):
        # It may be another user's, or removed by another process at the same time.
        with suppress(OSError):
            _remove_if_left(left)
    with TemporaryDirectory(prefix=PREFIX) as folder, _locked(Path(folder)):
        yield folder


def _remove_if_left(folder: Path) -> None:
    """Raises OSError."""
    found = folder.lstat()
    if found.st_uid == os.geteuid() and found.st_mtime < time.time() - NEW:
        with _locked(folder):
            shutil.rmtree(folder)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Raises BlockingIOError if a process has it locked. The lock ends with the process."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
