"""The OpenAPI document, and Swagger UI at ``/docs``. No key needed."""

from __future__ import annotations

from functools import cache

from aiohttp import web

from api.http.static_files import StaticFiles, limited_by_address
from api.openapi.document import document
from api.rest.wire import encode

_SWAGGER_UI = StaticFiles(
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
        # The stylesheet contains images in data: URLs.
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
        web.get("/docs", limited_by_address(_SWAGGER_UI.page)),
        web.get("/docs/{file:[^/]+}", limited_by_address(_SWAGGER_UI.file)),
    ]


async def openapi(_request: web.Request) -> web.Response:
    return web.Response(body=_document(), content_type="application/json")


@cache
def _document() -> bytes:
    return encode(document())
