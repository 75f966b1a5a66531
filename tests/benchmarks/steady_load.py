"""An open-loop load in a separate process: requests are due at a constant rate, however long the
others take.

Each latency is measured from the time at which the request was due, so that a stall counts for all
requests it delays (as in wrk2). The program reads a line of JSON with ``port``, ``secret``,
``rate``, ``seconds`` and ``entries`` from standard input, and writes a line with the latencies in
seconds, by kind of request.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Protocol

import msgspec
from msgspec import Struct

from tests.benchmarks.workload import create_body

CONNECTIONS = 64
CREATES = 0.05


class Plan(Struct, frozen=True):
    """``entries`` is the number of readable entries, with the slugs ``entry-0`` and so on. ``rate``
    is requests per second."""

    port: int
    secret: str
    rate: float
    seconds: float
    entries: int

    def request(self) -> tuple[str, bytes]:
        """Returns the kind of a random request, and the request."""
        head = f" HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self.secret}\r\n"
        if random.random() < CREATES:
            content = create_body()
            head = f"POST /v1/content{head}Content-Length: {len(content)}\r\n\r\n"
            return "create", head.encode() + content
        number = random.randrange(self.entries)
        if number % 2:
            return "single", f"GET /v1/content/posts/entry-{number}{head}\r\n".encode()
        offset = number // 2 % 1_000
        return "list of 10", f"GET /v1/content/posts?offset={offset}{head}\r\n".encode()


class Generator:
    """Sends requests on a fixed set of connections. A request waits for a free one, which adds to
    its latency.

    ``request`` returns a request's kind and bytes. ``rate`` is requests per second.
    """

    def __init__(
        self, port: int, rate: float, seconds: float, request: Callable[[], tuple[str, bytes]]
    ) -> None:
        self._port, self._rate, self._seconds = port, rate, seconds
        self._request = request
        self._due: asyncio.Queue[float] = asyncio.Queue()
        self.latencies: defaultdict[str, list[float]] = defaultdict(list)

    async def run(self) -> None:
        """Raises ExceptionGroup if a request fails."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._connection()) for _ in range(CONNECTIONS)]
            await self._begin_requests()
            await self._due.join()
            for task in tasks:
                task.cancel()

    async def _begin_requests(self) -> None:
        began = time.monotonic()
        for number in range(int(self._rate * self._seconds)):
            due = began + number / self._rate
            if (pause := due - time.monotonic()) > 0:
                await asyncio.sleep(pause)
            self._due.put_nowait(due)

    async def _connection(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        while True:
            due = await self._due.get()
            kind, request = self._request()
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            assert head.startswith(b"http/1.1 200"), head
            at = head.index(b"content-length: ") + 16
            await reader.readexactly(int(head[at : at + 12].split(b"\r\n")[0]))
            self.latencies[kind].append(time.monotonic() - due)
            self._due.task_done()


class LoadPlan(Protocol):
    """The input of a load program."""

    @property
    def port(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def seconds(self) -> float: ...
    def request(self) -> tuple[str, bytes]: ...


def main(kind: type[LoadPlan]) -> None:
    plan = msgspec.json.decode(sys.stdin.buffer.readline(), type=kind)
    generator = Generator(plan.port, plan.rate, plan.seconds, plan.request)
    gc.freeze()  # A collection of all imported objects would count as latency: 20 to 40 ms.
    asyncio.run(generator.run())
    sys.stdout.buffer.write(msgspec.json.encode(generator.latencies) + b"\n")


if __name__ == "__main__":
    main(Plan)
