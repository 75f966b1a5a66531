"""The files that the pages are made of. Nobody counts them: they are in memory, and a browser
asks for each version of one once."""

from __future__ import annotations

from functools import cache

from aiohttp import web

from api.dashboard.pages import refusal
from api.dashboard.templates import HERE
from api.dashboard.visit import visit_of

TYPES = {
    "tokens.css": "text/css",
    "layout.css": "text/css",
    "components.css": "text/css",
    "wizard.css": "text/css",
    "theme.js": "text/javascript",
    "dashboard.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


async def file(request: web.Request) -> web.StreamResponse:
    name = request.match_info["file"]
    if name not in TYPES:
        return await refusal(visit_of(request, permission=""), web.HTTPNotFound())
    response = web.Response(body=_read(name), content_type=TYPES[name], charset="utf-8")
    # Under the address of another version too; but then a page has named that one.
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response


@cache
def _read(name: str) -> bytes:
    return (HERE / "static" / name).read_bytes()
