"""Pages of files of our own alone: no other host is asked for anything, and no key is needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib import resources

from aiohttp import web

from api.context import SERVICE, Call
from api.rate_limits.enforcement import check_address_limit

Handler = Callable[[web.Request], Awaitable[web.Response]]


class StaticFiles:
    """A folder of this package: ``index.html``, and what it is made of with its content types.

    ``policy``: the page's Content-Security-Policy.
    """

    def __init__(self, *folder: str, types: Mapping[str, str], policy: tuple[str, ...]) -> None:
        self._folder = resources.files("api").joinpath(*folder)
        self._types = types
        self._policy = "; ".join(policy)
        self._read = cache(self._bytes_of)

    async def page(self, _request: web.Request) -> web.Response:
        response = self._declared("index.html", "text/html")
        response.headers["Content-Security-Policy"] = self._policy
        return response

    async def file(self, request: web.Request) -> web.Response:
        """A file the page is made of."""
        name = request.match_info["file"]
        if name not in self._types:
            raise web.HTTPNotFound
        return self._declared(name, self._types[name])

    def _declared(self, name: str, content_type: str) -> web.Response:
        response = web.Response(body=self._read(name), content_type=content_type, charset="utf-8")
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "public, max-age=3600"
        return response

    def _bytes_of(self, name: str) -> bytes:
        return self._folder.joinpath(name).read_bytes()


def limited_by_address(handler: Handler) -> Handler:
    """Behind the address's limit alone, which counts every request (§8)."""

    async def handle(request: web.Request) -> web.Response:
        await check_address_limit(Call(request, request.app[SERVICE], permission=""))
        return await handler(request)

    return handle
