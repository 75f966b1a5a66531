"""An HTTP client with little overhead: keep-alive connections with one request at a time on each.

As a program, it reads a JSON array of port, path, headers, number of connections and number of
keys, and prints the responses per second.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator

from msgspec import Struct, json

CONNECTIONS = 16
SECONDS = 1.5


class Load(Struct, frozen=True):
    """GETs of one local path, or POSTs with a new body each.

    Each of the ``headers`` ends with CRLF. With ``keys``, ``KEY`` in the path is replaced by a
    random number from 1 to it.
    """

    port: int
    path: str
    headers: str
    body: Callable[[], bytes] | None = None
    keys: int = 0

    def requests(self) -> Iterator[bytes]:
        head = f"{self.path} HTTP/1.1\r\nHost: bench\r\n{self.headers}"
        if self.keys:
            while True:
                key = str(random.randint(1, self.keys))
                yield f"GET {head}\r\n".replace("KEY", key).encode()
        if self.body is None:
            yield from itertools.repeat(f"GET {head}\r\n".encode())
            return
        while True:
            body = self.body()
            yield f"POST {head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Measured(Struct, frozen=True):
    per_second: float
    body: bytes


class _Connection(asyncio.Protocol):
    """Sends the next request once a response is complete. Responses need a Content-Length."""

    def __init__(self, requests: Iterator[bytes]) -> None:
        self._requests = requests
        self._received = bytearray()
        self.answers = 0
        self.body = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._received[:end]).lower()
        assert head.startswith(b"http/1.1 200"), bytes(self._received[:200])
        at = head.index(b"content-length: ") + 16
        length = int(head[at : at + 12].split(b"\r\n")[0])
        if len(self._received) < end + 4 + length:
            return
        self.body = bytes(self._received[end + 4 :])
        self._received.clear()
        self.answers += 1
        assert self._transport is not None
        self._transport.write(next(self._requests))

    def close(self) -> None:
        assert self._transport is not None
        self._transport.abort()


async def measured(load: Load, seconds: float = SECONDS, number: int = CONNECTIONS) -> Measured:
    """Returns the responses per second, and the last body."""
    loop = asyncio.get_running_loop()
    connections = [
        (
            await loop.create_connection(
                lambda: _Connection(load.requests()), "127.0.0.1", load.port
            )
        )[1]
        for _ in range(number)
    ]
    started, before = time.perf_counter(), sum(c.answers for c in connections)
    await asyncio.sleep(seconds)
    answers = sum(c.answers for c in connections) - before
    elapsed = time.perf_counter() - started
    for connection in connections:
        connection.close()
    return Measured(answers / elapsed, connections[0].body)


if __name__ == "__main__":
    port, path, headers, number, keys = json.decode(
        sys.stdin.buffer.read(), type=tuple[int, str, str, int, int]
    )
    load = Load(port, path, headers, keys=keys)
    print(asyncio.run(measured(load, number=number)).per_second)
