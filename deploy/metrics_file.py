"""The file in which an API worker counts for all of them."""

from __future__ import annotations

import os
import sys
from typing import Any

from prometheus_client.mmap_dict import MmapedDict

from deploy.failures import Failed

SIZE = 1 << 16
"""Bytes of a new file."""
OVERHEAD = 32
"""Bytes that a value takes at most, without its name and its labels."""


class MetricsFile(MmapedDict):
    """A file without holes. prometheus_client writes to it through memory, and on a full disk, a
    write to a hole would kill the process (SIGBUS). Raises Failed if it gets no space."""

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        if not read_mode:
            with open(filename, "ab") as file:  # noqa: PTH123 - the library's name is a text
                _allocate(file.fileno(), SIZE, filename)
        super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]

    def read_value(self, key: str) -> Any:
        """Is called first for each value, and then adds it to the file."""
        if self._used + len(key.encode()) + OVERHEAD > self._capacity:
            # Otherwise the library doubles the file itself, with a hole.
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
