"""Pages made of the package's own files. They need no key and load nothing from other hosts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib import resources

from aiohttp import web

from api.context import SERVICE, Call
from api.rate_limits.enforcement import check_address_limit

Handler = Callable[[web.Request], Awaitable[web.Response]]


class StaticFiles:
    """A folder of this package: ``index.html`` and its files, with their content types.

    ``policy``: the page's Content-Security-Policy.
    """

    def __init__(self, *folder: str, types: Mapping[str, str], policy: tuple[str, ...]) -> None:
        self._folder = resources.files("api").joinpath(*folder)
        self._types = types
        self._policy = "; ".join(policy)
        self._read = cache(self._bytes_of)

    async def page(self, _request: web.Request) -> web.Response:
        response = self._response("index.html", "text/html")
        response.headers["Content-Security-Policy"] = self._policy
        return response

    async def file(self, request: web.Request) -> web.Response:
        name = request.match_info["file"]
        if name not in self._types:
            raise web.HTTPNotFound
        return self._response(name, self._types[name])

    def _response(self, name: str, content_type: str) -> web.Response:
        response = web.Response(body=self._read(name), content_type=content_type, charset="utf-8")
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "public, max-age=3600"
        return response

    def _bytes_of(self, name: str) -> bytes:
        return self._folder.joinpath(name).read_bytes()


def limited_by_address(handler: Handler) -> Handler:
    """The handler behind the address's rate limit (§8), without a key."""

    async def handle(request: web.Request) -> web.Response:
        await check_address_limit(Call(request, request.app[SERVICE], permission=""))
        return await handler(request)

    return handle
