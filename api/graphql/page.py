"""GraphiQL at ``GET /graphql``, from files of our own alone. The page takes a key; showing it
takes none."""

from __future__ import annotations

from aiohttp import web

from api.http.static_files import StaticFiles, limited_by_address

_GRAPHIQL = StaticFiles(
    "graphql",
    "graphiql",
    types={
        "graphiql.min.css": "text/css",
        "graphiql.min.js": "text/javascript",
        "react.production.min.js": "text/javascript",
        "react-dom.production.min.js": "text/javascript",
        "start.css": "text/css",
        "start.js": "text/javascript",
    },
    policy=(
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        # Fonts in data: are in the stylesheet.
        "font-src data:",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ),
)


def routes() -> list[web.RouteDef]:
    return [
        web.get("/graphql", limited_by_address(page)),
        web.get("/graphql/{file:[^/]+}", limited_by_address(_GRAPHIQL.file)),
    ]


async def page(request: web.Request) -> web.Response:
    """For browsers. Queries are sent by POST alone: no link is to ask with somebody's key, and no
    cache to keep an answer."""
    if "text/html" not in request.headers.get("Accept", ""):
        raise web.HTTPMethodNotAllowed(request.method, ("OPTIONS", "POST"))
    response = await _GRAPHIQL.page(request)
    response.headers["Vary"] = "Accept"
    return response
