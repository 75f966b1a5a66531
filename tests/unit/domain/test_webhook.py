"""Webhook endpoints: refused addresses and URLs, and the fold of their events."""

from __future__ import annotations

import base64
import ipaddress
from datetime import UTC, datetime
from functools import reduce

import pytest

from write_side.domain import events as e
from write_side.domain.identity import Actor
from write_side.domain.refusals import InvalidDefinition
from write_side.domain.webhook import (
    Webhooks,
    check_destination,
    check_selection,
    check_url,
    evolve_webhooks,
    literal_address,
    new_webhook_secret,
    refused_address,
    secret_bytes,
)

REFUSED_ADDRESSES = [
    "0.0.0.0",  # noqa: S104 - not bound to
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
LITERAL_TRICKS = [
    "http://127.1/",
    "http://127.0.1/",
    "http://0/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0xA9FEA9FE/latest/meta-data/",
    "http://10.0.0.1:8080/",
    "http://127.0.0.1./",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[0:0:0:0:0:ffff:7f00:1]/",
    "https://[64:ff9b::10.0.0.1]/",
    "https://[fe80::1]/",
]
INVALID_URLS = {
    "ftp://example.com/": "scheme 'ftp'; use http or https",
    "file:///etc/passwd": "scheme 'file'",
    "gopher://example.com": "scheme 'gopher'",
    "//example.com/": "scheme ''",
    "https:///path": "invalid host",
    "https://": "invalid host",
    "https://ann:secret@example.com/": "would keep: remove it",
    "https://127.0.0.1@example.com/": "would keep: remove it",
    "https://example.com\\@127.0.0.1/": "ASCII characters",
    "https://exam ple.com/": "ASCII characters",
    "https://example.com/\r\nHost: a": "ASCII characters",
    "http://①②⑦.⓪.⓪.①/": "ASCII characters",
    "http://127。0。0。1/": "ASCII characters",
    "http://%31%32%37.0.0.1/": "invalid host",
    "https://[fe80::1%25eth0]/": "invalid host",
    "https://example.com:0/": "invalid host",
    "https://example.com:99999/": "invalid host or port; use one like https:",
    "https://example.com:8o/": "invalid host or port; use one like https:",
    "https://example.com/#part": "not have a fragment",
    "https://example.com/" + "a" * 2_000: "2020 characters",
}
AT = datetime(2026, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize("text", REFUSED_ADDRESSES)
def test_an_address_that_is_not_public_is_refused(text: str) -> None:
    assert refused_address(ipaddress.ip_address(text))


@pytest.mark.parametrize(
    "text",
    [
        "1.1.1.1",
        "9.255.255.255",
        "172.32.0.1",
        "192.167.255.255",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2606:4700::1111",
        "2a00:1450::1",
        "3ffe::1",
    ],
)
def test_a_public_address_is_not_refused(text: str) -> None:
    assert not refused_address(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3"])
def test_a_named_network_is_allowed_in_every_form_of_its_addresses(text: str) -> None:
    allowed = (ipaddress.ip_network("10.1.0.0/16"),)
    assert not refused_address(ipaddress.ip_address(text), allowed)
    assert refused_address(ipaddress.ip_address("10.2.0.1"), allowed)


@pytest.mark.parametrize("url", LITERAL_TRICKS)
def test_a_literal_address_is_refused_in_every_form(url: str) -> None:
    with pytest.raises(InvalidDefinition, match=r"is not public.*CONTENTLOG_WEBHOOK_NETWORKS"):
        check_destination(url, ())


def test_a_name_is_no_literal_address() -> None:
    assert literal_address("example.com") is None
    check_destination("https://hooks.example.com:8443/a/b?c=d", ())
    check_destination("http://127.0.0.1:3000/", (ipaddress.ip_network("127.0.0.0/8"),))


@pytest.mark.parametrize(("url", "message"), INVALID_URLS.items())
def test_a_url_that_is_not_plain_is_refused(url: str, message: str) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        check_url(url)
    assert message in str(refused.value)
    assert "secret" not in str(refused.value)


def test_an_unknown_event_is_refused() -> None:
    check_selection(["posts"], ["entry.published"])
    with pytest.raises(InvalidDefinition, match=r"'entry.read'; expected one of entry.created"):
        check_selection([], ["entry.read"])
    with pytest.raises(InvalidDefinition, match="The content type 'Posts!'"):
        check_selection(["Posts!"], [])


def test_a_secret_is_a_key_of_24_to_64_bytes() -> None:
    assert len(secret_bytes(new_webhook_secret())) == 32
    for key in (b"k" * 23, b"k" * 65):
        with pytest.raises(InvalidDefinition, match=r"24 to 64 bytes"):
            secret_bytes("whsec_" + base64.b64encode(key).decode())
    for secret in ("", "whsec_", "whsec_not base64", base64.b64encode(b"k" * 32).decode()):
        with pytest.raises(InvalidDefinition, match=r"24 to 64|must be 'whsec_'"):
            secret_bytes(secret)


def event(kind: type[e.Event], **properties: object) -> e.WebhookEvent:
    about = {"workspace": "acme", "actor": Actor("operator", "ann"), "at": AT, "name": "search"}
    made: e.WebhookEvent = kind(**{**about, **properties})  # type: ignore[assignment, arg-type]
    return made


def created(kind: type[e.Event] = e.WebhookCreated, url: str = "https://a.example/") -> object:
    return event(kind, url=url, webhook_environment="production")


def folded(*events: object) -> Webhooks:
    return reduce(evolve_webhooks, events, Webhooks())  # type: ignore[arg-type]


def test_an_endpoint_that_changes_stays_switched_off() -> None:
    off = event(e.WebhookSwitchedOff, reason="gone")
    webhooks = folded(created(), off, created(e.WebhookChanged, "https://b.example/"))
    webhook = webhooks.by_name["search"]
    assert (webhook.url, webhook.off, webhook.created) == ("https://b.example/", "gone", 1)
    on = evolve_webhooks(webhooks, event(e.WebhookSwitchedOn))
    assert (on.by_name["search"].off, on.version) == (None, 4)


def test_an_endpoint_that_is_created_again_is_another_one() -> None:
    webhooks = folded(created(), event(e.WebhookRemoved), created())
    assert webhooks.by_name["search"].created == 3
