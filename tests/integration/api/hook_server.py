"""A webhook endpoint that records requests and can be made to misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct, field
from standardwebhooks.webhooks import Webhook

Answer = Callable[["HookServer", asyncio.StreamWriter], Awaitable[None]]


class Received(Struct, frozen=True):
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def verified(self, secret: str) -> Any:
        """The body. Raises if the Standard Webhooks library rejects the signature."""
        return Webhook(secret).verify(self.body, self.headers)


class HookServer(Struct):
    """``answer`` writes the response and can be replaced at any time."""

    port: int = 0
    scheme: str = "http"
    answer: Answer = field(default_factory=lambda: answer(200))
    received: list[Received] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def url(self, host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}/hook"

    async def has(self, number: int, seconds: float = 60.0) -> list[Received]:
        """Waits until this many requests have been received."""
        async with asyncio.timeout(seconds):
            while len(self.received) < number:
                self.arrived.clear()
                await self.arrived.wait()
        return self.received

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await _head(reader):
                body = await reader.readexactly(int(head.get("content-length", "0")))
                self.received.append(Received(head, body))
                self.arrived.set()
                await self.answer(self, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _head(reader: asyncio.StreamReader) -> dict[str, str]:
    lines = []
    while (line := await reader.readline()) not in (b"\r\n", b""):
        lines.append(line.decode().strip())
    pairs = (line.partition(":")[::2] for line in lines[1:])
    return {name.lower(): value.strip() for name, value in pairs}


def answer(status: int, body: bytes = b"ok", **headers: str) -> Answer:
    async def write(_server: HookServer, writer: asyncio.StreamWriter) -> None:
        named = "".join(f"{name.replace('_', '-')}: {text}\r\n" for name, text in headers.items())
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{named}\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    return write


@asynccontextmanager
async def hook_server(
    answer: Answer | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[HookServer]:
    server = HookServer(scheme="https" if tls else "http")
    if answer is not None:
        server.answer = answer
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        # Otherwise asyncio logs the cancellation.
        with contextlib.suppress(asyncio.CancelledError):
            await server._serve(reader, writer)

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
