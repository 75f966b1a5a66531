"""The files through which the API's workers share their metrics."""

from __future__ import annotations

import os
import sys
from typing import Any

from prometheus_client.mmap_dict import MmapedDict

from deploy.failures import Failed

SIZE = 1 << 18
"""Bytes of a new file, which are enough for all routes."""
OVERHEAD = 32
"""Bytes that a value takes at most, in addition to its name and labels."""


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
    if sys.platform != "linux":
        return
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        raise Failed(
            f"cannot write {name!r} ({error.strerror}): free some space there, or set TMPDIR to a "
            "folder on another disk"
        ) from error
