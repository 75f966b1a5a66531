"""A process with few file descriptors closes idle connections, and survives having none left."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

FILES = 64
PROGRAM = f"""
import asyncio, os, resource, sys
from aiohttp import web
from api.http.listener import open_listener
from api.http.open_connections import raise_open_files
from api.http.request_log import ROUTE
from tests.processes import free_port

resource.setrlimit(resource.RLIMIT_NOFILE, (32, {FILES}))
raise_open_files()
held = []

@web.middleware
async def routed(request, handler):
    request[ROUTE] = "test"
    return await handler(request)

async def limit(request):
    return web.Response(text=str(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))

async def exhaust(request):
    try:
        while True:
            held.append(os.dup(0))
    except OSError:
        asyncio.get_running_loop().call_later(0.5, lambda: [os.close(held.pop()) for _ in held[:]])
    return web.Response(text="exhausted")

async def main():
    app = web.Application(middlewares=[routed])
    app.router.add_get("/", limit)
    app.router.add_get("/exhaust", exhaust)
    port = free_port()
    async with open_listener(app, patience=30, grace=1) as listener:
        await listener.listen("127.0.0.1", port)
        print(port, flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


@contextmanager
def serving() -> Iterator[tuple[int, subprocess.Popen[str]]]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=pipe,
        stdout=pipe,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline()), process
    finally:
        process.kill()
        process.communicate()


def get_and_hold(port: int, path: str = "/", *, close: bool = True) -> tuple[socket.socket, str]:
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    closing = "Connection: close\r\n" if close else ""
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{closing}\r\n".encode())
    return connection, connection.recv(4096).decode()


def test_silent_connections_are_closed_oldest_first() -> None:
    with serving() as (port, _), ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            for _ in range(2 * FILES)
        ]
        connection, answer = get_and_hold(port)
        connection.close()
        assert answer.startswith("HTTP/1.1 200")
        assert answer.endswith(f"\r\n\r\n{FILES}"), "the soft limit is the hard one"
        assert silent[0].recv(1) == b""
        silent[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            silent[-1].recv(1)


@pytest.mark.slow
def test_without_descriptors_the_process_continues_and_logs_little() -> None:
    with serving() as (port, process):
        connection, _ = get_and_hold(port, "/exhaust", close=False)
        began = time.monotonic()
        waiting, answer = get_and_hold(port)
        seconds = time.monotonic() - began
        assert answer.startswith("HTTP/1.1 200")
        connection.close()
        waiting.close()
        output, _ = process.communicate("")
        lines = output.count("connections cannot be accepted")
        assert 1 <= lines <= seconds + 2
