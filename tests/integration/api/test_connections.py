"""Responses of aiohttp itself, slow clients, and bodies that are too large."""

from __future__ import annotations

import asyncio
import gzip
import re
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from msgspec import json
from prometheus_client import REGISTRY

from api.http.connections import Connection, open_runner
from api.http.request_counts import COUNTS
from tests.integration.api.server import Server, serving
from tests.integration.api.test_refusals import refused
from tests.integration.projector.sample_log import raws
from write_side.repository import Repository

Logged = Callable[[Any], Callable[[], str]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

KEY = b"Authorization: Bearer secret-of-acme\r\n"
POST = b"POST /v1/content HTTP/1.1\r\nHost: x\r\n" + KEY
LARGE_HEADER = b"X: " + b"y" * 8_000 + b"\r\n"
NEW = {"contentTypeSlug": "posts", "title": "T"}
ENOUGH = 60  # seconds, for the slowest machine
BROKEN = {
    b"nonsense\r\n\r\n": 400,
    b"GET\r\n\r\n": 400,
    b"GET / HTTP/9.9.9\r\n\r\n": 400,
    b"GET /" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n": 414,
    b"GET / HTTP/1.1\r\nHost: x\r\nno header\r\n\r\n": 400,
    b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 20_000 + b"\r\n\r\n": 431,
    b"GET / HTTP/1.1\r\nHost: x\r\n" + b"x" * 20_000 + b": y\r\n\r\n": 431,
    b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 500 + b"\r\n": 431,
    b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n": 501,
    b"get / HTTP/1.1\r\nHost: x\r\n\r\n": 501,
    POST + b"Content-Length: x\r\n\r\n": 400,
    POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n": 400,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03": 400,
}


@pytest.fixture
async def impatient(database_url: str, repository: Repository) -> AsyncIterator[Server]:
    async with serving(
        database_url, repository, client_timeout=0.3, max_body_bytes=50_000
    ) as server:
        acme = await server.workspace()
        await acme.content_type()
        yield server


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Streams]:
    port = server.session._base_url.port  # type: ignore[union-attr]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def answered(streams: Streams, request: bytes) -> tuple[int, dict[str, str], Any]:
    """The status, headers and body of the answer to these very bytes."""
    reader, writer = streams
    writer.write(request)
    async with asyncio.timeout(ENOUGH):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = dict(re.findall(r"([\w-]+): (.*)\r\n", head.lower()))
        body = await reader.readexactly(int(headers["content-length"]))
    return int(head.split()[1]), headers, json.decode(body)


def packed(head: bytes, body: bytes) -> bytes:
    """A request whose body says that it is gzip."""
    length = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head + length + body


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much was unpacked at each time, by whomever."""
    sizes: list[int] = []
    made = zlib.decompressobj

    class Watched:
        def __init__(self, *args: Any, **options: Any) -> None:
            self._made = made(*args, **options)

        def decompress(self, *args: Any, **options: Any) -> bytes:
            sizes.append(len(body := self._made.decompress(*args, **options)))
            return body

        def __getattr__(self, name: str) -> Any:
            return getattr(self._made, name)

    monkeypatch.setattr(zlib, "decompressobj", Watched)
    return sizes


async def is_closed(streams: Streams) -> bool:
    try:
        async with asyncio.timeout(ENOUGH):
            return await streams[0].read(1) == b""
    except ConnectionResetError:
        return True


async def test_malformed_http_has_the_error_envelope_and_an_id(
    server: Server, logged: Logged
) -> None:
    read, before = logged("json"), broken()
    ids = set()
    for request, expected in BROKEN.items():
        async with connected(server) as streams:
            status, headers, body = await answered(streams, request)
            assert (status, list(body)) == (expected, ["error"]), request[:60]
            assert headers["content-type"] == "application/json"
            ids.add(headers["x-request-id"])
            assert headers["x-ratelimit-limit"]
            assert headers["cache-control"] == "no-store"
            assert await is_closed(streams)
    lines = [json.decode(line) for line in read().splitlines()]
    assert {line["level"] for line in lines} == {"info"}
    for event in ("malformed request", "request"):
        assert {line["request_id"] for line in lines if line["event"] == event} == ids
    assert broken() - before == len(ids) == len(BROKEN)


def broken() -> float:
    """How many responses to malformed requests this process has counted."""
    COUNTS.flush()
    labels = {"method": "other", "route": "none"}
    return sum(
        REGISTRY.get_sample_value("contentlog_requests_total", {**labels, "status": str(status)})
        or 0
        for status in set(BROKEN.values())
    )


async def test_headers_that_are_too_large_in_total_are_refused(server: Server) -> None:
    get = b"GET /v1/locales HTTP/1.1\r\nHost: x\r\n"
    async with connected(server) as streams:
        assert (await answered(streams, get + LARGE_HEADER * 7 + b"\r\n"))[0] == 401
        status, headers, body = await answered(streams, get + LARGE_HEADER * 9 + b"\r\n")
        assert await is_closed(streams)
    assert (status, list(body)) == (431, ["error"])
    assert headers["x-request-id"]
    assert headers["x-ratelimit-limit"]


async def test_an_unknown_expectation_has_the_error_envelope(server: Server) -> None:
    async with connected(server) as streams:
        request = b"GET /v1/content HTTP/1.1\r\nHost: x\r\nExpect: the-unexpected\r\n\r\n"
        status, headers, body = await answered(streams, request)
    text = "Unsupported Expect header: use 100-continue, or leave it out"
    assert (status, body) == (417, {"error": text})
    assert headers["x-request-id"]
    assert headers["x-ratelimit-limit"]


async def test_a_fault_outside_of_the_application_has_the_error_envelope(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr("aiohttp.web_urldispatcher.UrlDispatcher.resolve", fails)
    answer = await server.client().get("/v1/content")
    refused(answer, 500, "Internal server error")
    assert "hunter2" not in answer.text
    assert answer.headers["X-Request-Id"]
    assert answer.headers["X-RateLimit-Limit"]


class TestSlowClients:
    async def test_a_head_that_does_not_end_is_aborted(self, impatient: Server) -> None:
        async with connected(impatient) as streams:
            for byte in b"GET /v1/content HTTP/1.1\r\nHost":
                streams[1].write(bytes([byte]))
                await asyncio.sleep(0.02)
                if streams[0].at_eof():
                    break
            assert await is_closed(streams)

    async def test_a_head_that_grows_too_large_is_aborted(self, server: Server) -> None:
        async with connected(server) as streams, asyncio.timeout(20):
            streams[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n" + LARGE_HEADER * 15)
            assert await is_closed(streams)

    async def test_a_connection_that_sends_nothing_is_closed(self, impatient: Server) -> None:
        async with connected(impatient) as streams:
            assert await is_closed(streams)

    async def test_a_second_head_that_does_not_end_is_aborted(self, impatient: Server) -> None:
        async with connected(impatient) as streams:
            request = b"GET /v1/content HTTP/1.1\r\nHost: x\r\n" + KEY + b"\r\n"
            assert (await answered(streams, request))[0] == 200
            streams[1].write(b"GET /v1")
            assert await is_closed(streams)

    async def test_a_pause_between_requests_is_allowed(self, impatient: Server) -> None:
        request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        async with connected(impatient) as streams:
            assert (await answered(streams, request))[0] == 200
            await asyncio.sleep(0.5)
            streams[1].write(request[:10])
            await asyncio.sleep(0)
            assert (await answered(streams, request[10:]))[0] == 200
            await asyncio.sleep(0.5)
            assert (await answered(streams, request))[0] == 200

    async def test_a_body_that_arrives_slowly_is_a_408(self, impatient: Server) -> None:
        async with connected(impatient) as streams:
            streams[1].write(POST + b"Transfer-Encoding: chunked\r\n\r\n")
            for _ in range(60):
                streams[1].write(b"1\r\n \r\n")
                await asyncio.sleep(0.01)
            status, _, body = await answered(streams, b"")
            assert (status, body) == (
                408,
                {
                    "error": "The request body did not arrive within 0.3 seconds plus one for "
                    "each 8,192 bytes: send it faster, or in smaller requests"
                },
            )

    async def test_a_client_that_does_not_read_is_disconnected(
        self, impatient: Server, logged: Logged
    ) -> None:
        read = logged("json")
        acme = await impatient.workspace("globex")
        await acme.content_type()
        for n in range(20):
            await acme.entry(f"e{n}", fields=raws(body="x" * 45_000))
        await impatient.caught_up()
        request = b"GET /v1/content?limit=100 HTTP/1.1\r\nHost: x\r\n" + KEY.replace(
            b"acme", b"globex"
        )
        async with connected(impatient) as (reader, writer):
            writer.write((request + b"\r\n") * 20)
            async with asyncio.timeout(ENOUGH):
                while "does not read its response" not in read():  # noqa: ASYNC110 - a log tells nobody
                    await asyncio.sleep(0.05)
                got = await reader.read()
        assert 0 < len(got) < 15_000_000, "of 18 MB; the rest is not kept for it"


class TestBodies:
    async def test_the_limit_applies_to_chunks_and_to_decompressed_bodies(
        self, impatient: Server
    ) -> None:
        client = impatient.client()

        async def chunks(size: int, times: int) -> AsyncIterator[bytes]:
            for _ in range(times):
                yield b" " * size

        async def bomb() -> AsyncIterator[bytes]:
            yield gzip.compress(b" " * 50_001)

        close = {"Connection": "close"}
        for n in (60, 400):
            body = chunks(1000, n)
            refused(await client.ask("POST", "/v1/content", data=body, headers=close), 413)
        headers = {"Content-Encoding": "gzip", **close}
        refused(await client.ask("POST", "/v1/content", data=bomb(), headers=headers), 413)
        answer = await client.ask("POST", "/v1/content", data=chunks(1000, 50), headers=close)
        refused(answer, 400, "valid JSON")

    async def test_a_body_declared_as_too_large_is_refused_at_once(self, impatient: Server) -> None:
        async with connected(impatient) as streams:
            request = POST + b"Content-Length: 50001\r\n\r\n"
            status, _, body = await answered(streams, request)
            assert (status, list(body)) == (413, ["error"])

    async def test_a_damaged_body_is_a_400_and_no_fault(
        self, impatient: Server, logged: Logged
    ) -> None:
        read = logged("json")
        whole = gzip.compress(b'{"contentTypeSlug": "posts", "title": "T"}')
        for damaged in (b"no gzip", whole[:-1], whole + b"x"):
            async with connected(impatient) as streams:
                answer = await answered(streams, packed(POST, damaged))
                assert answer[0] == 400, damaged
                assert "its encoding is damaged" in answer[2]["error"]
                assert (await answered(streams, packed(POST, whole)))[0] in (200, 409)
        assert {json.decode(line)["level"] for line in read().splitlines()} == {"info"}

    async def test_after_damaged_chunks_the_connection_is_closed(
        self, impatient: Server, logged: Logged
    ) -> None:
        read = logged("json")
        async with connected(impatient) as streams:
            request = POST + b"Transfer-Encoding: chunked\r\n\r\nno length\r\n"
            status, headers, body = await answered(streams, request)
            assert (status, list(body)) == (400, ["error"])
            assert headers.get("connection") in ("close", None)  # None: HTTP 1.0
            assert await is_closed(streams)
        assert {json.decode(line)["level"] for line in read().splitlines()} == {"info"}

    async def test_an_unsupported_compression_is_a_400_that_names_the_supported_ones(
        self, impatient: Server
    ) -> None:
        for encoding in ("br", "zstd", "gzip, gzip"):
            answer = await impatient.client().post(NEW, headers={"Content-Encoding": encoding})
            refused(answer, 400, "gzip or deflate")

    async def test_an_unread_body_is_never_decompressed(
        self, impatient: Server, unpacked: list[int]
    ) -> None:
        """The second request is answered when the first one's body is off the connection."""
        bomb = gzip.compress(bytes(5_000_000))
        assert len(bomb) < impatient.service.settings.max_body_bytes
        nobody = POST.replace(b"secret", b"no-secret")
        unread = [
            (401, packed(nobody, bomb)),
            (404, packed(POST.replace(b"/v1/content", b"/nothing"), bomb)),
            (405, packed(POST.replace(b"POST", b"DELETE"), bomb)),
            (200, packed(POST.replace(b"POST", b"GET"), bomb)),
            (413, packed(POST, gzip.compress(bytes(5_000_000), 0)[:50_001])),
        ]
        for status, request in unread:
            async with connected(impatient) as streams:
                assert (await answered(streams, request))[0] == status
                assert (await answered(streams, packed(nobody, b"")))[0] == 401
        assert unpacked == []

    async def test_an_endless_compressed_body_is_decompressed_up_to_the_limit(
        self, impatient: Server, unpacked: list[int]
    ) -> None:
        bomb = gzip.compress(bytes(5_000_000))
        chunk = b"%x\r\n%b\r\n" % (len(bomb), bomb)
        chunked = POST + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        for request in (packed(POST, bomb), chunked + 5 * chunk + b"0\r\n\r\n"):
            async with connected(impatient) as streams:
                assert (await answered(streams, request))[0] == 413
                assert (await answered(streams, packed(POST, b"")))[0] == 400
            assert sum(unpacked) == impatient.service.settings.max_body_bytes + 1
            unpacked.clear()

    async def test_json_is_read_regardless_of_its_content_type(self, impatient: Server) -> None:
        client = impatient.client()
        for n, name in enumerate(
            ["application/json; charset=utf-8", "text/plain", "application/x-www-form-urlencoded"]
        ):
            body = json.encode({"contentTypeSlug": "posts", "title": f"T{n}"})
            answer = await client.post(body, headers={"Content-Type": name})
            assert answer.status == 200, answer.text
        refused(await client.post(b"title=T&contentTypeSlug=posts"), 400, "valid JSON")


async def test_a_request_that_arrives_as_its_connection_closes_is_answered(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its handler begins a turn of the loop after its head."""
    made: list[Connection] = []
    opened = Connection.connection_made

    def connection_made(self: Connection, transport: asyncio.BaseTransport) -> None:
        made.append(self)
        opened(self, transport)

    monkeypatch.setattr(Connection, "connection_made", connection_made)
    async with connected(server) as streams:
        await answered(streams, b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
        made[0].data_received(b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
        made[0].close()
        status, headers, _ = await answered(streams, b"")
        assert (status, headers["connection"]) == (404, "close")
        assert await is_closed(streams)


async def test_a_listener_may_have_a_separate_limit_of_connections() -> None:
    async with open_runner(web.Application(), patience=30, grace=1, connections=2) as runner:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        opened = [await asyncio.open_connection(*runner.addresses[0][:2]) for _ in range(3)]
        assert await is_closed(opened[0])
        for _, writer in opened:
            writer.transport.abort()
