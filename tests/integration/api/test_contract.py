"""Compares real responses of every status with the OpenAPI document, and checks that the comparison
can fail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from jsonschema import ValidationError
from msgspec import json
from multidict import CIMultiDict
from yarl import URL

from read_side.refusals import ReadModelUnavailable
from tests.contract import Contract
from tests.integration.api.server import ACME, Answer, Client, Server, serving, shared
from tests.integration.api.test_connections import MALFORMED, POST, answered, connected
from tests.integration.projector.sample_log import raws
from write_side import commands as c
from write_side.domain.definition import Field
from write_side.repository import Repository

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONTRACT = Contract()
PATHS = [
    "/v1/content",
    "/v1/content?type=posts&locale=fr-FR",
    "/v1/content/posts",
    "/v1/content/posts?status=draft",
    "/v1/content/posts/a%2Fb",
    "/v1/content-types",
    "/v1/content-types/posts",
    "/v1/content-types/posts/schema.json",
    "/v1/media",
    "/v1/media/hero",
    "/v1/locales",
    "/v1/changes?include=entry&limit=500",
    "/v1/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
]
OF_OPERATORS = ("/readyz", "/metrics")
CROSS_ORIGIN = (
    "/v1/content/",
    "/v1/content-types",
    "/v1/media",
    "/v1/locales",
    "/v1/changes",
    "/v1/openapi.json",
)
READS = [
    ("/v1/content?environment=prod", 400),
    ("/v1/content/posts?locale=xx", 400),
    ("/v1/content/posts?status=live", 400),
    ("/v1/content-types?environment=staging", 404),
    ("/v1/content/nothing", 404),
    ("/v1/content/posts/nothing", 404),
    ("/v1/content?type=nothing", 404),
    ("/v1/content-types/nothing", 404),
    ("/v1/content-types/nothing/schema.json", 404),
    ("/v1/openapi.json?environment=prod", 400),
    ("/v1/media/nothing", 404),
    ("/v1/changes?after=x", 400),
    ("/v1/content/", 404),
    ("/nothing", 404),
]
NEW: dict[str, Any] = {"contentTypeSlug": "posts", "title": "T"}
CREATES: list[tuple[Any, dict[str, str], int]] = [
    (NEW, {"Idempotency-Key": "k"}, 200),
    (NEW, {"Idempotency-Key": "k"}, 200),
    ({**NEW, "slug": "other"}, {"Idempotency-Key": "k"}, 422),
    (NEW, {}, 409),
    (NEW, {"Idempotency-Key": "é"}, 400),
    ({**NEW, "slug": None}, {}, 400),
    ({**NEW, "fields": []}, {}, 400),
    ({**NEW, "slug": "x", "fields": {"body": 7}}, {}, 400),
    (b"{", {}, 400),
    (b"{}", {"Content-Encoding": "gzip"}, 400),
    ({**NEW, "contentTypeSlug": "nothing"}, {}, 404),
    ({**NEW, "title": "x" * 60_000}, {}, 413),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(module_database_url: str) -> AsyncIterator[Server]:
    async with shared(module_database_url, max_body_bytes=50_000) as server:
        acme = await server.workspace(staging=True)
        await acme.content_type(Field("body", "Body", "text"), Field("views", "Views", "number"))
        await acme.entry("a/b", fields=raws(body="text " * 1000))
        await acme.execute(
            c.PutMedia,
            workspace="acme",
            media_id="hero",
            url="https://cdn.example.com/hero.png",
            name="hero.png",
            content_type="image/png",
        )
        await server.key("may only look", "acme", ("content.view",))
        await server.key("operates", "acme", ("content.view", "service.view"))
        await server.key("may only write", "acme", ("content.edit",))
        await server.caught_up()
        yield server


def holds(method: str, path: str, answer: Answer, status: int) -> None:
    assert answer.status == status, (path, answer.text)
    CONTRACT.check(method, path, status, answer.headers, answer.text)


async def ask(client: Client, method: str, path: str, status: int, **options: Any) -> Answer:
    """Sends the path without re-encoding it."""
    url: Any = URL(path, encoded=True)
    answer = await client.ask(method, url, **options)
    holds(method, path, answer, status)
    return answer


async def test_successful_reads(server: Server) -> None:
    for path in PATHS:
        client = server.client("operates" if path in OF_OPERATORS else ACME)
        whole = await ask(client, "GET", path, 200)
        await ask(client, "HEAD", path, 200)
        if "ETag" in whole.headers:
            had = {"If-None-Match": whole.headers["ETag"]}
            await ask(server.client(), "GET", path, 304, headers=had)
            await ask(server.client(), "HEAD", path, 304, headers=had)


async def test_reads_that_are_refused(server: Server) -> None:
    for path, status in READS:
        for method in ("GET", "HEAD"):
            await ask(server.client(), method, path, status)
    await ask(server.client(None), "GET", "/metrics", 401)
    await ask(server.client(), "GET", "/metrics", 403)
    await ask(server.client(), "GET", "/readyz", 200)
    for path in PATHS[:10]:
        await ask(server.client(None), "GET", path, 401)
        await ask(server.client("may only write"), "GET", path, 403)
        await ask(server.client(), "GET", path, 400, headers={"X-Content-Position": "x"})


async def test_creates(server: Server) -> None:
    for body, headers, status in CREATES:
        holds("POST", "/v1/content", await server.client().post(body, headers=headers), status)
    holds("POST", "/v1/content", await server.client("may only look").post(NEW), 403)
    holds("POST", "/v1/content", await server.client(None).post(NEW), 401)


async def test_requests_that_the_plan_refuses(server: Server) -> None:
    globex = await server.workspace("globex", entries=0)
    await globex.content_type()
    client = server.client("secret-of-globex")
    holds("POST", "/v1/content", await client.post(NEW), 402)
    await ask(server.client(None), "GET", "/metrics", 401)
    await ask(server.client(), "GET", "/metrics", 403)
    await ask(server.client(), "GET", "/readyz", 200)
    for path in PATHS[:10]:
        await ask(client, "GET", path.partition("?")[0] + "?environment=staging", 402)


async def test_methods_that_the_path_does_not_have_and_preflights(server: Server) -> None:
    for path in PATHS:
        template = path.partition("?")[0]
        preflight = 204 if template.startswith(CROSS_ORIGIN) else 405
        await ask(server.client(None), "OPTIONS", template, preflight)
        await ask(server.client(None), "DELETE", template, 405)


@pytest.mark.slow
async def test_faults_and_unavailable_databases(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for fault, status in ((RuntimeError, 500), (ReadModelUnavailable, 503)):

        async def fails(*_: object, fault: type[Exception] = fault, **__: object) -> None:
            raise fault

        monkeypatch.setattr("api.rest.content.entries.entry_of_slug", fails)
        monkeypatch.setattr("api.rest.content.paging.list_of_type", fails)
        monkeypatch.setattr("api.rest.content.paging.list_across_types", fails)
        server.forget()
        for path in PATHS[:5]:
            await ask(server.client(), "GET", path, status)


async def test_malformed_http(server: Server) -> None:
    expects = b"GET /v1/content HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n"
    for request, status in [*MALFORMED.items(), (expects, 417)]:
        await holds_raw(server, request, status, "GET", "/")


@pytest.mark.asyncio(loop_scope="function")
async def test_a_body_that_does_not_arrive(database_url: str, repository: Repository) -> None:
    async with serving(database_url, repository, client_timeout=0.3) as server:
        await server.workspace()
        slow = POST + b"Content-Length: 100\r\n\r\n{"
        await holds_raw(server, slow, 408, "POST", "/v1/content")


async def holds_raw(server: Server, request: bytes, status: int, method: str, path: str) -> None:
    async with connected(server) as streams:
        got, headers, body = await answered(streams, request)
    assert got == status
    CONTRACT.check(method, path, got, CIMultiDict(headers), json.encode(body).decode())


async def test_an_undeclared_response_is_detected(server: Server) -> None:
    path = "/v1/content-types"
    answer = await server.client().get(path)
    had, text = dict(answer.headers), answer.text
    less = {name: value for name, value in had.items() if name != "Cache-Control"}
    faults = [
        (409, had, text),
        (200, {**had, "X-Powered-By": "pride"}, text),
        (200, {**had, "ETag": "no tag"}, text),
        (200, less, text),
        (200, had, text.replace('"success"', '"secret":1,"success"')),
        (200, had, text.replace('"success":true', '"success":"yes"')),
    ]
    for status, headers, body in faults:
        with pytest.raises((AssertionError, ValidationError)):
            CONTRACT.check("GET", path, status, headers, body)
