"""The OpenAPI document and its page are public and complete."""

from __future__ import annotations

import re

import pytest
from aiohttp import web

from api.context import Service
from api.openapi.document import document
from api.rate_limits.bucket import LimitStatus
from api.server import application
from tests.integration.api.server import Server

pytestmark = pytest.mark.asyncio(loop_scope="module")

# Pages for browsers, which the document omits.
APART = ("/dashboard", "/docs", "/graphql/")
PAGE = ("GET", "/graphql")
# Clients need no operation for these: HEAD is a GET without a body, OPTIONS is for browsers.
LEFT_OUT = ("HEAD", "OPTIONS")


async def nothing(_request: web.Request) -> web.Response:
    return web.Response()


def routes(service: Service) -> set[tuple[str, str]]:
    return {
        (route.method, route.resource.canonical)
        for route in application(service).router.routes()
        if route.resource is not None and not route.resource.canonical.startswith(APART)
    }


async def test_routes_and_document_agree(server: Server) -> None:
    described = {
        (method.upper(), path)
        for path, operations in document()["paths"].items()
        for method in operations
    }
    served = {route for route in routes(server.service) if route[0] not in LEFT_OUT}
    assert served - {PAGE} == described


async def test_the_page_loads_nothing_from_elsewhere(server: Server) -> None:
    client = server.client(None)
    page = await client.get("/docs")
    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    policy = dict(
        part.split(" ", 1) for part in page.headers["Content-Security-Policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert set(policy.values()) <= {"'none'", "'self'", "'self' data:"}
    files = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(files) == 5
    for file in files:
        if file != "data:,":
            assert (await client.get(f"/{file}")).status == 200


async def test_a_read_of_the_documentation_is_counted_against_the_address(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def is_over(_request: web.Request) -> LimitStatus:
        return LimitStatus(passed=False, limit=1, remaining=0, reset=1_769_851_860, wait=7)

    monkeypatch.setattr(server.service.limits, "count_address", is_over)
    for path in ("/docs", "/docs/start.js", "/v1/openapi.json"):
        answer = await server.client(None).get(path)
        assert (answer.status, answer.headers["Retry-After"]) == (429, "7")


@pytest.mark.parametrize("name", ["LICENSE", "index.html", "..%2Fwire.py", "nothing", "%00"])
async def test_other_files_are_not_found(name: str, server: Server) -> None:
    answer = await server.client(None).get(f"/docs/{name}")
    assert (answer.status, answer.body) == (404, {"error": "Not found"})


async def test_an_undescribed_route_is_detected(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = routes(server.service)
    more = [web.get("/v1/secret", nothing)]
    monkeypatch.setattr("api.openapi.routes.routes", lambda: more)
    assert ("GET", "/v1/secret") in routes(server.service) - before
