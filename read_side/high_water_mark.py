"""The high-water mark: the latest stamp that any process of this machine has shown to a client.

It is one number in a small file that all of them map into memory (ADR 38). A process that shows a
newer state raises it first, so a response kept in memory by another is not used any more until that
process has learned what changed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import mmap
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import structlog

UNUSED = 7 * 24 * 3600.0
"""Seconds after which the file of a database that no process uses is removed."""
_BYTES = 8
_log = structlog.get_logger("read_side.high_water_mark")


class HighWaterMark:
    """Shared between processes if ``path`` is given, otherwise this object's own.

    Reading takes no lock: the number is eight aligned bytes, which processors read and write at
    once. Raises OSError.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file: int | None = None
        self._number = memoryview(bytearray(_BYTES)).cast("q")
        if path is not None:
            self._map(path)

    @property
    def is_shared(self) -> bool:
        return self._file is not None

    @property
    def stamp(self) -> int:
        return self._number[0]

    def raise_to(self, stamp: int) -> None:
        """To be called before a state of this stamp is shown."""
        if stamp > self._number[0]:
            with self._locked():
                if stamp > self._number[0]:
                    self._number[0] = stamp

    def lower(self, known: int, stamp: int) -> None:
        """Lowers the number to the stamp of a database that was set back, unless it is no longer
        ``known``."""
        with self._locked():
            if self._number[0] == known:
                self._number[0] = stamp

    def is_in_place(self) -> bool:
        """Marks the file as used. Returns False if it was removed; another process may have made a
        new one, which is then mapped. Raises OSError."""
        if self._path is None or self._file is None:
            return True
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(self._path.stat(), os.fstat(self._file)):
                os.utime(self._file)
                return True
        known = self.stamp
        self.close()
        self._map(self._path)
        self.raise_to(known)
        return False

    def close(self) -> None:
        """Stops sharing the number."""
        known = self.stamp
        self._number = memoryview(bytearray(_BYTES)).cast("q")
        self._number[0] = known
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _map(self, path: Path) -> None:
        self._file = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, stat.S_IRUSR | stat.S_IWUSR
        )
        try:
            with self._locked():
                # Written, not truncated to this size: a hole could not be filled on a full disk.
                if os.fstat(self._file).st_size < _BYTES:
                    os.pwrite(self._file, bytes(_BYTES), 0)
            self._number = memoryview(mmap.mmap(self._file, _BYTES)).cast("q")
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self._file is None:
            yield
            return
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


@contextmanager
def open_high_water_mark(url: str) -> Iterator[HighWaterMark]:
    """The mark of the read model at a PostgreSQL URL. It is not shared if the file cannot be opened
    or created."""
    try:
        folder = _folder()
        _remove_unused(folder)
        mark = HighWaterMark(folder / _name(url))
    except OSError as error:
        _log.warning("responses are not kept in memory: no shared file", fault=repr(error))
        mark = HighWaterMark()
    try:
        yield mark
    finally:
        mark.close()


def _folder() -> Path:
    """A folder that only this user can use. Raises OSError."""
    user = os.geteuid()
    folder = Path(gettempdir()) / f"contentlog-{user}"
    folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    found = folder.lstat()
    others = stat.S_IMODE(found.st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or others:
        raise PermissionError(f"{folder} is not a folder that this user alone can use")
    return folder


def _name(url: str) -> str:
    """The name of the file; the password in the URL does not matter."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    query = urlencode([pair for pair in parse_qsl(parts.query) if pair[0] != "password"])
    named = parts._replace(netloc=user.partition(":")[0] + at + host, query=query)
    return "seen-" + hashlib.sha256(urlunsplit(named).encode()).hexdigest()[:32]


def _remove_unused(folder: Path) -> None:
    for path in folder.glob("seen-*"):
        # Another process may remove it too.
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - UNUSED:
                path.unlink()
