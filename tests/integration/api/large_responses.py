"""Clients that do not read their responses, and the buffers that the server holds for them."""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import urlsplit

from tests.integration.api.server import Server


async def sent(server: Server) -> None:
    """Waits until the server holds no buffers for large responses."""
    bodies = server.service.large_bodies
    async with asyncio.timeout(60):
        while bodies.files.used or bodies.memory.used:  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.01)


def slow_reader(server: Server, path: str, body: bytes = b"") -> socket.socket:
    """Sends a request and does not read the response."""
    where = urlsplit(server.origin)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((where.hostname, where.port))
    method = "POST" if body else "GET"
    client.sendall(
        f"{method} {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer secret-of-acme\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    return client
