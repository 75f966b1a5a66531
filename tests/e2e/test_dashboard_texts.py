"""Texts of any length and direction on the dashboard's pages."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Locator

from tests.e2e.browser import BrowserFixture, PageSession, opened_page, server_and_browser
from tests.e2e.pages import checked_in_both_themes, signed_in
from tests.integration.api.server import Server
from tests.integration.projector.sample_log import BODY, ContentBuilder, raws
from write_side import commands as c
from write_side.domain.definition import Field, Stage
from write_side.domain.webhook import new_webhook_secret

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

LONG_NAME = "a name of which nobody thought that anybody would ever read it to its end, " * 2
ARABIC = "مرحبا بالعالم! هذا نص طويل (نسخة 2) باللغة العربية، ويحتوي على علامات ترقيم."
LONG_KEY = f"key-{'x' * 180}"
LONG_TITLE = f"{LONG_NAME * 2}{'W' * 180}"
EVENTS = ("entry.created", "entry.updated", "entry.published", "entry.unpublished")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database_url: str) -> AsyncIterator[BrowserFixture]:
    async with server_and_browser(module_database_url, _workspace) as shared:
        yield shared


@pytest_asyncio.fixture(loop_scope="module")
async def session(shared: BrowserFixture) -> AsyncIterator[PageSession]:
    async with opened_page(shared.browser, shared.origin) as session:
        yield session


async def _workspace(server: Server) -> ContentBuilder:
    acme = await server.workspace()
    await server.key(LONG_KEY, "acme")
    await acme.execute(
        c.CreateContentType,
        scope=acme.scope,
        slug="posts",
        name=LONG_NAME,
        fields=(BODY, Field("related", "Related", "reference", multiple=True)),
        stages=(Stage("one", LONG_NAME),),
    )
    await acme.entry("arabic", title=ARABIC, fields=raws(body=ARABIC))
    await acme.entry("long", fields=raws(body="A line of a long text\n" * 400))
    target = await acme.entry("s" * 400, title=LONG_TITLE)
    await acme.entry("refers", fields=raws(related=[target]))
    await acme.execute(
        c.CreateWebhook,
        workspace="acme",
        name="search",
        url="http://127.0.0.1:9/hook",
        environment="production",
        types=(),
        events=EVENTS,
        secret=new_webhook_secret(),
    )
    await server.caught_up()
    return acme


async def _place_of_letter(text: Locator, number: int) -> float:
    """The left edge of a letter, in pixels from the left edge of its block."""
    left: float = await text.evaluate(
        """(element, number) => {
            const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
            const range = document.createRange();
            const start = number < 0 ? text.length + number : number;
            range.setStart(text, start);
            range.setEnd(text, start + 1);
            const block = element.closest("td, div, h1").getBoundingClientRect();
            return range.getBoundingClientRect().left - block.left;
        }""",
        number,
    )
    return left


async def test_an_arabic_text_is_read_from_the_right(session: PageSession) -> None:
    page = await signed_in(session)
    title = page.get_by_role("link", name=ARABIC)
    width = await title.evaluate("element => element.closest('td').clientWidth")
    assert width / 2 < await _place_of_letter(title, 0) < width, "the cell shows the beginning"
    await title.click()
    await page.get_by_role("heading", name=ARABIC).wait_for()
    for text in (page.locator("h1"), page.locator(".values .long")):
        assert await _place_of_letter(text, -1) < await _place_of_letter(text, 0)


async def test_long_names_leave_room_for_the_others(session: PageSession) -> None:
    page = await signed_in(session, LONG_KEY)
    await page.set_viewport_size({"width": 1280, "height": 800})
    visible = "element => element.scrollWidth <= element.clientWidth"
    assert await page.locator(".workspace").evaluate(visible)
    assert await page.get_by_role("cell", name=LONG_NAME.strip()).first.evaluate(
        "element => element.offsetWidth < 200"
    )
    await page.goto(f"{session.origin}/dashboard/webhooks/search")
    events = page.locator("dd", has_text="entry.unpublished")
    lines = "element => element.offsetHeight / parseFloat(getComputedStyle(element).lineHeight)"
    assert round(await events.evaluate(lines)) <= len(EVENTS), "no name is broken"
    since = page.get_by_label("Since")
    assert await since.evaluate("element => element.offsetWidth") > 200, "the time is visible"


@pytest.mark.parametrize(("width", "one_line"), [(1280, 60), (320, 380)])
async def test_a_long_title_leaves_room_and_can_be_read(
    session: PageSession, width: int, one_line: int
) -> None:
    page = await signed_in(session)
    await page.set_viewport_size({"width": width, "height": 800})
    height = "element => element.offsetHeight"
    for path in ("entries", "activity"):
        await page.goto(f"{session.origin}/dashboard/{path}")
        row = page.get_by_role("row", name=LONG_TITLE)
        assert await row.evaluate(height) < one_line, path
        assert await page.locator(".scroll").evaluate("e => e.scrollWidth - e.clientWidth") < 250
        assert await row.get_by_title(LONG_TITLE).count() == 1
    await row.get_by_title(LONG_TITLE).click()
    await page.get_by_role("heading", name=LONG_TITLE).wait_for()
    lines = "element => element.offsetHeight / parseFloat(getComputedStyle(element).lineHeight)"
    assert round(await page.locator("h1").evaluate(lines)) <= 4
    for name, text in (("Title", LONG_TITLE), ("Slug", "s" * 400)):
        whole = page.get_by_role("group", name=name)
        assert await whole.evaluate(height) <= 130
        assert await whole.text_content() == text
    await checked_in_both_themes(page)
    await page.goto(f"{session.origin}/dashboard/entries?search=refers")
    await page.get_by_role("link", name="Refers").click()
    await page.get_by_role("heading", name="Refers").wait_for()
    assert round(await page.get_by_role("link", name=LONG_TITLE).evaluate(lines)) <= 4
    await checked_in_both_themes(page)


async def test_a_long_text_is_scrolled_with_a_keyboard(session: PageSession) -> None:
    page = await signed_in(session)
    await page.get_by_role("link", name="Long").click()
    await page.get_by_role("group", name="Text").focus()
    await checked_in_both_themes(page)
