"""Single deliveries to misbehaving endpoints and to refused addresses."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import re
import resource
import socket
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from api.webhooks import sender as sender_module
from api.webhooks.endpoint_task import Lease
from api.webhooks.message import message_of, sample_message
from api.webhooks.sender import KEPT_BYTES, Sender, open_sender
from tests.integration.api.certificates import Certificates, made_certificates
from tests.integration.api.hook_server import HookServer, answer, hook_server
from write_side.domain.webhook import new_webhook_secret
from write_side.postgres.connection import PAUSED
from write_side.store.webhook_cursors import Outcome

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)
SECRET = new_webhook_secret()
MESSAGE = sample_message()
AT = datetime(2026, 1, 31, tzinfo=UTC)


@pytest.fixture
def certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certificates:
    return made_certificates(tmp_path, monkeypatch)


@pytest.fixture
async def sender() -> AsyncIterator[Sender]:
    async with open_sender(LOOPBACK, timeout=30.0) as sender:
        yield sender


@pytest.fixture
async def impatient() -> AsyncIterator[Sender]:
    async with open_sender(LOOPBACK, timeout=1.0) as sender:
        yield sender


async def send(sender: Sender, server: HookServer, host: str = "127.0.0.1") -> Outcome:
    return await sender.send(server.url(host), MESSAGE, [SECRET])


async def test_a_delivery_is_signed(sender: Sender) -> None:
    async with hook_server(answer(204, b"")) as server:
        outcome = await send(sender, server)
        [received] = server.received
    assert (outcome.status, outcome.error) == (204, None)
    assert received.verified(SECRET)["type"] == "webhook.test"
    assert received.headers["content-type"] == "application/json"
    assert received.id == MESSAGE.id


async def test_only_the_beginning_of_the_response_is_kept(sender: Sender) -> None:
    async with hook_server(answer(200, b"\xff\0" + b"x" * 5_000)) as server:
        outcome = await send(sender, server)
        assert outcome.error is None
        assert outcome.response == "\ufffd\ufffd" + "x" * (KEPT_BYTES - 2)
        # The connection was closed before the response was read to its end.
        assert (await send(sender, server)).error is None


async def test_a_message_is_sent_again_if_its_connection_was_closed_since_the_last_one(
    sender: Sender,
) -> None:
    async with hook_server(hang_up_second) as server:
        outcomes = [await send(sender, server) for _ in range(2)]
        assert len(server.received) == 3
    assert [(one.status, one.error) for one in outcomes] == [(200, None)] * 2


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(sender: Sender, status: int) -> None:
    async with hook_server() as target:
        async with hook_server(answer(status, Location=target.url())) as server:
            outcome = await send(sender, server)
        assert target.received == []
    assert outcome.error == f"HTTP {status}: redirects are not followed"


@pytest.mark.parametrize("status", [400, 404, 410, 429, 500, 503])
async def test_another_status_is_a_failure(sender: Sender, status: int) -> None:
    async with hook_server(answer(status, b"no")) as server:
        outcome = await send(sender, server)
    assert (outcome.status, outcome.error, outcome.response) == (status, f"HTTP {status}", "no")


async def never(_server: HookServer, _writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


async def byte_by_byte(_server: HookServer, writer: asyncio.StreamWriter) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nX-Padding: " + b"x" * 1000:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.1)


async def slow_body(_server: HookServer, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin")
    await asyncio.sleep(60)


async def late_and_slow(server: HookServer, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(0.7)
    await slow_body(server, writer)


async def endless_headers(_server: HookServer, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(200_000):
        writer.write(b"X-%d: %s\r\n" % (number, b"y" * 1000))
        await writer.drain()


async def hang_up(_server: HookServer, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def hang_up_second(server: HookServer, writer: asyncio.StreamWriter) -> None:
    await (hang_up if len(server.received) == 2 else answer(200))(server, writer)


async def garbage(_server: HookServer, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize("response", [never, byte_by_byte])
async def test_an_endpoint_that_does_not_answer_is_given_up(
    impatient: Sender, response: Any
) -> None:
    async with hook_server(response) as server:
        outcome = await send(impatient, server)
    assert (outcome.status, outcome.error) == (None, "no response within 1 s")
    assert 900 < outcome.duration_ms < 30_000, "the endpoint takes 60 s or more"


@pytest.mark.parametrize("response", [slow_body, late_and_slow])
async def test_a_slow_body_does_not_undo_the_status(impatient: Sender, response: Any) -> None:
    async with hook_server(response) as server:
        outcome = await send(impatient, server)
    assert (outcome.status, outcome.error, outcome.response) == (200, None, "begin")


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (endless_headers, "the response is not valid HTTP: Too many headers received"),
        (hang_up, "the connection was closed without a response"),
        (garbage, "the response is not valid HTTP: Bad status line"),
    ],
)
async def test_an_invalid_response_is_a_failure(sender: Sender, response: Any, reason: str) -> None:
    async with hook_server(response) as server:
        outcome = await send(sender, server)
    assert outcome.status is None
    assert str(outcome.error).startswith(reason)
    assert "/hook" not in str(outcome.error), "a URL may have a secret, and errors are logged"


async def test_a_response_of_a_gigabyte_is_not_read(sender: Sender) -> None:
    written = 0

    async def gigabyte(_server: HookServer, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
        for _ in range(1024):
            writer.write(b"z" * 1_048_576)
            await writer.drain()
            written += 1

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with hook_server(gigabyte) as server:
        outcome = await send(sender, server)
    assert (outcome.status, outcome.error, outcome.response) == (200, None, "z" * KEPT_BYTES)
    assert written < 64
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


async def test_a_compressed_response_is_not_decompressed(sender: Sender) -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)
    async with hook_server(answer(200, bomb, Content_Encoding="gzip")) as server:
        outcome = await send(sender, server)
        assert server.received[0].headers["accept-encoding"] == "identity"
    assert outcome.error is None
    assert len(outcome.response) <= KEPT_BYTES


async def test_a_cookie_is_not_kept(sender: Sender) -> None:
    async with hook_server(answer(200, Set_Cookie="a=b")) as server:
        for _ in range(2):
            await send(sender, server)
        assert "cookie" not in server.received[1].headers


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with hook_server() as proxy, hook_server() as server:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        async with open_sender(LOOPBACK) as sender:
            assert (await send(sender, server)).error is None
        assert proxy.received == []


@pytest.mark.parametrize(
    ("kind", "host", "reason"),
    [
        ("self-signed", "localhost", "self-signed certificate"),
        ("expired", "localhost", "certificate has expired"),
        (
            "valid",
            "127.0.0.1",
            "IP address mismatch, certificate is not valid for '127.0.0.1'",
        ),
        (
            "of another host",
            "localhost",
            "Hostname mismatch, certificate is not valid for 'localhost'",
        ),
    ],
)
async def test_a_certificate_that_does_not_verify_is_a_failure(
    certificates: Certificates, kind: str, host: str, reason: str
) -> None:
    async with open_sender(LOOPBACK) as sender, hook_server(tls=certificates.tls(kind)) as server:
        outcome = await send(sender, server, host)
        assert server.received == []
    assert (outcome.status, outcome.error) == (None, f"the certificate is not accepted: {reason}")


async def test_a_certificate_of_an_authority_that_the_machine_trusts_is_accepted(
    certificates: Certificates,
) -> None:
    """Shows that the other certificates are refused because they are invalid."""
    async with (
        open_sender(LOOPBACK) as sender,
        hook_server(tls=certificates.tls("valid")) as server,
    ):
        assert (await send(sender, server, "localhost")).error is None


async def test_a_refused_connection_and_an_unknown_host_are_failures(sender: Sender) -> None:
    async with hook_server() as server:
        pass
    assert (await send(sender, server)).error == "cannot connect: Connection refused"
    outcome = await sender.send("http://no-such-host.invalid/", MESSAGE, [SECRET])
    assert "the host cannot be looked up" in str(outcome.error)


class Names:
    """A DNS for tests: a list of addresses for each lookup; the last list is repeated."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)

    def lookup(self, host: str, port: int, _family: int) -> list[Any]:
        addresses = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
                "proto": socket.IPPROTO_TCP,
                "flags": 0,
            }
            for address in addresses
        ]


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00::1"]
)
async def test_a_name_of_a_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(sender_module, "_lookup", Names([address]).lookup)
    async with open_sender(()) as sender:
        outcome = await sender.send("http://inside.example.com/", MESSAGE, [SECRET])
    assert outcome.error == (
        f"refused: 'inside.example.com' is at {address}, which is not public: "
        "to deliver there, name its network in CONTENTLOG_WEBHOOK_NETWORKS"
    )


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "[fe80::1]"),
        *("[64:ff9b::127.0.0.1]", "localhost", "LOCALHOST", "0x7f000001", "0x7f.1"),
    ],
)
async def test_nothing_is_sent_to_this_machine_unless_its_network_is_named(host: str) -> None:
    async with hook_server() as server, open_sender(()) as sender:
        outcome = await send(sender, server, host)
        assert server.received == []
    assert re.fullmatch(
        r"refused: ('\S+' is at )?[0-9a-f.:]+(, which)? is not public: "
        "to deliver there, name its network in CONTENTLOG_WEBHOOK_NETWORKS",
        str(outcome.error),
    )


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0", "0177.0.0.1"])
async def test_an_address_in_an_unusual_form_is_a_failure(sender: Sender, host: str) -> None:
    async with hook_server() as server:
        outcome = await send(sender, server, host)
        assert server.received == []
    assert outcome.error == "the URL is invalid"


async def test_the_address_that_was_checked_is_the_one_that_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An attacker's DNS answers first with a public address, then with a private one."""
    names = Names(["192.0.2.1", "127.0.0.1"], ["10.0.0.1"])
    monkeypatch.setattr(sender_module, "_lookup", names.lookup)
    async with hook_server() as server, open_sender(LOOPBACK, timeout=30) as sender:
        # Only the allowed one of the two addresses is tried.
        assert (await send(sender, server, "rebound.example.com")).error is None
        server.answer = answer(200, Connection="close")
        await send(sender, server, "rebound.example.com")
        outcome = await send(sender, server, "rebound.example.com")
    assert "'rebound.example.com' is at 10.0.0.1" in str(outcome.error)


async def test_a_process_whose_lease_has_expired_sends_nothing(sender: Sender) -> None:
    lease = Lease()
    async with hook_server() as server:
        lease.renew(time.monotonic())
        assert (await sender.send(server.url(), MESSAGE, [SECRET], 1, lease.check)).error is None
        lease.renew(time.monotonic() - PAUSED)
        outcome = await sender.send(server.url(), MESSAGE, [SECRET], 1, lease.check)
        assert len(server.received) == 1
    assert outcome.status is None
    assert "LeaseExpired" in str(outcome.error)


async def test_a_body_is_sent_as_it_was_signed(sender: Sender) -> None:
    data = '{"id":"1","title":"Café ☕","n":1.10}'.encode()
    message = message_of("1", "entry.created", AT, data)
    async with hook_server() as server:
        await sender.send(server.url(), message, [SECRET])
        assert server.received[0].body == message.body
        assert server.received[0].verified(SECRET)["data"]["title"] == "Café ☕"
