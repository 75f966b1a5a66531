"""CORS: some paths accept requests from any origin, the others send no CORS headers (§5,
«CORS»)."""

from __future__ import annotations

import pytest

from tests.integration.api.server import Answer, Client, Server

pytestmark = pytest.mark.asyncio(loop_scope="module")

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


async def test_other_paths_never_have_cors_headers(server: Server, client: Client) -> None:
    for path in CLOSED:
        for method in ("GET", "HEAD", "POST", "OPTIONS", "DELETE"):
            for who in (client, server.client(None)):
                assert cors_headers(await who.ask(method, path)) == set(), (method, path)
