"""The documentation page in a real browser, for a user who tries the API there."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import expect

from api.openapi.document import document
from tests.e2e.browser import PageSession, served_page
from tests.e2e.pages import fits
from tests.integration.api.server import ACME, Server
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side.domain.definition import Field, Option

FORM = Field("form", "Form", "select", required=True, options=(Option("long", "Long"),))


@pytest.fixture
async def session(database_url: str) -> AsyncIterator[PageSession]:
    async with served_page(database_url, _magazine, "/docs") as session:
        yield session


async def _magazine(server: Server) -> ContentBuilder:
    acme = await server.workspace()
    await acme.content_type(FORM, slug="essays")
    await acme.entry("of-mud", type_slug="essays", status="published", fields=raws(form="long"))
    await server.caught_up()
    return acme


async def test_the_page_shows_every_operation_without_requests_to_other_hosts(
    session: PageSession,
) -> None:
    operations = [
        (method.upper(), path)
        for path, described in document()["paths"].items()
        for method in described
    ]
    shown = session.page.locator(".opblock")
    await shown.nth(len(operations) - 1).wait_for()
    methods = await session.page.locator(".opblock-summary-method").all_text_contents()
    paths = await session.page.locator(".opblock-summary-path").all_text_contents()
    named = [path.replace("\u200b", "") for path in paths]
    assert sorted(zip(methods, named, strict=True)) == sorted(operations)
    assert session.complaints == []
    assert len(session.requested_urls) >= 5
    assert session.external_requests == []


@pytest.mark.slow
async def test_an_opened_operation_fits_on_a_few_screens(session: PageSession) -> None:
    """Guards against a regression: every error response repeated all headers, over 12,500 px. The
    height varies by a tenth between fonts."""
    operation = session.page.locator("#operations-Content-listEntries")
    await operation.locator(".opblock-summary-control").click()
    await operation.locator(".responses-table").wait_for()
    box = await operation.bounding_box()
    assert box is not None
    assert 1_000 < box["height"] < 7_500


@pytest.mark.slow
async def test_the_api_can_be_tried_there_with_a_key(session: PageSession) -> None:
    page = session.page
    await page.locator("button.authorize").first.click()
    dialog = page.locator(".dialog-ux")
    await dialog.locator("input").first.fill(ACME)
    await dialog.locator("button.authorize").first.click()
    await dialog.locator("button.btn-done").first.click()
    # The examples are now for the key's workspace, which has no posts.
    example = page.locator("#operations-Content-createEntry .opblock-section-request-body")
    await page.locator("#operations-Content-createEntry .opblock-summary-control").click()
    await expect(example).to_contain_text('"contentTypeSlug": "essays"')
    await page.locator("#operations-Content-createEntry .opblock-summary-control").click()
    await _tried(session, "Content-getEntry", '"title": "Of-Mud"')
    await _tried(session, "Content-createEntry", '"title": "Hello, World!"')
    await _tried(session, "Content-listAllEntries", '"title": "Hello, World!"')
    # Only filters with a value are sent.
    assert not [url for url in session.requested_urls if "filter" in url]
    listed = page.locator("#operations-Content-listAllEntries")
    title = listed.locator('tr[data-param-name="filter[title]"] textarea')
    await title.fill('{"contains": "mud"}')
    await listed.locator("button.execute").click()
    answer = listed.locator(".live-responses-table .highlight-code").first
    await expect(answer).not_to_contain_text("Hello, World!")
    await expect(answer).to_contain_text("Of-Mud")
    assert session.complaints == []
    assert session.external_requests == []


@pytest.mark.slow
async def test_the_page_is_dark_and_fits_on_a_phone(session: PageSession) -> None:
    page = session.page
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    await page.emulate_media(color_scheme="light")
    light = await page.evaluate(ground)
    await page.emulate_media(color_scheme="dark")
    await expect(page.locator("html.dark-mode")).to_have_count(1)
    assert await page.evaluate(ground) != light
    await page.set_viewport_size({"width": 390, "height": 800})
    operation = page.locator("#operations-Content-createEntry")
    await operation.locator(".opblock-summary-control").click()
    await operation.locator(".try-out__btn").click()
    await operation.locator("textarea").first.wait_for()
    await fits(page)
    cut = "[...document.querySelectorAll('.opblock input, .opblock textarea')]"
    edges = f"{cut}.map(one => one.getBoundingClientRect().right)"
    assert max(await page.evaluate(edges)) <= 390


async def _tried(session: PageSession, name: str, shown: str) -> None:
    """Tries an operation with its example values."""
    operation = session.page.locator(f"#operations-{name}")
    await operation.locator(".opblock-summary-control").click()
    await operation.locator(".try-out__btn").click()
    await operation.locator("button.execute").click()
    answer = operation.locator(".live-responses-table .response")
    await expect(answer.locator(".response-col_status")).to_contain_text("200")
    await expect(answer.locator(".highlight-code").first).to_contain_text(shown)
