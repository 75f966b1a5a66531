"""Sends a message to an endpoint, once: only to addresses that are public or in an allowed network.

A name is looked up for each new connection, and the connection is made to one of the addresses that
were checked; so an answer of the DNS that changes in between has no effect. Names are looked up in
threads of their own, because a lookup can hang for half a minute.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, AbstractStreamWriter, ResolveResult
from aiohttp.payload import BytesPayload
from msgspec import Struct

from api.webhooks.message import Message, headers
from write_side.domain.webhook import NETWORKS, Network, refused_address
from write_side.store.webhook_cursors import Outcome

TIMEOUT = 15.0
"""Seconds for a delivery, from the lookup of the name to the last byte that is read."""
BODY_TIMEOUT = 2.0
"""Seconds for the beginning of the response's body: the status alone says that it was received."""
KEPT_BYTES = 1024
"""The part of the response's body that is read and kept."""
GONE = 410
_HEADERS = {
    "Content-Type": "application/json",
    "User-Agent": "contentlog-webhooks/1",
    # A compressed response could be of any size.
    "Accept-Encoding": "identity",
}
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

    Raises AddressRefused if none is left. The check is of addresses, so the hosts file cannot
    bypass it; no proxy is used.
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


class _Response(Struct):
    """``is_reused``: whether the connection was used for an earlier request."""

    status: int | None = None
    beginning: bytes = b""
    is_reused: bool = False


class _CheckedBody(BytesPayload):
    """Calls ``check`` immediately before the request is written, headers included: aiohttp sends
    them with the body."""

    def __init__(self, body: bytes, check: Callable[[], None]) -> None:
        super().__init__(body, content_type="application/json")
        self._check = check

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        self._check()
        await super().write_with_length(writer, content_length)


class Sender:
    """Safe for any number of tasks. Redirects are not followed, cookies not kept, and proxies of
    the environment not used."""

    def __init__(self, session: aiohttp.ClientSession, timeout: float) -> None:
        self._session = session
        self._timeout = timeout

    async def send(
        self,
        url: str,
        message: Message,
        secrets: Sequence[str],
        attempt: int = 1,
        check: Callable[[], None] = lambda: None,
    ) -> Outcome:
        """The outcome; a failure is one too. Nothing is sent if ``check`` raises an exception."""
        began, response = time.perf_counter(), _Response()
        try:
            signed = headers(message, secrets)
            async with asyncio.timeout(self._timeout):
                while response.status is None:
                    with _ignore_closed_connection(response):
                        body = _CheckedBody(message.body, check)
                        await self._exchange(url, body, signed, response)
            error = _refusal(response.status)
        except (aiohttp.ClientError, OSError, ValueError) as fault:
            # The timeout may expire after the status has arrived.
            error = _refusal(response.status) if response.status else self._reason(fault)
        return Outcome(
            message_id=message.id,
            type=message.type,
            attempt=attempt,
            status=response.status,
            error=error,
            duration_ms=round((time.perf_counter() - began) * 1000),
            response=response.beginning.decode("utf-8", "replace").replace("\0", "\ufffd"),
        )

    async def _exchange(
        self, url: str, body: _CheckedBody, signed: Mapping[str, str], response: _Response
    ) -> None:
        async with self._session.post(
            url,
            data=body,
            headers={**_HEADERS, **signed},
            allow_redirects=False,
            trace_request_ctx=response,
        ) as received:
            response.status = received.status
            with suppress(TimeoutError, aiohttp.ClientError):
                async with asyncio.timeout(min(BODY_TIMEOUT, self._timeout / 2)):
                    while len(response.beginning) < KEPT_BYTES:
                        part = await received.content.read(KEPT_BYTES - len(response.beginning))
                        if not part:
                            return
                        response.beginning += part
            # The rest would have to be read before the connection can be used again.
            received.close()

    def _reason(self, fault: Exception) -> str:
        if isinstance(fault, TimeoutError):
            return f"no response within {self._timeout:.0f} s"
        cause = getattr(fault, "os_error", None) or fault
        if isinstance(cause, AddressRefused):
            return f"refused: {cause}"
        if isinstance(fault, aiohttp.ClientConnectorDNSError):
            return f"the host cannot be looked up: {getattr(cause, 'strerror', None) or cause}"
        if isinstance(fault, aiohttp.ClientConnectorCertificateError):
            reason = getattr(fault.certificate_error, "verify_message", fault.certificate_error)
            return f"the certificate is not accepted: {reason}".rstrip(".")
        if isinstance(fault, aiohttp.ClientSSLError):
            return f"TLS: {cause}"
        if isinstance(fault, aiohttp.ClientConnectorError):
            # asyncio's own text is "Connect call failed" and the address.
            return f"cannot connect: {os.strerror(fault.errno) if fault.errno else cause}"
        if isinstance(fault, aiohttp.ServerDisconnectedError):
            return "the connection was closed without a response"
        if isinstance(fault, aiohttp.ClientResponseError):
            return f"the response is not valid HTTP: {' '.join(fault.message.split())}"[:500]
        if isinstance(fault, aiohttp.InvalidURL):
            return "the URL is invalid"
        # Without the URL, which may have a secret in its query.
        reason = getattr(fault, "message", None) or fault
        return f"{type(fault).__name__}: {reason}"[:500]


@contextmanager
def _ignore_closed_connection(response: _Response) -> Iterator[None]:
    """Suppresses the error of a reused connection that the endpoint has closed, as it may do at any
    time between requests. The caller sends the message again, over another connection."""
    response.is_reused = False
    try:
        yield
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
        if not response.is_reused:
            raise


async def _note_reuse(_session: object, context: SimpleNamespace, _parameters: object) -> None:
    context.trace_request_ctx.is_reused = True


def _refusal(status: int | None) -> str | None:
    """Why a response with this status is a failure; None for 2xx."""
    if status is not None and 200 <= status < 300:
        return None
    if status is not None and 300 <= status < 400:
        return f"HTTP {status}: redirects are not followed"
    return f"HTTP {status}"


@asynccontextmanager
async def open_sender(
    allowed: Sequence[Network], timeout: float = TIMEOUT
) -> AsyncIterator[Sender]:
    """``allowed``: networks that are not public."""
    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(_note_reuse)
    async with aiohttp.ClientSession(
        connector=open_connector(allowed),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
        trust_env=False,
        trace_configs=[trace],
    ) as session:
        yield Sender(session, timeout)
