"""Cross-origin access (§5, «CORS»): any origin on some paths, no headers on others."""

from __future__ import annotations

import re

from aiohttp import web
from aiohttp.typedefs import Handler

# By path, not by route: a page must be able to read a 404, a 405 or a 500, too.
_SPECIFIED = r"/v1/content/[^/]+(?:/[^/]+)?|/v1/content-types(?:/[^/]+)?|/graphql"
_ADDED = re.compile(
    r"/v1/media(?:/[^/]+)?|/v1/locales|/v1/changes|/v1/openapi\.json"
    r"|/v1/content-types/[^/]+/schema\.json"
)
_PATHS = re.compile(f"{_SPECIFIED}|{_ADDED.pattern}")
# For the paths that it specifies, §5 names only these four.
ALLOWED_HEADERS = "Authorization, X-API-Key, X-Environment, Content-Type"
MORE_ALLOWED_HEADERS = f"{ALLOWED_HEADERS}, Last-Event-ID, If-None-Match"
EXPOSED_HEADERS = (
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, ETag, "
    "X-Request-Id, X-Content-Position, X-Content-Visible, X-Content-Ignored"
)
MAX_AGE = "7200"  # seconds; browsers remember a preflight for no longer than this


def crosses_origins(path: str) -> bool:
    """``path`` is a request's or a route's canonical one."""
    return _PATHS.fullmatch(path) is not None


def add_cors(request: web.Request, response: web.StreamResponse) -> None:
    if crosses_origins(request.rel_url.path_safe):
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Access-Control-Expose-Headers"] = EXPOSED_HEADERS


def add_preflights(app: web.Application) -> None:
    """Adds OPTIONS to every cross-origin route that the application has."""
    for resource in app.router.resources():
        if isinstance(resource, web.Resource) and crosses_origins(resource.canonical):
            methods = sorted({route.method for route in resource} | {"OPTIONS"})
            added = _ADDED.fullmatch(resource.canonical) is not None
            allowed = MORE_ALLOWED_HEADERS if added else ALLOWED_HEADERS
            resource.add_route("OPTIONS", _preflight(methods, allowed))


def _preflight(methods: list[str], allowed: str) -> Handler:
    headers = {
        "Allow": ",".join(methods),
        "Access-Control-Allow-Methods": ", ".join(methods),
        "Access-Control-Allow-Headers": allowed,
        "Access-Control-Max-Age": MAX_AGE,
    }

    async def preflight(_request: web.Request) -> web.Response:
        """Needs no key: browsers send none."""
        return web.Response(status=204, headers=headers)

    return preflight
