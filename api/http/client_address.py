"""The client's address and scheme: the connection's, or those that trusted proxies report."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from aiohttp import web

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

UNKNOWN = "unknown"


@cache
def networks(text: str) -> tuple[Network, ...]:
    """From addresses and CIDR networks, separated by commas. Raises ValueError naming an invalid
    one."""
    parts = (part.strip() for part in text.split(","))
    return tuple(ipaddress.ip_network(part) for part in parts if part)


def client(remote: str | None, forwarded: Sequence[str], trusted: Sequence[Network]) -> str:
    """The client's part of a bucket's name: an IPv4 address, or the /64 of an IPv6 one.

    ``forwarded`` are the X-Forwarded-For headers in order. They are read from the right as long as
    a trusted proxy added the address; reading stops at a malformed one.
    """
    if not trusted or not forwarded:
        return _bucket(remote or "")
    address = parsed(remote or "")
    for hop in filter(None, map(str.strip, reversed(",".join(forwarded).split(",")))):
        if address is None or not any(address in network for network in trusted):
            break
        before = parsed(hop)
        if before is None:
            break
        address = before
    return _name(address)


@lru_cache(maxsize=4096)
def _bucket(remote: str) -> str:
    return _name(parsed(remote))


def parsed(text: str) -> Address | None:
    """The address, without a port and as IPv4 if it is IPv4-mapped; None for other text."""
    bare = text
    if text.startswith("["):
        bare = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        bare = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def _name(address: Address | None) -> str:
    if address is None:
        return UNKNOWN
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    # One subscriber can use all addresses of a /64.
    return f"{ipaddress.IPv6Address(int(address) >> 64 << 64)}/64"


def is_https(request: web.BaseRequest, trusted_proxies: str) -> bool:
    if request.scheme == "https":
        return True
    trusted = networks(trusted_proxies)
    remote = parsed(request.remote or "") if trusted else None
    if remote is None or not any(remote in network for network in trusted):
        return False
    # The last value is that of our own proxy; a client can have sent the others.
    protocol = ",".join(request.headers.getall("X-Forwarded-Proto", ())).rpartition(",")[2]
    return protocol.strip().lower() == "https"
