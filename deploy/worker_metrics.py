"""The metrics that the API's workers share (ADR 12).

prometheus_client keeps the counts of each worker in files of a folder, whose name it reads from the
environment. The files are named by the worker's number, not by its process id, so that its
successor continues its counts.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from prometheus_client import values
from prometheus_client.mmap_dict import MmapedDict

from deploy.failures import Failed

FOLDER = "contentlog-metrics-"
NEW = 60.0
"""Seconds within which a new metrics folder may not be locked yet."""
SIZE = 1 << 18
"""Bytes of a new file, which are enough for all routes."""
OVERHEAD = 32
"""Bytes that a value takes at most, in addition to its name and labels."""


@contextmanager
def shared_metrics(number: Callable[[], int]) -> Iterator[str]:
    """The folder for the metrics of all modules that are imported from now on. ``number``: of the
    worker in this process."""
    with metrics_folder() as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        values.MmapedDict = MetricsFile  # type: ignore[attr-defined]
        values.ValueClass = values.MultiProcessValue(number)  # type: ignore[no-untyped-call]
        yield folder


@contextmanager
def metrics_folder() -> Iterator[str]:
    """A new folder for the workers' metrics, locked until it is removed at the end. First removes
    those of processes that were killed. Raises OSError."""
    for left in Path(gettempdir()).glob(f"{FOLDER}*"):
        # It may be another user's, or removed by another process at the same time.
        with suppress(OSError):
            _remove_if_left(left)
    with TemporaryDirectory(prefix=FOLDER) as folder, _locked(Path(folder)):
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


class MetricsFile(MmapedDict):
    """A file without holes. prometheus_client maps it into memory; on a full disk, a write to a
    hole would kill the process (SIGBUS). Raises Failed if space cannot be allocated."""

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        if not read_mode:
            with open(filename, "ab") as file:  # noqa: PTH123 - the library passes a str
                _allocate(file.fileno(), SIZE, filename)
        super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]

    def read_value(self, key: str) -> Any:
        """The library calls this first for each value, which adds the value to the file."""
        if self._used + len(key.encode()) + OVERHEAD > self._capacity:
            # Otherwise the library would double the file itself, which makes a hole.
            _allocate(self._f.fileno(), 2 * self._capacity, self._fname)
        return super().read_value(key)  # type: ignore[no-untyped-call]


def _allocate(file: int, size: int, name: str) -> None:
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        raise Failed(
            f"cannot write {name!r} ({error.strerror}): free some space there, or set TMPDIR to a "
            "folder on another disk"
        ) from error
