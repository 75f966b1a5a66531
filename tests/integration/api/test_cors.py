"""CORS: some paths accept requests from any origin, the others send no CORS headers (§5,
«CORS»)."""

from __future__ import annotations

import pytest

from api.http.cors import ALLOWED_HEADERS, EXPOSED_HEADERS
from tests.integration.api.server import Answer, Client, Server
from tests.integration.api.test_refusals import refused

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPEN = ["/v1/content/posts", "/v1/content/posts/a", "/v1/content/a%2Fb", "/v1/content-types"]
IMPORTS = ["/v1/imports", "/v1/imports/a", "/v1/imports/a/revert"]
CLOSED = [
    "/v1/content",
    "/v1/content/",
    "/v1/content/posts/",
    "/v1/content/a/b/c",
    *IMPORTS,
    "/healthz",
    "/",
]


def cors_headers(answer: Answer) -> set[str]:
    return {name.lower() for name in answer.headers if name.lower().startswith("access-control-")}


def is_open(answer: Answer) -> bool:
    return bool(
        answer.headers.get("Access-Control-Allow-Origin") == "*"
        and answer.headers.get("Access-Control-Expose-Headers") == EXPOSED_HEADERS
    )


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
    for path in ("/v1/content", *IMPORTS):
        answer = await server.client(None).ask("OPTIONS", path)
        refused(answer, 405, "Method not allowed: use ")
    answer = await server.client(None).ask("OPTIONS", "/v1/content")
    assert set(answer.headers["Allow"].split(",")) == {"GET", "HEAD", "POST"}
