"""A server and database for each test, or for a module whose tests have their own workspaces."""

from __future__ import annotations

import asyncio
import io
import itertools
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
from tests.integration.api.server import Client, Server, serving, shared
from tests.integration.projector.sample_log import ContentBuilder
from write_side.repository import Repository

_numbers = itertools.count(1)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Server:
    """The module's server, with workspaces of this test's own, if the module has
    ``pytestmark = pytest.mark.asyncio(loop_scope="module")``; otherwise a new server.

    In such a module, a test that affects others, or that others affect, needs a new server: mark
    it with ``loop_scope="function"``. Examples are positions of the log, the clock, a restart and
    lost connections.
    """
    if _loop_scope(request.node) == "function":
        own: Server = request.getfixturevalue("own_server")
        return own
    shared: Server = request.getfixturevalue("shared_server")
    return shared.for_one_test(next(_numbers))


def _loop_scope(item: pytest.Item) -> str:
    marker = item.get_closest_marker("asyncio")
    scope: str = marker.kwargs.get("loop_scope", "function") if marker else "function"
    return scope


@pytest.fixture
async def own_server(database_url: str, repository: Repository) -> AsyncIterator[Server]:
    async with serving(database_url, repository) as server:
        yield server


@pytest.fixture
async def behind(database_url: str, repository: Repository) -> AsyncIterator[Server]:
    """A server without a projector, whose reads and writes wait only briefly for one."""
    async with serving(database_url, repository, projector=False, read_your_writes=0.2) as server:
        await (await server.workspace()).content_type()
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_server(module_database_url: str) -> AsyncIterator[Server]:
    """One server for all tests of a module, which must not affect each other."""
    async with shared(module_database_url) as server:
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
def long_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """The windows of rate limits last a day, so that none ends during a test that starts its
    own server."""
    for module in (
        "write_side.store.rate_limits",
        "api.rate_limits.leases",
        "api.rate_limits.bucket",
    ):
        monkeypatch.setattr(f"{module}.WINDOW", 24 * 60 * 60)


@pytest.fixture
def acme(request: pytest.FixtureRequest) -> ContentBuilder:
    """A workspace with a key that has the permissions to view and edit content."""
    scope = _loop_scope(request.node)
    workspace: ContentBuilder = request.getfixturevalue(f"_acme_in_the_loop_of_a_{scope}")
    return workspace


@pytest_asyncio.fixture(loop_scope="function")
async def _acme_in_the_loop_of_a_function(server: Server) -> ContentBuilder:
    return await server.workspace(staging=True)


@pytest_asyncio.fixture(loop_scope="module")
async def _acme_in_the_loop_of_a_module(server: Server) -> ContentBuilder:
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
