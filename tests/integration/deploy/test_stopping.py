"""An API process that is stopped while both of its listeners have requests in progress."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from api.server import GRACE
from tests.processes import Processes

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
