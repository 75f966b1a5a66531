"""The dashboard in a real browser: with a mouse, with only a keyboard, and on a small screen."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Page, Request, Route, expect

from tests.e2e.browser import PATIENCE, BrowserFixture, PageSession, opened_page, server_and_browser
from tests.e2e.pages import checked_in_both_themes, signed_in
from tests.integration.api.server import Server
from tests.integration.projector.sample_log import BODY, STAGES, ContentBuilder, raws
from write_side import commands as c
from write_side.domain.definition import Field
from write_side.domain.events import Translation
from write_side.domain.locales import supported_locales
from write_side.domain.webhook import new_webhook_secret
from write_side.store.webhook_cursors import Cursors, Outcome

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOTH_WIDTHS = (1440, 390, 360)
FIELDS = (
    BODY,
    Field("meta", "Meta", "json"),
    Field("related", "Related", "reference", multiple=True),
    Field("cover", "Cover", "media"),
    Field("faq", "FAQ", "repeater", fields=(Field("q", "Question", "text"),)),
)

COVER = (
    "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20width='3'%20height='2'/%3E"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database_url: str) -> AsyncIterator[BrowserFixture]:
    async with server_and_browser(module_database_url, _magazine) as shared:
        yield shared


@pytest_asyncio.fixture(loop_scope="module")
async def session(shared: BrowserFixture) -> AsyncIterator[PageSession]:
    async with opened_page(shared.browser, shared.origin) as session:
        yield session
        assert session.complaints == []
        assert session.external_requests == []


async def _magazine(server: Server) -> ContentBuilder:
    acme = await server.workspace(
        permissions=("content.view", "content.edit", "service.view"), staging=True
    )
    await acme.content_type(*FIELDS, stages=STAGES)
    await acme.execute(
        c.PutMedia,
        workspace="acme",
        media_id="lamp",
        url=COVER,
        name="lamp.svg",
        content_type="image/svg+xml",
    )
    await acme.content_type(slug="pages")
    await acme.content_type(slug="changing")
    await acme.content_type(slug="live")
    for number in range(30):
        await acme.entry(f"entry-{number}", type_slug="pages", status="published")
    first = await acme.entry("first")
    hello = await acme.entry(
        "hello",
        fields=raws(
            body="A text",
            meta={"a": [1, 2]},
            related=[first],
            cover="lamp",
            faq=[{"q": "Why?"}, {"q": "How?"}],
        ),
    )
    await acme.translate(hello, "fr-FR", title="Bonjour", fields=raws(body="Un texte"))
    await acme.update(hello, status="published")
    await _webhooks(acme)
    await (await acme.staging()).content_type()
    await server.caught_up()
    return acme


async def _webhooks(acme: ContentBuilder) -> None:
    """Creates a working webhook with deliveries and a disabled one. Their addresses refuse
    connections, so that a test message reaches no one."""
    for name in ("search", "off"):
        await acme.execute(
            c.CreateWebhook,
            workspace="acme",
            name=name,
            url="http://127.0.0.1:9/hook",
            environment="production",
            types=("posts",),
            events=("entry.published", "entry.unpublished"),
            secret=new_webhook_secret(),
        )
    reason = "no delivery has succeeded for 3 days; the last failure: HTTP 500"
    await acme.execute(c.SwitchWebhookOff, workspace="acme", name="off", reason=reason)
    cursors = Cursors(acme.repository.recorder.fetch)
    await cursors.open(list((await acme.repository.webhooks("acme")).by_name.values()))
    for outcome in (
        Outcome(message_id="1", type="entry.published", status=200, duration_ms=31, response="ok"),
        Outcome(
            message_id="2",
            type="entry.unpublished",
            status=500,
            error="HTTP 500",
            attempt=2,
            duration_ms=15_000,
            response="<!doctype html>" + "wordswithoutspaces" * 20,
        ),
    ):
        await cursors.record_test("acme", "search", outcome)


@pytest.mark.slow
async def test_a_webhook_is_tried_out_and_switched_on(session: PageSession) -> None:
    page = await signed_in(session)
    await page.get_by_role("link", name="Webhooks").click()
    await page.get_by_role("link", name="off", exact=True).click()
    await expect(page.get_by_text("no delivery has succeeded for 3 days")).to_be_visible()
    await page.get_by_role("button", name="Switch on").click()
    await expect(page.get_by_role("button", name="Switch on")).to_be_hidden()
    await page.get_by_role("button", name="Send a test message").click()
    await expect(page.get_by_text("The test message was not delivered")).to_be_visible()
    await expect(page.get_by_text("CONTENTLOG_WEBHOOK_NETWORKS").first).to_be_visible()
    await checked_in_both_themes(page)


@pytest.mark.slow
async def test_the_page_of_a_webhook_follows_its_deliveries(
    session: PageSession, shared: BrowserFixture
) -> None:
    page = await signed_in(session)
    await page.goto(f"{session.origin}/dashboard/webhooks/search")
    details = page.locator("details", has_text="wordswithoutspaces")
    await details.locator("summary").click()
    await page.get_by_label("Replay changes after").fill("2026-")
    late = Outcome(message_id="3", type="entry.created", status=503, error="HTTP 503")
    await Cursors(shared.acme.repository.recorder.fetch).record_test("acme", "search", late)
    await expect(page.get_by_role("row", name="HTTP 503")).to_be_visible()
    assert await details.evaluate("one => one.open")
    await expect(page.get_by_label("Replay changes after")).to_be_focused()
    await expect(page.get_by_label("Replay changes after")).to_have_value("2026-")


async def test_a_user_signs_in_finds_an_entry_and_signs_out(session: PageSession) -> None:
    page = await signed_in(session)
    total = page.locator("#results-heading")
    announcer = page.locator("#announcer")
    await expect(total).to_have_text("32 entries")

    await page.get_by_role("link", name="Next").click()
    await expect(announcer).to_have_text("32 entries, page 2 of 2")
    await expect(page).to_have_url(re.compile(r"\?page=2$"))
    await expect(total).to_be_focused()

    await page.get_by_label("Content type").select_option("posts")
    await expect(total).to_have_text("2 entries")
    await expect(page).to_have_url(re.compile(r"/dashboard/entries\?type=posts$"))
    await expect(page.get_by_role("link", name="CSV")).to_be_visible()
    into = page.get_by_role("link", name="Import", exact=True)
    await expect(into).to_have_attribute("href", "/dashboard/imports/new?type=posts")
    steps = await page.evaluate("history.length")
    for letters in ("HE", "LL"):
        await page.get_by_label("Search", exact=True).type(letters)
        await page.wait_for_url(re.compile(f"search=[A-Z]*{letters}&"))
    assert await page.evaluate("history.length") == steps
    await expect(total).to_have_text("1 entry")
    await expect(page.get_by_label("Search", exact=True)).to_be_focused()
    await expect(page).to_have_url(re.compile(r"\?search=HELL&type=posts$"))
    await page.get_by_label("Show titles in").select_option("fr-FR")
    await expect(page.get_by_text("No entries match")).to_be_visible()
    await page.get_by_label("Search", exact=True).fill("bonj")
    await page.get_by_role("link", name="Bonjour").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("Bonjour")
    await expect(page.get_by_text("Un texte").first).to_be_visible()
    await expect(page.get_by_text("Times are in UTC.")).to_have_count(1)
    await page.get_by_role("link", name=re.compile("^Original")).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Hello")
    await page.get_by_role("link", name="View this version").last.click()
    await expect(page.get_by_text("Past version")).to_be_visible()
    for _ in range(3):
        await page.go_back()
    await expect(total).to_have_text("1 entry")
    await expect(page.get_by_label("Search", exact=True)).to_have_value("bonj")

    await page.get_by_role("link", name="Staging").click()
    await expect(page.get_by_text("No entries yet")).to_be_visible()
    await expect(page).to_have_url(re.compile(r"/dashboard/entries\?environment=staging$"))
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to contentlog")
    await page.goto(f"{session.origin}/dashboard/entries")
    await expect(page.get_by_label("API key")).to_be_focused()


@pytest.mark.slow
async def test_a_thumbnail_is_loaded(session: PageSession) -> None:
    page = await signed_in(session)
    await page.get_by_label("Search", exact=True).fill("Hello")
    await page.get_by_role("link", name="Hello").click()
    await page.wait_for_function("document.querySelector('.thumbnail')?.naturalWidth === 3")


@pytest.mark.slow
async def test_every_page_is_accessible_on_any_screen(session: PageSession) -> None:
    page = session.page
    await page.goto(f"{session.origin}/dashboard/sign-in")
    await checked_in_both_themes(page)
    await signed_in(session)
    await page.get_by_label("Search", exact=True).fill("Hello")
    await page.get_by_role("link", name="Hello").wait_for()
    entry = await page.get_by_role("link", name="Hello").get_attribute("href")
    await page.goto(f"{session.origin}/dashboard/entries")
    await page.set_viewport_size({"width": 1440, "height": 800})
    heights = "[...document.querySelectorAll('.entries tbody tr')].map(row => row.offsetHeight)"
    assert set(await page.evaluate(heights)) == {44}
    await page.locator(".slug").first.evaluate("one => one.textContent = 'a-slug-of-usual-length'")
    for width in (1280, 1100, 900):
        await page.set_viewport_size({"width": width, "height": 800})
        await expect(page.get_by_role("columnheader")).to_have_count(8)
        assert await page.locator(".scroll").evaluate("e => e.scrollWidth - e.clientWidth") == 0
    for path in (
        "/dashboard/entries",
        "/dashboard/entries?type=posts&locale=fr-FR",
        "/dashboard/entries?search=nothing",
        entry,
        f"{entry}?compare=1&with=3",
        "/dashboard/imports",
        "/dashboard/webhooks",
        "/dashboard/webhooks/search",
        "/dashboard/webhooks/search?status=failed",
        "/dashboard/webhooks/off",
        "/dashboard/projections",
        "/dashboard/activity",
        "/dashboard/nothing",
    ):
        await page.goto(f"{session.origin}{path}")
        for width in BOTH_WIDTHS:
            await page.set_viewport_size({"width": width, "height": 800})
            await checked_in_both_themes(page)
    missing = [one for one in session.complaints if "404" in one]
    assert len(missing) == 1, "of the last one"
    session.complaints.remove(missing[0])


@pytest.mark.slow
async def test_an_earlier_version_is_restored(session: PageSession, shared: BrowserFixture) -> None:
    locales = sorted(supported_locales())[:100]
    many = await shared.acme.entry("many", type_slug="changing")
    texts = {locale: Translation(title=locale) for locale in locales}
    await shared.acme.update(many, translations=texts)
    entry = await shared.acme.entry("changing-1", type_slug="changing")
    await shared.acme.update(entry, title="Changed 1")
    page = await signed_in(session)
    await page.get_by_role("link", name="Changed 1").click()
    await page.get_by_role("button", name="Restore this version").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Changing-1")
    await expect(page.locator("#history")).to_contain_text("version 3")
    await page.set_viewport_size({"width": 360, "height": 800})
    await page.goto(f"{session.origin}/dashboard/entries/{many}?locale={locales[-1]}")
    tabs = page.get_by_role("navigation", name="Translations").get_by_role("list")
    assert await tabs.evaluate("one => one.offsetHeight") < 200, "below a quarter of the screen"
    await expect(tabs.get_by_role("link", name=locales[-1])).to_be_in_viewport()


@pytest.mark.slow
async def test_entries_are_kept_up_to_date_where_they_are(
    session: PageSession, shared: BrowserFixture
) -> None:
    first = await shared.acme.entry("live-1", type_slug="live")
    page = await signed_in(session)
    await page.get_by_label("Content type").select_option("live")
    heading = page.locator("#results-heading")
    await expect(heading).to_have_text("1 entry")
    await page.get_by_role("link", name="Live-1").focus()
    await page.evaluate("window.row = document.activeElement.closest('tr')")
    await page.evaluate("getSelection().selectAllChildren(row.querySelector('code'))")
    await page.set_viewport_size({"width": 800, "height": 400})
    for number in range(2, 20):
        await shared.acme.entry(f"live-{number}", type_slug="live")
    await expect(heading).to_have_text("19 entries")
    await page.evaluate("row.scrollIntoView()")
    place_of_row = "row.getBoundingClientRect().top"
    top = await page.evaluate(place_of_row)
    # One entry is published, one created, one deleted.
    await shared.acme.update(first, status="published")
    await expect(page.locator("tr", has_text="Live-1").last).to_contain_text("Published")
    await shared.acme.delete(await shared.acme.entry("live-20", type_slug="live"))
    await shared.acme.entry("live-21", type_slug="live")
    await expect(heading).to_have_text("20 entries")
    assert await page.evaluate("row.isConnected && row.contains(document.activeElement)")
    assert await page.evaluate("getSelection().toString()") == "live-1"
    assert abs(await page.evaluate(place_of_row) - top) < 2
    await page.get_by_role("button", name="Pause updates").click()
    await shared.acme.entry("live-22", type_slug="live")
    await page.get_by_role("button", name="Resume updates").click()
    await expect(heading).to_have_text("21 entries")
    assert "/dashboard/live" in {urlsplit(url).path for url in session.requested_urls}


@pytest.mark.slow
async def test_changes_appear_on_the_activity_page_by_themselves(
    session: PageSession, shared: BrowserFixture
) -> None:
    page = await signed_in(session)
    await page.get_by_role("link", name="Activity").click()
    await page.evaluate("window.kept = true")
    entry = await shared.acme.entry("noticed")
    await expect(page.get_by_role("link", name="Noticed")).to_be_visible()
    await shared.acme.delete(entry)
    await expect(page.locator("#activity tbody tr").first).to_contain_text("Deleted")
    assert await page.evaluate("window.kept")


@pytest.mark.slow
async def test_the_dashboard_works_with_a_keyboard(session: PageSession) -> None:
    page = await signed_in(session)
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#main")).to_be_focused()
    await _tab_to(page, "Search")
    searches: list[Request] = []
    page.on("request", lambda one: searches.append(one) if "hx-request" in one.headers else None)
    await page.keyboard.insert_text("hello")
    await expect(page.locator("#results-heading")).to_have_text("1 entry")
    await _tab_to(page, "Hello")
    # Leaving the field must not search again: that would replace the focused element.
    assert len(searches) == 1
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert await page.evaluate(outline) == "solid", "one sees where one is"
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Hello")


async def _tab_to(page: Page, name: str) -> None:
    here = "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()"
    for _ in range(20):
        await page.keyboard.press("Tab")
        if await page.evaluate(here) == name:
            return
    raise AssertionError(f"{name} cannot be reached")


@pytest.mark.slow
async def test_a_theme_is_chosen_and_kept_and_projections_follow(session: PageSession) -> None:
    page = await signed_in(session)
    ground = "getComputedStyle(document.body).backgroundColor"
    switch = page.get_by_role("button", name=re.compile("^Theme"))
    await page.emulate_media(color_scheme="dark")
    dark = await page.evaluate(ground)
    await switch.click()
    await expect(switch).to_have_accessible_name("Theme: Light. Change")
    assert await page.evaluate(ground) != dark
    await page.get_by_role("link", name="Projections").click()
    await expect(switch).to_have_accessible_name("Theme: Light. Change")
    assert await page.evaluate(ground) != dark
    # The page refreshes itself, and the browser stays on it.
    await page.evaluate("document.getElementById('head').textContent = 'old'")
    await expect(page.locator("#head")).to_have_text(re.compile(r"^\d+$"))
    await expect(page.get_by_text("Up to date")).to_be_visible()
    # A failed response does not stop the refreshes.
    await page.route("**/dashboard/projections", _unavailable)
    await expect(page.locator("[data-stale]")).to_be_visible()
    await page.unroute("**/dashboard/projections")
    await expect(page.locator("[data-stale]")).to_be_hidden()
    await expect(page.get_by_text("Up to date")).to_be_visible()
    session.complaints[:] = [said for said in session.complaints if "503" not in said]
    await page.get_by_role("button", name="Pause updates").click()
    await page.get_by_role("button", name="Resume updates").wait_for()
    # With the colours of the operating system, the current page is marked without a background.
    await page.emulate_media(forced_colors="active")
    current = page.get_by_role("link", name="Projections")
    assert "underline" in await current.evaluate("one => getComputedStyle(one).textDecorationLine")


async def _unavailable(route: Route) -> None:
    await route.fulfill(status=503, content_type="text/html", body="<main id=main>Away</main>")


@pytest.mark.slow
async def test_scripts_are_not_needed(shared: BrowserFixture) -> None:
    context = await shared.browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    page.set_default_timeout(PATIENCE)
    page = await signed_in(PageSession(page, shared.origin))
    await page.get_by_label("Search", exact=True).fill("hello")
    await page.get_by_label("Status").select_option("published")
    await page.get_by_role("button", name="Apply").click()
    await expect(page.locator("#results-heading")).to_have_text("1 entry")
    await expect(page.get_by_label("Search", exact=True)).to_have_value("hello")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("API key")).to_be_visible()
    await context.close()
