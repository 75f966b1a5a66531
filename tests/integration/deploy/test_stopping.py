"""An API process that is stopped while it has requests in progress."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from api.server import GRACE
from deploy import supervisor
from tests.e2e.proxied_service import SECRET, prepare
from tests.processes import Processes
from tests.proxy import proxy_to

pytestmark = pytest.mark.slow


async def test_both_listeners_stop_at_the_same_time(database_url: str, tmp_path: Path) -> None:
    processes = Processes(database_url, tmp_path / "processes.log")
    try:
        processes.start("projector")
        processes.start("api")
        await processes.caught_up()
        opened = [_half_asked(processes.url), _half_asked(processes.operators_url)]
        api = processes.running["api"]
        began = time.monotonic()
        api.send_signal(signal.SIGTERM)
        first, last = sorted(await asyncio.gather(*(asyncio.to_thread(_end, o) for o in opened)))
        assert api.wait(60) == 0
    finally:
        processes.stop()
    assert first - began >= GRACE
    assert last - first < GRACE, "one after the other, each would take GRACE"


async def test_a_silent_database_does_not_delay_the_end(database_url: str, tmp_path: Path) -> None:
    """A request waits for an append, and a use of a key has not been recorded yet."""
    async with proxy_to(database_url) as proxy:
        processes = Processes(proxy.url, tmp_path / "processes.log")
        try:
            processes.start("projector")
            processes.start("api")
            await prepare(database_url)
            await processes.caught_up()
            assert await asyncio.to_thread(_create, processes.url) == 200
            proxy.be_a_black_hole()
            creating = asyncio.create_task(asyncio.to_thread(_create, processes.url))
            await asyncio.sleep(0.2)
            api = processes.running["api"]
            began = time.monotonic()
            api.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(api.wait, 60) == 0
            assert time.monotonic() - began < supervisor.GRACE - 1, "killed on a busy machine"
            with pytest.raises(http.client.RemoteDisconnected):
                await creating
        finally:
            processes.stop()


def _create(url: str) -> int:
    headers = {"X-API-Key": SECRET, "Content-Type": "application/json"}
    body = json.dumps({"contentTypeSlug": "posts", "title": "One"}).encode()
    request = urllib.request.Request(f"{url}/v1/content", body, headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        status: int = response.status
    return status


def _half_asked(url: str) -> socket.socket:
    """A connection with an incomplete request head; the server waits for the rest."""
    address = urlsplit(url)
    connection = socket.create_connection((address.hostname, address.port))
    # A first response shows that the connection has been accepted.
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
    assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
    connection.sendall(b"GET /healthz HTTP/1.1\r\n")
    return connection


def _end(connection: socket.socket) -> float:
    """Waits until the server closes the connection. Returns the time."""
    with connection, suppress(ConnectionResetError):
        connection.settimeout(60)
        assert connection.recv(1) == b""
    return time.monotonic()
