"""Memory for large request bodies is limited per workspace, across all connections."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from msgspec import json

from api.context import RECEIVED_OF_WORKSPACE
from api.http import large_bodies
from api.rest.request_body import Decompressor
from tests.integration.api.server import Server, serving
from tests.integration.api.test_connections import Streams, connected
from tests.integration.live_projector import until
from write_side.repository import Repository

LARGEST = 100_000
SIZE = 90_000
SHARE = 4 * LARGEST
"""Per workspace."""


@pytest.fixture
async def server(database_url: str, repository: Repository) -> AsyncIterator[Server]:
    async with serving(database_url, repository, max_body_bytes=LARGEST) as server:
        for slug in ("acme", "rival"):
            await (await server.workspace(slug)).content_type()
        yield server


def body(title: str, size: int = SIZE) -> bytes:
    short = json.encode({"contentTypeSlug": "posts", "title": title})
    return short + b" " * (size - len(short))


def head(length: int | None) -> bytes:
    key = "Authorization: Bearer secret-of-acme\r\n"
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return f"POST /v1/content HTTP/1.1\r\nHost: x\r\n{key}{framing}\r\n\r\n".encode()


def chunked(content: bytes) -> bytes:
    return head(None) + b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)


async def status(streams: Streams) -> int:
    async with asyncio.timeout(60):
        return int((await streams[0].readuntil(b"\r\n\r\n")).split()[1])


async def until_taken(server: Server, number: int) -> None:
    bodies = server.service.request_bodies

    async def is_taken() -> bool:
        return bodies.used == number

    await until(is_taken)


async def test_a_body_takes_memory_once_it_is_complete(server: Server) -> None:
    bodies, files = server.service.request_bodies, server.service.large_bodies.files

    async def have_arrived() -> bool:
        return files.used == 6 * (SIZE - 1)

    async with AsyncExitStack() as stack:
        sending = [await stack.enter_async_context(connected(server)) for _ in range(6)]
        for number, (_, writer) in enumerate(sending):
            writer.write(head(SIZE) + body(f"T{number}")[:-1])
        await until(have_arrived)
        assert bodies.used == 0
        for _, writer in sending:
            writer.write(b" ")
        assert [await status(streams) for streams in sending] == [200] * 6
    await until_taken(server, 0)
    assert files.used == 0


async def test_bodies_of_a_workspace_arrive_some_at_a_time(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("write_side.fair_queue.PATIENCE", 0.05)
    files = server.service.large_bodies.files

    async def have_arrived() -> bool:
        return files.used == RECEIVED_OF_WORKSPACE * (SIZE - 1)

    async with AsyncExitStack() as stack:
        for _ in range(RECEIVED_OF_WORKSPACE):
            _, writer = await stack.enter_async_context(connected(server))
            writer.write(head(SIZE) + body("T")[:-1])
        await until(have_arrived)
        refused = await server.client().post(body("One more"))
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
        assert (await server.client().post(body("Small", 1_000))).status == 200
        for title, size, expected in (("Chunked", 1_000, 200), ("Too large", SIZE, 503)):
            streams = await stack.enter_async_context(connected(server))
            streams[1].write(chunked(body(title, size)))
            assert await status(streams) == expected
        assert (await server.client("secret-of-rival").post(body("Rival"))).status == 200


async def test_a_workspace_with_its_full_share_does_not_delay_another(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_bodies, "PATIENCE", 0.05)
    bodies = server.service.request_bodies
    assert bodies.take("acme", SHARE)
    assert not bodies.take("acme", 1)
    refused = await server.client().post(body("Acme"))
    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    assert (await server.client().post(body("Small", 1_000))).status == 200
    assert (await server.client("secret-of-rival").post(body("Rival"))).status == 200
    bodies.give_back("acme", SHARE)
    assert (await server.client().post(body("Acme"))).status == 200


async def test_a_compressed_body_is_counted_by_its_possible_size(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, decompress = [], Decompressor.decompress

    def observed(decompressor: Decompressor, data: bytes, limit: int) -> bytes:
        found.append(server.service.request_bodies.used)
        return decompress(decompressor, data, limit)

    monkeypatch.setattr(Decompressor, "decompress", observed)
    headers = {"Content-Encoding": "gzip"}
    answer = await server.client().post(gzip.compress(body("Packed")), headers=headers)
    assert (answer.status, found) == (200, [LARGEST])
    await until_taken(server, 0)
