"""How many connections a process keeps, by the number of files that it may open."""

from __future__ import annotations

import resource
from typing import Protocol

SHARE = 0.75
"""Of the open files; the rest is for databases, files and worker processes."""


class Closable(Protocol):
    def force_close(self) -> None: ...


def raise_open_files() -> None:
    """Raises the soft limit of open files to the hard one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most_connections() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1_000_000 if soft == resource.RLIM_INFINITY else max(int(soft * SHARE), 1)


class OpenConnections:
    """Closes the longest idle connection where there are more than ``most``. A new one is refused
    only where all others are busy."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[Closable] = set()
        self._idle: dict[Closable, None] = {}

    def opened(self, connection: Closable) -> None:
        self._open.add(connection)
        self.idle(connection)
        if len(self._open) > self._most:
            oldest = next(iter(self._idle))
            self.closed(oldest)
            oldest.force_close()

    def busy(self, connection: Closable) -> None:
        self._idle.pop(connection, None)

    def idle(self, connection: Closable) -> None:
        """Silent from now on."""
        self._idle.pop(connection, None)
        if connection in self._open:
            self._idle[connection] = None

    def closed(self, connection: Closable) -> None:
        self._open.discard(connection)
        self._idle.pop(connection, None)
