"""The real application on a free port, with workspaces and their keys."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web
from msgspec import Struct

from api.context import Service
from api.http.listener import open_listener
from api.server import application, open_service, operator_application
from api.settings import ApiSettings
from read_side.freshness import NONE
from read_side.stamp import position_of
from tests.engines import engine
from tests.integration.live_projector import caught_up, projecting, until
from tests.integration.projector.sample_log import ContentBuilder
from write_side import commands as c
from write_side.domain.identity import Scope
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

BOTH = ("content.view", "content.edit")
PATIENCE = 20.0
"""Seconds to wait for the projector: more than a busy machine needs."""
RESPONDS = (
    "api.rate_limits.leases.CALL_TIMEOUT",
    "write_side.store.rate_limits.CONNECT_TIMEOUT",
    "api.auth.access.PATIENCE",
)
"""Time limits after which a database counts as unavailable. Tests for busy machines extend them."""
ACME = "secret-of-acme"
BACKGROUND = ("lag history", "imports")
"""Background tasks, whose statements belong to no request."""


class Answer(Struct):
    """A response that has been read completely."""

    status: int
    headers: Any
    text: str

    @property
    def body(self) -> Any:
        return msgspec.json.decode(self.text)

    @property
    def data(self) -> Any:
        assert self.status == 200, self.text
        return self.body["data"]


class Client:
    """Sends requests with one key."""

    def __init__(self, session: aiohttp.ClientSession, secret: str | None) -> None:
        self._session = session
        self._secret = secret

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.ask("GET", path, **options)

    async def post(self, body: Any, path: str = "/v1/content", **options: Any) -> Answer:
        """Sends bytes as they are and anything else as JSON."""
        content = {"data": body} if isinstance(body, bytes) else {"json": body}
        return await self.ask("POST", path, **content, **options)

    async def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, **options: Any
    ) -> Answer:
        key = {"Authorization": f"Bearer {self._secret}"} if self._secret else {}
        sent = {**key, **(headers or {})}
        async with self._session.request(method, path, headers=sent, **options) as response:
            return Answer(response.status, response.headers, await response.text())


class Server:
    """One application on one database. ``repository`` writes the log."""

    suffix = ""
    """Appended to each workspace's slug and to each secret."""

    def __init__(
        self, url: str, service: Service, session: aiohttp.ClientSession, repository: Repository
    ) -> None:
        self.url = url
        self.service = service
        self.session = session
        self.repository = repository
        self.operators: aiohttp.ClientSession
        """A session on the operator listener."""

    @property
    def origin(self) -> str:
        """The base URL, for clients that do not use the session."""
        return str(self.session._base_url).rstrip("/")

    @property
    def operator(self) -> Client:
        """A client of the operator listener, without a key."""
        return Client(self.operators, None)

    def for_one_test(self, number: int) -> Server:
        """The same server, with workspaces and keys that no other test has."""
        server = copy.copy(self)
        server.suffix = f"-{number}"
        return server

    def client(self, secret: str | None = ACME) -> Client:
        return Client(self.session, secret and self.secret(secret))

    def secret(self, secret: str = ACME) -> str:
        """The secret of the key that was created as ``secret``."""
        return secret + self.suffix

    async def workspace(
        self, slug: str = "acme", permissions: tuple[str, ...] = BOTH, **plan: Any
    ) -> ContentBuilder:
        """Creates a workspace and its key ``secret-of-<slug>``."""
        builder = ContentBuilder(self.repository, Scope(slug + self.suffix, "production"))
        await builder.workspace(**plan)
        await self.key(f"secret-of-{slug}", slug, permissions)
        return builder

    async def key(
        self, secret: str, workspace: str, permissions: tuple[str, ...] = BOTH, **limits: Any
    ) -> None:
        """``limits``: the key's ``environment`` and ``expires_at``."""
        builder = ContentBuilder(self.repository)
        await builder.execute(
            c.IssueKey,
            workspace=workspace + self.suffix,
            name=secret,
            permissions=permissions,
            secret_hash=hashlib.sha256(self.secret(secret).encode()).hexdigest(),
            **limits,
        )

    def forget(self) -> None:
        """Discards all cached responses."""
        self.service.checkpoint.freshness.reset()

    async def caught_up(self) -> None:
        """Waits until the log is projected and applied to this server's response cache."""
        head = await caught_up(self.url)
        freshness = self.service.checkpoint.freshness

        async def applied() -> bool:
            return freshness.applied > NONE and position_of(freshness.applied) >= head

        await until(applied)


@asynccontextmanager
async def serving(
    url: str, repository: Repository, *, projector: bool = True, **settings: Any
) -> AsyncIterator[Server]:
    """``settings``: those of ``ApiSettings``. By default, the limits are too high to be reached by
    accident."""
    limits = {"key_rate_limit": 1_000_000, "ip_rate_limit": 1_000_000, "cost_limit": 10**9}
    options = {"read_your_writes": PATIENCE, **limits, **settings}
    async with contextlib.AsyncExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for limit in RESPONDS:
            patch.setattr(limit, 30.0)
        service = await stack.enter_async_context(
            open_service(ApiSettings(**engine().settings(url), **options))
        )
        base = await stack.enter_async_context(
            listening(application(service), service.settings.client_timeout)
        )
        session = await stack.enter_async_context(
            aiohttp.ClientSession(base, connector=aiohttp.TCPConnector(limit=0))
        )
        if projector:
            await stack.enter_async_context(projecting(url))
        server = Server(url, service, session, repository)
        operators = await stack.enter_async_context(listening(operator_application(service)))
        server.operators = await stack.enter_async_context(aiohttp.ClientSession(operators))
        yield server


@asynccontextmanager
async def shared(url: str, **settings: Any) -> AsyncIterator[Server]:
    """A server with a repository of its own, for all tests of a module."""
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        async with serving(url, repository, **settings) as server:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("api.rate_limits.limits.SIGN_INS", 1_000_000)
                yield server


@asynccontextmanager
async def listening(app: web.Application, patience: float = 30) -> AsyncIterator[str]:
    """Yields the application's base URL."""
    async with open_listener(app, patience=patience, grace=1) as listener:
        yield f"http://127.0.0.1:{await listener.listen('127.0.0.1', 0)}"


async def room(seconds: float = 15.0) -> None:
    """Waits for the next window of the rate limits if this one ends within ``seconds``."""
    left = 60 - time.time() % 60
    if left < seconds:
        await asyncio.sleep(left + 0.05)


async def malformed_http(server: Server) -> Answer:
    """The response to a request that is not HTTP."""
    url = server.session._base_url
    assert url is not None
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(b"this is no HTTP\r\n\r\n")
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    first, *lines = head.split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return Answer(int(first.split()[1]), headers, body)
