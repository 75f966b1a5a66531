"""GraphiQL in a real browser, for a user who tries a query there."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import expect

from tests.e2e.browser import PageSession, served_page
from tests.e2e.pages import fits
from tests.integration.api.server import ACME, Server
from tests.integration.projector.sample_log import ContentBuilder

EXAMPLE = "Hello, browser!"


@pytest.fixture
async def session(database_url: str) -> AsyncIterator[PageSession]:
    async with served_page(database_url, _magazine, "/graphql") as session:
        yield session


async def _magazine(server: Server) -> ContentBuilder:
    acme = await server.workspace()
    await acme.content_type()
    await acme.entry(EXAMPLE.lower())
    await server.caught_up()
    return acme


@pytest.mark.slow
async def test_a_query_runs_with_a_key_and_without_requests_to_other_hosts(
    session: PageSession,
) -> None:
    page = session.page
    await page.locator(".access input").fill(ACME)
    await page.locator(".access button").click()
    # The schema was requested with the key: the documentation lists the types.
    await page.locator("button[aria-label='Show Documentation Explorer']").click()
    await page.locator(".graphiql-doc-explorer", has_text="ContentEntryPage").wait_for()
    await page.locator("button.graphiql-execute-button").click()
    answer = page.locator(".graphiql-response", has_text='"total": 1')
    await expect(answer).to_contain_text(EXAMPLE.title())
    await page.locator("button[aria-label='Hide Documentation Explorer']").click()
    # The dark theme on a phone.
    ground = "getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(ground)
    await page.emulate_media(color_scheme="dark")
    await page.wait_for_function(f"light => {ground} !== light", arg=light)
    await page.set_viewport_size({"width": 390, "height": 800})
    await fits(page)
    for part in (".graphiql-query-editor", ".graphiql-response", ".access input"):
        box = await page.locator(part).first.bounding_box()
        assert box is not None
        assert box["width"] > 200, part
        assert box["x"] + box["width"] <= 390, part
    assert session.complaints == []
    assert len(session.requested_urls) >= 8
    assert session.external_requests == []
