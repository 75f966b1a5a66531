"""The OpenAPI document and a page that shows it, from files of our own alone. No key needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from importlib import resources

from aiohttp import web

from api.context import SERVICE, Call
from api.limits.responses import check_address_limit
from api.openapi.document import document
from api.wire import encode

Handler = Callable[[web.Request], Awaitable[web.Response]]

_TYPES = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "start.js": "text/javascript",
}
# Images in data: are in the stylesheet.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


def routes() -> list[web.RouteDef]:
    return [
        web.get("/v1/openapi.json", counted(openapi)),
        web.get("/docs", counted(page)),
        web.get("/docs/{file:[^/]+}", counted(file)),
    ]


async def openapi(_request: web.Request) -> web.Response:
    return web.Response(body=_document(), content_type="application/json")


async def page(_request: web.Request) -> web.Response:
    response = web.Response(body=_read("index.html"), content_type="text/html", charset="utf-8")
    response.headers["Content-Security-Policy"] = _POLICY
    return as_declared(response)


async def file(request: web.Request) -> web.Response:
    """A file the page is made of."""
    name = request.match_info["file"]
    if name not in _TYPES:
        raise web.HTTPNotFound
    return as_declared(web.Response(body=_read(name), content_type=_TYPES[name], charset="utf-8"))


def counted(handler: Handler) -> Handler:
    """Behind the address's limit alone, which counts every request (§8)."""

    async def handle(request: web.Request) -> web.Response:
        await check_address_limit(Call(request, request.app[SERVICE], permission=""))
        return await handler(request)

    return handle


def as_declared(response: web.Response) -> web.Response:
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "public, max-age=3600"
    return response


@cache
def _document() -> bytes:
    return encode(document())


@cache
def _read(name: str) -> bytes:
    return (resources.files("api") / "docs" / name).read_bytes()
