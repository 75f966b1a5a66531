"""Pages made of the package's own files. They need no key and load nothing from other hosts."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import PurePath

from aiohttp import web
from aiohttp.typedefs import Handler

from api.rest.request_checks import check_address_limit

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class StaticFiles:
    """A folder of this package: ``index.html`` with its scripts and stylesheets.

    ``policy``: what the page's Content-Security-Policy allows in addition.
    """

    def __init__(self, *folder: str, policy: tuple[str, ...] = ()) -> None:
        self._folder = resources.files("api").joinpath(*folder)
        self._names = {file.name for file in self._folder.iterdir()}
        self._policy = "; ".join(
            (
                "default-src 'none'",
                "script-src 'self'",
                "style-src 'self'",
                *policy,
                # Stylesheets contain images in data: URLs.
                "img-src 'self' data:",
                "connect-src 'self'",
                "base-uri 'none'",
                "form-action 'none'",
                "frame-ancestors 'none'",
            )
        )
        self.read = cache(lambda name: self._folder.joinpath(name).read_bytes())

    async def page(self, _request: web.Request) -> web.Response:
        response = self._response("index.html", "text/html")
        response.headers["Content-Security-Policy"] = self._policy
        return response

    async def file(self, request: web.Request) -> web.Response:
        name = request.match_info["file"]
        content_type = _TYPES.get(PurePath(name).suffix)
        if content_type is None or name not in self._names:
            raise web.HTTPNotFound
        return self._response(name, content_type)

    def _response(self, name: str, content_type: str) -> web.Response:
        response = web.Response(body=self.read(name), content_type=content_type, charset="utf-8")
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "public, max-age=3600"
        return response


def limited_by_address(handler: Handler) -> Handler:
    """The handler behind the address's rate limit (§8), without a key."""

    async def handle(request: web.Request) -> web.StreamResponse:
        await check_address_limit(request)
        return await handler(request)

    return handle
