"""The addresses to which webhooks may be delivered: public ones, and those of named networks.

Follows the special-purpose registries of IANA (RFC 6890). An address that embeds an IPv4 address
and is translated to it on the way counts as that one.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_REFUSED_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT, and the metadata of Alibaba Cloud
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # the host of a virtual machine in Azure
        "169.254.0.0/16",  # link-local, and the metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, among them Teredo
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)
_TRANSLATED = tuple(map(ipaddress.IPv6Network, ("::ffff:0:0/96", "64:ff9b::/96")))
"""Mapped IPv4 addresses, and the well-known prefix of NAT64: the last 32 bits are an IPv4
address."""


def refused_address(address: Address, allowed: Sequence[Network] = ()) -> bool:
    """Whether the address is neither public nor in one of the allowed networks."""
    address = translated(address)
    if any(address in network for network in allowed):
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return any(address in network for network in _REFUSED_V4)
    return address not in _GLOBAL_V6 or any(address in network for network in _REFUSED_V6)


def translated(address: Address) -> Address:
    """The IPv4 address that packets to this address reach, or the address itself."""
    if any(address in network for network in _TRANSLATED):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def literal_address(host: str) -> Address | None:
    """The address, if the host is one rather than a name; also in the forms that resolvers accept:
    ``127.1``, ``0x7f000001``, ``2130706433``, ``0177.0.0.1``."""
    try:
        return ipaddress.ip_address(host.rstrip("."))
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host.rstrip(".")))
    except (OSError, ValueError):
        return None
