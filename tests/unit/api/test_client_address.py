"""The client address that a request is counted against."""

from __future__ import annotations

import pytest

from api.http.client_address import UNKNOWN, client, networks

TRUSTED = networks("10.0.0.0/8, 192.0.2.1,2001:db8:ff::/48")


@pytest.mark.parametrize(
    ("remote", "forwarded", "expected"),
    [
        ("203.0.113.9", [], "203.0.113.9"),
        ("::ffff:203.0.113.9", [], "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", [], "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", [], "2001:db8:1:3::/64"),
        ("fe80::1%eth0", [], "fe80::/64"),
        (None, [], UNKNOWN),
        ("", ["198.51.100.1"], UNKNOWN),
        # A forwarded address counts only if a trusted proxy sent it.
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1, 203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.1, 203.0.113.9, 10.9.9.9"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.1", "203.0.113.9", "192.0.2.1"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.1,192.0.2.2"], "192.0.2.2"),
        ("2001:db8:ff::1", ["2001:db8:1:2::9"], "2001:db8:1:2::/64"),
        ("10.0.0.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8:1:2::9]:4711"], "2001:db8:1:2::/64"),
        ("10.0.0.1", [" , 198.51.100.1 , "], "198.51.100.1"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        # An unreadable address ends the chain: the last proxy before it counts.
        ("10.0.0.1", ["198.51.100.1, unknown, 10.0.0.2"], "10.0.0.2"),
        ("10.0.0.1", ["junk"], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
    ],
)
def test_the_client_is_the_last_untrusted_address(
    remote: str | None, forwarded: list[str], expected: str
) -> None:
    assert client(remote, forwarded, TRUSTED) == expected


def test_without_trusted_proxies_no_header_counts() -> None:
    assert client("10.0.0.1", ["198.51.100.1"], ()) == "10.0.0.1"


@pytest.mark.parametrize("wrong", ["10.0.0.1/8", "proxy.example", "10.0.0.0/33", "1.2.3"])
def test_invalid_networks_are_refused_by_name(wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        networks(f"10.0.0.1, {wrong}")


def test_an_empty_list_of_networks_is_empty() -> None:
    assert networks("") == networks(" , ") == ()
