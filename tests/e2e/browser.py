"""A real browser: Debian's chromium, because playwright's own browser cannot be installed
everywhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec import Struct
from playwright.async_api import Browser, Page, Request, async_playwright

from tests.integration.api.server import Server, shared
from tests.integration.projector.sample_log import ContentBuilder

OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 90_000  # milliseconds
LEFT_OUT = "CONTENTLOG_BROWSER_TESTS"


def chromium() -> str:
    """Returns the path of chromium. Without chromium the test is skipped; under CI it fails,
    because a skip would go unnoticed. ``.ci/run`` sets ``CONTENTLOG_BROWSER_TESTS=skip`` where
    chromium is unavailable."""
    found = shutil.which("chromium")
    if found:
        return found
    missing = "the browser tests need chromium (on Debian: apt-get install chromium)"
    if os.environ.get("CI") == "true" and os.environ.get(LEFT_OUT) != "skip":
        pytest.fail(missing)
    pytest.skip(missing)


class PageSession:
    """A page, with the requests it sent and the errors and warnings it logged."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page = page
        self.origin = origin
        self.requested_urls: list[str] = []
        self.complaints: list[str] = []
        page.on("request", self._record_request)
        page.on("console", lambda message: self._record_message(message.type, message.text))
        page.on("pageerror", lambda error: self._record_message("error", str(error)))

    @property
    def external_requests(self) -> list[str]:
        """The URLs of requests to other hosts."""
        return [
            url for url in self.requested_urls if not url.startswith((self.origin + "/", "data:"))
        ]

    def _record_request(self, request: Request) -> None:
        self.requested_urls.append(request.url)

    def _record_message(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)


@asynccontextmanager
async def launched_browser() -> AsyncIterator[Browser]:
    """Starts a browser for any number of visits."""
    program = chromium()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program, args=OPTIONS, timeout=PATIENCE
        )
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def opened_page(browser: Browser, origin: str) -> AsyncIterator[PageSession]:
    """Opens a page with its own cookies and storage."""
    context = await browser.new_context()
    page = await context.new_page()
    page.set_default_timeout(PATIENCE)
    try:
        yield PageSession(page, origin)
    finally:
        await context.close()


class BrowserFixture(Struct):
    """A server with content, and a browser, shared by all tests of a module."""

    origin: str
    browser: Browser
    acme: ContentBuilder


@asynccontextmanager
async def server_and_browser(
    url: str, fill: Callable[[Server], Awaitable[ContentBuilder]]
) -> AsyncIterator[BrowserFixture]:
    # On a slow machine, writes wait longer until they can be read.
    serving = shared(url, read_your_writes=60.0)
    async with launched_browser() as browser, serving as server:
        yield BrowserFixture(server.origin, browser, await fill(server))


@asynccontextmanager
async def served_page(
    url: str, fill: Callable[[Server], Awaitable[ContentBuilder]], path: str
) -> AsyncIterator[PageSession]:
    """Starts a server with content and opens one of its pages."""
    async with (
        server_and_browser(url, fill) as shared,
        opened_page(shared.browser, shared.origin) as session,
    ):
        await session.page.goto(f"{session.origin}{path}")
        yield session
