"""The log of requests that have had no response for a long time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from unittest.mock import Mock
from weakref import WeakSet

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from structlog.testing import capture_logs

from api.http.request_log import LongRequests, answer_errors
from tests.integration.api.server import listening
from tests.integration.live_projector import until

END = web.AppKey("end", asyncio.Event)


async def _wait(request: web.Request) -> web.StreamResponse:
    await request.app[END].wait()
    return web.Response()


async def _answer_late(request: web.Request) -> web.StreamResponse:
    return await _wait(request)


async def _stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await _wait(request)
    return response


async def _upload(request: web.Request) -> web.StreamResponse:
    return web.Response(body=await request.read())


async def _unfinished() -> AsyncIterator[bytes]:
    yield b"a part of the body"
    await asyncio.Event().wait()


@pytest.fixture
async def client(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[aiohttp.ClientSession]:
    monkeypatch.setattr("api.http.request_log.INTERVAL", 0.01)
    app = web.Application(middlewares=[answer_errors])
    app[END] = asyncio.Event()
    app.add_routes(
        [web.get("/late", _answer_late), web.get("/stream", _stream), web.post("/upload", _upload)]
    )
    async with listening(app) as origin, aiohttp.ClientSession(origin) as session:
        yield session
        app[END].set()


async def test_a_request_without_a_response_is_logged_with_where_it_waits(
    client: aiohttp.ClientSession,
) -> None:
    """A stream and a request that is still arriving are not logged."""
    with capture_logs() as logs:
        sent = [
            asyncio.create_task(client.get("/stream")),
            asyncio.create_task(client.post("/upload", data=_unfinished())),
            asyncio.create_task(client.get("/late?title=x", headers={"X-Request-Id": "late"})),
        ]

        async def is_logged_again() -> bool:
            return len(logs) > 3

        await until(is_logged_again)
    for request in sent:
        request.cancel()
    await asyncio.gather(*sent, return_exceptions=True)
    assert {(line["method"], line["path"], line["request_id"]) for line in logs} == {
        ("GET", "/late", "late")
    }
    *_, answer, wait, event = logs[0]["waits_in"]
    assert answer.startswith("_answer_late (test_long_requests.py:")
    assert wait.startswith("_wait (test_long_requests.py:")
    assert event.startswith("Event.wait (locks.py:")


async def test_the_first_look_logs_nothing() -> None:
    requests, answer = LongRequests(), _answer_late(make_mocked_request("GET", "/late"))
    requests.unanswered[answer] = make_mocked_request("GET", "/late", writer=Mock(output_size=0))
    with capture_logs() as logs:
        found = requests._look(WeakSet())
        assert not logs
        requests._look(found)
        assert len(logs) == 1
    answer.close()
