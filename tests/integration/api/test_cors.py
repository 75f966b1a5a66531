"""Pages of any origin may ask on some paths, and find no header on the others (§5, «CORS»)."""

from __future__ import annotations

import pytest

from api.http.cors import ALLOWED_HEADERS, EXPOSED_HEADERS
from tests.integration.api.server import Answer, Client, Server, serving
from tests.integration.projector.sample_log import Given
from write_side.repository import Repository

OPEN = ["/v1/content/posts", "/v1/content/posts/a", "/v1/content/a%2Fb", "/v1/content-types"]
CLOSED = ["/v1/content", "/v1/content/", "/v1/content/posts/", "/v1/content/a/b/c", "/healthz", "/"]


def cors_headers(answer: Answer) -> set[str]:
    return {name.lower() for name in answer.headers if name.lower().startswith("access-control-")}


def is_open(answer: Answer) -> bool:
    return bool(
        answer.headers.get("Access-Control-Allow-Origin") == "*"
        and answer.headers.get("Access-Control-Expose-Headers") == EXPOSED_HEADERS
    )


async def test_every_status_of_a_cross_origin_path_has_cors_headers(
    server: Server, client: Client, acme: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type()
    await acme.entry("a")
    await server.caught_up()
    answers = {
        200: await client.get("/v1/content/posts/a"),
        204: await client.ask("OPTIONS", "/v1/content/posts"),
        400: await client.get("/v1/content/posts?locale=xx"),
        401: await server.client(None).get("/v1/content/posts"),
        404: await client.get("/v1/content/posts/nothing"),
        405: await client.ask("DELETE", "/v1/content/posts"),
    }

    async def fails(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("api.rest.content.paging.list_of_type", fails)
    answers[500] = await client.get("/v1/content/posts")
    for status, answer in answers.items():
        assert answer.status == status
        assert is_open(answer), status


async def test_a_429_of_a_cross_origin_path_has_cors_headers(
    database_url: str, repository: Repository
) -> None:
    async with serving(database_url, repository, key_rate_limit=1) as server:
        await server.workspace()
        for status in (404, 429):
            answer = await server.client().get("/v1/content/posts")
            assert answer.status == status
            assert is_open(answer)
            assert cors_headers(await server.client().get("/v1/content")) == set()


async def test_other_paths_never_have_cors_headers(server: Server, client: Client) -> None:
    for path in CLOSED:
        for method in ("GET", "HEAD", "POST", "OPTIONS", "DELETE"):
            for who in (client, server.client(None)):
                assert cors_headers(await who.ask(method, path)) == set(), (method, path)


async def test_a_preflight_is_answered_without_a_key(server: Server) -> None:
    asks = {
        "Origin": "https://example.com",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization,x-environment",
    }
    for path in OPEN:
        answer = await server.client(None).ask("OPTIONS", path, headers=asks)
        assert (answer.status, answer.text) == (204, ""), path
        assert is_open(answer)
        methods = answer.headers["Access-Control-Allow-Methods"].split(", ")
        assert methods == ["GET", "HEAD", "OPTIONS"]
        assert answer.headers["Access-Control-Allow-Headers"] == ALLOWED_HEADERS
        assert int(answer.headers["Access-Control-Max-Age"]) > 0


async def test_options_on_other_paths_is_an_unsupported_method(server: Server) -> None:
    answer = await server.client(None).ask("OPTIONS", "/v1/content")
    assert (answer.status, answer.body) == (405, {"error": "Method not allowed"})
    assert set(answer.headers["Allow"].split(",")) == {"GET", "HEAD", "POST"}
