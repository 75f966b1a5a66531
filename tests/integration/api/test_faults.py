"""An internal error at any point is a 500 with all promised headers and no details."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import json
from prometheus_client import REGISTRY

from api.http import default_headers
from api.http.request_counts import COUNTS
from tests.integration.api.server import Answer, Client, Server
from tests.integration.projector.sample_log import ContentBuilder

Logged = Callable[[Any], Callable[[], str]]

DETAIL = "the password is hunter2"
LIST, ONE, ACROSS = "/v1/content/posts", "/v1/content/posts/a", "/v1/content"
TYPES, TYPE = "/v1/content-types", "/v1/content-types/posts"
POST = {"contentTypeSlug": "posts", "title": "A"}
ALWAYS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id")
IN_HANDLERS = [
    ("api.rest.content.paging.list_of_type", "GET", LIST),
    ("api.rest.content.entries.entry_of_slug", "GET", ONE),
    ("api.rest.content.paging.list_across_types", "GET", ACROSS),
    ("api.rest.content.execute", "POST", ACROSS),
    ("api.rest.lookups.content_types.content_types", "GET", TYPES),
    ("api.rest.lookups.content_types.content_type", "GET", TYPE),
    ("api.rest.content.entries.entry_of_slug", "HEAD", ONE),
]
BEFORE_THEM = [
    ("aiohttp.web_urldispatcher.UrlDispatcher.resolve", "GET", LIST),
    ("api.rate_limits.leases.Leases.count", "GET", LIST),
    ("api.rate_limits.limits.Limits.count_key", "POST", ACROSS),
    ("api.auth.keys.Keys.caller", "GET", ONE),
    ("api.rest.request_checks.check_environment", "GET", TYPES),
    ("api.rest.parameters.locale", "GET", ACROSS),
]
AFTER_THEM = [
    ("api.rest.wire.encode", "GET", LIST),
    ("api.rest.cached_response.etag", "GET", ACROSS),
    ("api.http.representation.accepts_gzip", "GET", "/v1/openapi.json"),
]


def fails(*_: object, **__: object) -> Any:
    raise RuntimeError(DETAIL)


class Injected:
    """Sends requests while a fault is injected and checks the result."""

    def __init__(self, client: Client, read: Callable[[], str]) -> None:
        self._client = client
        self._read = read

    async def check(self, where: object, method: str, path: str) -> None:
        before, counted = len(self._read()), answered()
        answer = await ask(self._client, method, path)
        check(answer, method, path)
        check_log(self._read()[before:])
        assert answered() - counted == {"500": 1}, where


@pytest.fixture
async def injected(
    server: Server, client: Client, acme: ContentBuilder, logged: Logged
) -> Injected:
    await acme.content_type()
    await server.caught_up()
    return Injected(client, logged("json"))


async def test_a_fault_is_a_500_with_every_header_and_no_detail(
    injected: Injected, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where, method, path in [*IN_HANDLERS, *BEFORE_THEM, *AFTER_THEM]:
        with monkeypatch.context() as patch:
            patch.setattr(where, fails)
            await injected.check(where, method, path)


@pytest.mark.slow
async def test_a_header_that_cannot_be_added_is_a_500(
    injected: Injected, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The response was ready, but a 500 is sent and counted instead."""

    def add(*_: object) -> None:
        fails()

    for place in (0, len(default_headers.ADDED)):
        added = (*default_headers.ADDED[:place], add, *default_headers.ADDED[place:])
        with monkeypatch.context() as patch:
            patch.setattr(default_headers, "ADDED", added)
            for method in ("GET", "POST", "HEAD"):
                await injected.check(place, method, ACROSS)
            for method, path in (("OPTIONS", LIST), ("GET", "/nowhere"), ("DELETE", LIST)):
                await injected.check(place, method, path)


@pytest.mark.usefixtures("acme")
async def test_the_first_fault_of_the_headers_is_logged(
    client: Client, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = logged("json")
    assert (await ask(client, "GET", ACROSS)).status == 200
    before = len(read())
    monkeypatch.setattr("api.rate_limits.limits.Limits.peek_key", fails)
    assert (await ask(client, "GET", "/nowhere")).status == 500
    check_log(read()[before:])


async def ask(client: Client, method: str, path: str) -> Answer:
    body = {"json": POST} if method == "POST" else {}
    return await client.ask(method, path, {"X-Request-Id": "mine"}, **body)


def check(answer: Answer, method: str, path: str) -> None:
    assert answer.status == 500
    assert answer.text == ("" if method == "HEAD" else '{"error":"Internal server error"}')
    assert all(answer.headers[name] for name in ALWAYS)
    assert answer.headers["X-Request-Id"] == "mine"
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "hunter2" not in str(answer.headers)
    cross_origin = path.startswith(("/v1/content/", "/v1/content-types", "/v1/openapi.json"))
    for name in ("Access-Control-Allow-Origin", "Access-Control-Expose-Headers"):
        assert (name in answer.headers) == cross_origin


def check_log(text: str) -> None:
    """Checks for one traceback with the request's id and one request line with the status."""
    lines = [json.decode(line) for line in text.splitlines()]
    [fault] = [line for line in lines if line["level"] == "error"]
    assert fault["request_id"] == "mine"
    assert f"RuntimeError: {DETAIL}" in fault["exception"]
    assert "Traceback" in fault["exception"]
    [line] = [line for line in lines if line["event"] == "request"]
    assert (line["request_id"], line["status"]) == ("mine", 500)


def answered() -> Counter[str]:
    """How many responses this process has counted, by status."""
    COUNTS.flush()
    counts: Counter[str] = Counter()
    for family in REGISTRY.collect():
        for sample in family.samples:
            if sample.name == "contentlog_requests_total":
                counts[sample.labels["status"]] += int(sample.value)
    return counts
