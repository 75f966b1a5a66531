"""Large request bodies are limited for each workspace, over any number of connections."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from msgspec import json

from api.http import large_bodies
from tests.integration.api.server import Server, serving
from tests.integration.api.test_connections import Streams, connected
from tests.integration.live_projector import until
from write_side.repository import Repository

LARGEST = 100_000
SIZE = 90_000
SHARE = 4 * LARGEST
"""For one workspace."""


@pytest.fixture
async def server(database_url: str, repository: Repository) -> AsyncIterator[Server]:
    async with serving(database_url, repository, max_body_bytes=LARGEST) as server:
        for slug in ("acme", "rival"):
            await (await server.workspace(slug)).content_type()
        yield server


def body(title: str, size: int = SIZE) -> bytes:
    short = json.encode({"contentTypeSlug": "posts", "title": title})
    return short + b" " * (size - len(short))


def head(length: int, headers: str = "") -> bytes:
    key = "Authorization: Bearer secret-of-acme\r\n"
    length_of = f"Content-Length: {length}\r\n"
    return f"POST /v1/content HTTP/1.1\r\nHost: x\r\n{key}{headers}{length_of}\r\n".encode()


async def status(streams: Streams) -> int:
    async with asyncio.timeout(60):
        return int((await streams[0].readuntil(b"\r\n\r\n")).split()[1])


async def taken(server: Server, number: int) -> None:
    bodies = server.service.request_bodies

    async def is_taken() -> bool:
        return bodies.taken == number

    await until(is_taken)


async def test_a_workspace_with_its_full_share_does_not_delay_another(server: Server) -> None:
    bodies = server.service.request_bodies
    async with AsyncExitStack() as stack:
        sending = [await stack.enter_async_context(connected(server)) for _ in range(6)]
        for number, (_, writer) in enumerate(sending):
            writer.write(head(SIZE) + body(f"T{number}")[:-1])
        await taken(server, 4 * SIZE)
        assert (await server.client().post(body("Small", 1_000))).status == 200
        assert (await server.client("secret-of-rival").post(body("Rival"))).status == 200
        assert bodies.taken <= SHARE, "two wait"
        for _, writer in sending:
            writer.write(b" ")
        assert [await status(streams) for streams in sending] == [200] * 6
    await taken(server, 0)


async def test_a_request_that_waits_too_long_is_503_with_retry_after(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_bodies, "PATIENCE", 0.05)
    async with AsyncExitStack() as stack:
        for _ in range(4):
            _, writer = await stack.enter_async_context(connected(server))
            writer.write(head(SIZE) + b" ")
        await taken(server, 4 * SIZE)
        refused = await server.client().post(body("Fifth"))
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    await taken(server, 0)


async def test_a_compressed_body_is_counted_by_its_possible_size(server: Server) -> None:
    packed = gzip.compress(body("Packed"))
    async with connected(server) as streams:
        streams[1].write(head(len(packed), "Content-Encoding: gzip\r\n") + packed[:-1])
        await taken(server, LARGEST)
        streams[1].write(packed[-1:])
        assert await status(streams) == 200
    await taken(server, 0)
