"""Webhook endpoints: what an endpoint is, and the rules for its URL, selection and secret.

Signatures and secrets follow Standard Webhooks 1.0.0. Deliveries are made to public addresses, by
IANA's registries of special-purpose addresses (RFC 6890), and to networks that the settings name.
An address that is translated on the way to an IPv4 address that it embeds counts as that one.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import secrets
import socket
from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from write_side.domain.definition import check_slug
from write_side.domain.events import (
    CHANGE_KINDS,
    WebhookDefined,
    WebhookEvent,
    WebhookRemoved,
    WebhookSecretRotated,
    WebhookSwitchedOff,
)
from write_side.domain.identity import Scope
from write_side.domain.refusals import InvalidDefinition, shortened

MOST_WEBHOOKS = 50
"""Endpoints of one workspace."""
LONGEST_URL = 2_000
NETWORKS = "CONTENTLOG_WEBHOOK_NETWORKS"
"""The setting with the networks that endpoints may be in although they are not public."""
SECRET_PREFIX = "whsec_"  # noqa: S105 - the prefix of secrets
_SECRET_BYTES = range(24, 65)
_HOST = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\]")
_EXAMPLE = "use one like https://example.com:8443/hook"
_VISIBLE = re.compile(r"[!-~]+")


Name = tuple[str, str]
"""The workspace and the name of an endpoint."""


class Webhook(Struct, frozen=True, kw_only=True):
    """``created``: the version of the event that created it. ``changed_at``: the time of its last
    event; failures before that no longer count. Empty ``types`` or ``events``: all. ``off``: why it
    is switched off; None if it is on."""

    workspace: str
    name: str
    created: int
    changed_at: datetime
    url: str
    environment: str
    types: tuple[str, ...]
    events: tuple[str, ...]
    include_entry: bool
    off: str | None = None

    @property
    def key(self) -> Name:
        return self.workspace, self.name

    @property
    def scope(self) -> Scope:
        return Scope(self.workspace, self.environment)


class Webhooks(Struct, frozen=True):
    """The endpoints of a workspace by name; ``version``: of their stream."""

    by_name: dict[str, Webhook] = {}
    version: int = 0


def evolve_webhooks(webhooks: Webhooks, event: WebhookEvent) -> Webhooks:
    known, version = dict(webhooks.by_name), webhooks.version + 1
    webhook = evolve_webhook(known.get(event.name), event, version)
    if webhook is None:
        del known[event.name]
    else:
        known[event.name] = webhook
    return Webhooks(known, version)


def evolve_webhook(webhook: Webhook | None, event: WebhookEvent, version: int) -> Webhook | None:
    """The endpoint after the event, None if it is removed. ``version``: of the event."""
    if isinstance(event, WebhookRemoved):
        return None
    if isinstance(event, WebhookDefined):
        return Webhook(
            workspace=event.workspace,
            name=event.name,
            created=webhook.created if webhook else version,
            changed_at=event.at,
            url=event.url,
            environment=event.webhook_environment,
            types=event.types,
            events=event.events,
            include_entry=event.include_entry,
            off=webhook.off if webhook else None,
        )
    assert webhook is not None, f"{type(event).__name__} of an endpoint that was never created"
    if isinstance(event, WebhookSecretRotated):
        return webhook
    off = event.reason if isinstance(event, WebhookSwitchedOff) else None
    return replace(webhook, off=off, changed_at=event.at)


def check_url(url: str) -> SplitResult:
    """The parts of an endpoint's URL, in ASCII. Raises InvalidDefinition.

    The log keeps URLs for ever, so they have no user and password.
    """
    if len(url) > LONGEST_URL:
        raise InvalidDefinition(f"The URL has {len(url)} characters; the limit is {LONGEST_URL}")
    if not _VISIBLE.fullmatch(url) or "\\" in url:
        raise InvalidDefinition("The URL must contain only ASCII characters, without spaces")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidDefinition(f"The URL has an invalid host or port; {_EXAMPLE}") from None
    if parts.scheme not in ("http", "https"):
        raise InvalidDefinition(
            f"The URL has the scheme {shortened(parts.scheme)!r}; use http or https"
        )
    if "@" in parts.netloc:
        raise InvalidDefinition(
            "The URL has a user or password, which the log would keep: remove it, because "
            "deliveries are signed"
        )
    if not _HOST.fullmatch(parts.netloc.removesuffix(f":{port}") if port else parts.netloc):
        raise InvalidDefinition(
            f"The URL has an invalid host {shortened(parts.netloc)!r}; {_EXAMPLE}"
        )
    if "#" in url:
        raise InvalidDefinition("The URL must not have a fragment: remove '#' and what follows")
    return parts


def check_destination(url: str, allowed: Sequence[Network]) -> None:
    """Refuses a URL whose host is an address that is not public. Names are checked at each
    delivery, when they are looked up. Raises InvalidDefinition."""
    address = literal_address(check_url(url).hostname or "")
    if address is not None and refused_address(address, allowed):
        raise InvalidDefinition(
            f"The address {address} is not public; to deliver there, name its network in {NETWORKS}"
        )


def check_number(webhooks: int) -> None:
    """Raises InvalidDefinition."""
    if webhooks > MOST_WEBHOOKS:
        raise InvalidDefinition(f"A workspace has at most {MOST_WEBHOOKS} webhooks: remove one")


def check_selection(types: Sequence[str], events: Sequence[str]) -> None:
    """Raises InvalidDefinition."""
    for slug in types:
        check_slug(slug, "The content type")
    for event in events:
        if event not in CHANGE_KINDS:
            raise InvalidDefinition(
                f"Unknown event {shortened(event)!r}; expected one of {', '.join(CHANGE_KINDS)}"
            )


def new_webhook_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def secret_bytes(secret: str) -> bytes:
    """The key of a secret ``whsec_…``. Raises InvalidDefinition, without the secret."""
    try:
        if not secret.startswith(SECRET_PREFIX):
            raise ValueError
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (ValueError, binascii.Error):
        raise InvalidDefinition("must be 'whsec_' and the key in base64") from None
    if len(key) not in _SECRET_BYTES:
        raise InvalidDefinition(f"must be a key of 24 to 64 bytes, not {len(key)}")
    return key


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
