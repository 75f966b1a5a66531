"""A dashboard client that behaves like a browser without JavaScript: cookies, forms, redirects."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.integration.api.server import ACME, Answer, Server

HERE = {"Sec-Fetch-Site": "same-origin"}
_TOKEN = re.compile(r'name="csrf" value="([^"]+)"')


class Browser:
    """Does not follow redirects, because tests check them."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.ask("GET", path, **options)

    async def post(self, path: str, fields: Mapping[str, str], **options: Any) -> Answer:
        """Submits a form of a dashboard page with its CSRF token."""
        sent = {"csrf": await self.token(), **fields}
        return await self.ask("POST", path, data=sent, **options)

    async def sign_in(self, secret: str, **fields: str) -> Answer:
        return await self.ask("POST", "/dashboard/sign-in", data={"key": secret, **fields})

    async def token(self) -> str:
        page = await self.get("/dashboard/projections")
        found = _TOKEN.search(page.text)
        return found[1] if found else ""

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str] = HERE, **options: Any
    ) -> Answer:
        async with self.session.request(
            method, path, headers=headers, allow_redirects=False, **options
        ) as response:
            return Answer(response.status, response.headers, await response.text())

    @property
    def cookie(self) -> str:
        """The session token."""
        return next((one.value for one in self.session.cookie_jar), "")


@asynccontextmanager
async def browser(server: Server) -> AsyncIterator[Browser]:
    """A browser with its own cookie jar."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(server.session._base_url, cookie_jar=jar) as session:
        yield Browser(session)


@asynccontextmanager
async def signed_in(server: Server, secret: str = ACME) -> AsyncIterator[Browser]:
    async with browser(server) as visitor:
        answer = await visitor.sign_in(server.secret(secret))
        assert (answer.status, answer.headers["Location"]) == (303, "/dashboard/entries")
        yield visitor
