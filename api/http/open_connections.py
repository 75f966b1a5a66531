"""How many connections a process keeps, and which it closes to make room."""

from __future__ import annotations

import resource
from collections import OrderedDict
from typing import Protocol

SHARE = 0.75
"""The share of the open files; the rest is for databases, files and worker processes."""
MOST = 10_000
"""The maximum regardless of open files: this many idle connections take 60 MB of memory."""


class Closable(Protocol):
    def force_close(self) -> None: ...


def raise_open_files() -> None:
    """Raises the soft limit of open files to the hard one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most_connections() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else min(max(int(soft * SHARE), 1), MOST)


class OpenConnections:
    """Closes an idle connection if there are more than ``most``: the longest idle one of the
    address that has the most idle ones, so that one address cannot displace all others. A new one
    is refused only if all others are busy.

    Each step takes constant time for any number of connections.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._addresses: dict[Closable, str] = {}
        # The idle connections of each address, the longest idle first. (The first of a dict is not
        # found in constant time after others before it were deleted.)
        self._idle: dict[str, OrderedDict[Closable, None]] = {}
        # The addresses with one idle connection, with two, and so on. The last is not empty.
        self._by_number: list[OrderedDict[str, None]] = []

    def opened(self, connection: Closable, address: str) -> None:
        self._addresses[connection] = address
        self.idle(connection)
        if len(self._addresses) > self._most:
            first = next(iter(self._by_number[-1]))
            oldest = next(iter(self._idle[first]))
            self.closed(oldest)
            oldest.force_close()

    def busy(self, connection: Closable) -> None:
        address = self._addresses.get(connection, "")
        idle = self._idle.get(address)
        if idle and connection in idle:
            del idle[connection]
            self._moved(address, len(idle) + 1, len(idle))
            if not idle:
                del self._idle[address]

    def idle(self, connection: Closable) -> None:
        self.busy(connection)
        if connection in self._addresses:
            address = self._addresses[connection]
            idle = self._idle.setdefault(address, OrderedDict())
            idle[connection] = None
            self._moved(address, len(idle) - 1, len(idle))

    def closed(self, connection: Closable) -> None:
        self.busy(connection)
        self._addresses.pop(connection, None)

    def _moved(self, address: str, before: int, after: int) -> None:
        """Moves an address whose number of idle connections has changed by one."""
        if before:
            del self._by_number[before - 1][address]
        if after > len(self._by_number):
            self._by_number.append(OrderedDict())
        if after:
            self._by_number[after - 1][address] = None
        while self._by_number and not self._by_number[-1]:
            self._by_number.pop()
