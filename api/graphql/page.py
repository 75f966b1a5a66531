"""GraphiQL at ``GET /graphql``, from files of our own alone. The page takes a key; showing it
takes none."""

from __future__ import annotations

from functools import cache
from importlib import resources

from aiohttp import web

from api.documentation import as_declared, counted

_TYPES = {
    "graphiql.min.css": "text/css",
    "graphiql.min.js": "text/javascript",
    "react.production.min.js": "text/javascript",
    "react-dom.production.min.js": "text/javascript",
    "start.css": "text/css",
    "start.js": "text/javascript",
}
# Fonts in data: are in the stylesheet.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "font-src data:",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


def routes() -> list[web.RouteDef]:
    return [
        web.get("/graphql", counted(page)),
        web.get("/graphql/{file:[^/]+}", counted(file)),
    ]


async def page(request: web.Request) -> web.Response:
    """For browsers. Queries are sent by POST alone: no link is to ask with somebody's key, and no
    cache to keep an answer."""
    if "text/html" not in request.headers.get("Accept", ""):
        raise web.HTTPMethodNotAllowed(request.method, ("OPTIONS", "POST"))
    response = web.Response(body=_read("index.html"), content_type="text/html", charset="utf-8")
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["Vary"] = "Accept"
    return as_declared(response)


async def file(request: web.Request) -> web.Response:
    """A file the page is made of."""
    name = request.match_info["file"]
    if name not in _TYPES:
        raise web.HTTPNotFound
    return as_declared(web.Response(body=_read(name), content_type=_TYPES[name], charset="utf-8"))


@cache
def _read(name: str) -> bytes:
    return (resources.files("api") / "graphql" / "graphiql" / name).read_bytes()
