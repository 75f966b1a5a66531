"""Connections to webhook endpoints: only to addresses that are public or in an allowed network.

A name is looked up for each new connection, and the connection is made to one of the addresses that
were checked; so an answer of the DNS that changes in between has no effect. Names are looked up in
threads of their own, because a lookup can hang for half a minute.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from write_side.domain.webhook import NETWORKS
from write_side.domain.webhook_address import Network, refused_address

LOOKUPS = 640
"""Threads that look up names, at most: two for each delivery at a time, because a lookup that hangs
for half a minute outlasts the delivery that it was for."""
CONNECTIONS = 512


class AddressRefused(OSError):
    """The endpoint is at an address to which nothing is delivered."""

    def __init__(self, host: str, address: str) -> None:
        at = f"'{host}' is at {address}, which" if host != address else address
        super().__init__(f"{at} is not public: to deliver there, name its network in {NETWORKS}")


class Resolver(AbstractResolver):
    """Looks up a name and leaves out the addresses that are refused.

    Raises AddressRefused if none is left. Proxies, the hosts file included, have no say: the check
    is of the addresses.
    """

    def __init__(self, allowed: Sequence[Network]) -> None:
        self._allowed = allowed
        self._threads = ThreadPoolExecutor(LOOKUPS, "webhook lookup")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = await asyncio.get_running_loop().run_in_executor(
            self._threads, _lookup, host, port, family
        )
        kept = [address for address in addresses if not is_refused(address["host"], self._allowed)]
        if not kept:
            raise AddressRefused(host, addresses[0]["host"])
        return kept

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _lookup(host: str, port: int, family: int) -> list[ResolveResult]:
    found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
    return [
        ResolveResult(
            hostname=host,
            host=str(address[0]),
            port=port,
            family=kind,
            proto=protocol,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for kind, _, protocol, _, address in found
    ]


def is_refused(host: str, allowed: Sequence[Network]) -> bool:
    try:
        return refused_address(ipaddress.ip_address(host), allowed)
    except ValueError:
        return True


def open_connector(allowed: Sequence[Network]) -> aiohttp.TCPConnector:
    """The resolver does not see literal addresses, so the address of each socket is checked too."""

    def checked_socket(address: Any) -> socket.socket:
        family, kind, protocol, _, place = address
        if is_refused(str(place[0]), allowed):
            raise AddressRefused(str(place[0]), str(place[0]))
        return socket.socket(family, kind, protocol)

    return aiohttp.TCPConnector(
        ssl=ssl.create_default_context(),
        resolver=Resolver(allowed),
        use_dns_cache=False,
        socket_factory=checked_socket,
        limit=CONNECTIONS,
        limit_per_host=0,
    )
