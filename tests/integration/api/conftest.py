"""A server with its own database for each test, or one for a module whose tests only read."""

from __future__ import annotations

import asyncio
import io
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio
import structlog

from api.http.connections import Connection
from deploy.logs import configure_logs
from deploy.settings import Settings
from tests.integration.api.server import Client, Server, serving
from tests.integration.projector.sample_log import ContentBuilder
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder


@pytest.fixture
async def server(database_url: str, repository: Repository) -> AsyncIterator[Server]:
    async with serving(database_url, repository) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_server(module_database_url: str) -> AsyncIterator[Server]:
    """One server for all tests of a module, which must not affect each other."""
    async with (
        open_recorder(module_database_url) as recorder,
        serving(module_database_url, Repository(recorder, EventMapper())) as server,
    ):
        yield server


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Callable[[], str]]]:
    """Configures logging in a format as the command line does. Returns a function that reads the
    log."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    written = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)

    def read() -> str:
        for handler in root.handlers:
            handler.flush()
        assert isinstance(written.buffer, io.BytesIO)
        return written.buffer.getvalue().decode()

    def configure(log_format: Any) -> Callable[[], str]:
        monkeypatch.setattr(sys, "stderr", written)
        configure_logs(Settings(log_format=log_format))
        structlog.configure(cache_logger_on_first_use=False)
        return read

    yield configure
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cached responses, keys and leases of requests stay valid, even if this process pauses."""
    monkeypatch.setattr("read_side.freshness.FRESH", 60.0)
    monkeypatch.setattr("api.auth.access.VALID", 60.0)
    monkeypatch.setattr("api.rate_limits.leases.SWEEP", 60.0)


@pytest.fixture
async def acme(server: Server) -> ContentBuilder:
    """A workspace with a key that has the permissions to view and edit content."""
    return await server.workspace(staging=True)


@pytest.fixture
def client(server: Server, acme: ContentBuilder) -> Client:
    return server.client()


@pytest.fixture
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduces the socket's send buffer, which otherwise holds megabytes of unread responses."""
    made = Connection.connection_made

    def with_small_buffer(connection: Connection, transport: asyncio.BaseTransport) -> None:
        made(connection, transport)
        made_socket = transport.get_extra_info("socket")
        made_socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)

    monkeypatch.setattr(Connection, "connection_made", with_small_buffer)
