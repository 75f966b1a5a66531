"""The event stream that tells an open dashboard page to reload."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import pytest

from tests.integration.api.dashboard import Browser, browser, signed_in
from tests.integration.api.server import Server, serving
from tests.integration.live_projector import projecting
from tests.integration.projector.sample_log import ContentBuilder
from write_side.domain.identity import Scope
from write_side.repository import Repository

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.dashboard.live.SILENCE", 0.05)
    monkeypatch.setattr("api.dashboard.live.PAUSE", 0.0)
    monkeypatch.setattr("api.operations.health.KEPT", -1.0)


class Live:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def line(self) -> bytes:
        """The next line that is not empty, or b"" at the end of the stream."""
        async with asyncio.timeout(PATIENCE):
            while (line := await self.response.content.readline()) == b"\n":
                pass
        return line

    async def changed(self) -> None:
        while (line := await self.line()) != b"event: changed\n":
            assert line, "the stream has ended"
        assert await self.line() == b"data:\n"


@asynccontextmanager
async def live(visitor: Browser, query: str = "") -> AsyncIterator[Live]:
    async with visitor.session.get(f"/dashboard/live{query}") as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        # Sent once the stream receives changes.
        assert await response.content.readline() == b":\n"
        yield Live(response)


async def test_a_change_is_announced_in_its_environment(server: Server) -> None:
    acme = await server.workspace(staging=True)
    globex = await server.workspace("globex")
    await acme.staging()
    await server.caught_up()
    async with signed_in(server) as visitor, live(visitor) as production:
        async with live(visitor, "?environment=staging") as staging:
            await globex.content_type()
            await ContentBuilder(server.repository, Scope("acme", "staging")).content_type()
            await staging.changed()
        assert {await production.line() for _ in range(5)} == {b":\n"}, "not of others"
        await acme.content_type()
        await production.changed()


async def test_the_stream_announces_that_the_projector_stopped(
    database_url: str, repository: Repository
) -> None:
    async with (
        serving(database_url, repository, projector=False) as server,
        AsyncExitStack() as opened,
    ):
        async with projecting(database_url):
            await server.workspace()
            await server.caught_up()
            visitor = await opened.enter_async_context(signed_in(server))
            stream = await opened.enter_async_context(live(visitor))
        await stream.changed()


async def test_the_stream_ends_with_the_session(server: Server, acme: ContentBuilder) -> None:
    del acme
    async with signed_in(server) as visitor, live(visitor) as opened:
        await visitor.post("/dashboard/sign-out", {})
        while await opened.line():
            pass


async def test_a_stream_that_is_checked_while_the_process_stops_ends_at_once(
    server: Server, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    del acme

    async def stop(*_: object, **__: object) -> None:
        monkeypatch.setattr("api.dashboard.live.SILENCE", 2 * PATIENCE)
        server.service.streams.close()

    async with signed_in(server) as visitor, live(visitor) as opened:
        monkeypatch.setattr("api.dashboard.live.check_session", stop)
        while await opened.line():
            pass


async def test_the_stream_needs_a_session(server: Server, acme: ContentBuilder) -> None:
    del acme
    async with browser(server) as visitor:
        assert (await visitor.get("/dashboard/live")).status == 303
