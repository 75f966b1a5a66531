"""The OpenAPI document and a page that shows it, from files of our own alone. No key needed."""

from __future__ import annotations

from functools import cache

from aiohttp import web

from api.http.static_files import StaticFiles, limited_by_address
from api.openapi.document import document
from api.rest.wire import encode

_SHOWN = StaticFiles(
    "docs",
    types={
        "swagger-ui.css": "text/css",
        "swagger-ui-bundle.js": "text/javascript",
        "start.js": "text/javascript",
    },
    policy=(
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        # Images in data: are in the stylesheet.
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ),
)


def routes() -> list[web.RouteDef]:
    return [
        web.get("/v1/openapi.json", limited_by_address(openapi)),
        web.get("/docs", limited_by_address(_SHOWN.page)),
        web.get("/docs/{file:[^/]+}", limited_by_address(_SHOWN.file)),
    ]


async def openapi(_request: web.Request) -> web.Response:
    return web.Response(body=_document(), content_type="application/json")


@cache
def _document() -> bytes:
    return encode(document())
