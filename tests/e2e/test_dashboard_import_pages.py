"""The import wizard in a real browser: with a mouse, with only a keyboard, and without scripts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from functools import partial

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, Route, expect

from api.dashboard.templates import ENVIRONMENT
from api.dashboard.wizard import columns_step
from tests.e2e.browser import PATIENCE, BrowserFixture, PageSession, opened_page, server_and_browser
from tests.e2e.pages import checked, checked_in_both_themes, fits, signed_in
from tests.integration.api.server import Server
from tests.integration.projector.sample_log import ContentBuilder, raws
from tests.workbooks import workbook
from write_side.domain.definition import Field, Option

pytestmark = pytest.mark.asyncio(loop_scope="module")

LONG_FIELD = "category" * 20
FIELDS = (
    Field("body", "Body", "text", required=True),
    Field("views", "Views", "number"),
    Field(
        "category", LONG_FIELD, "select", options=(Option("news", "News"), Option("howto", "How"))
    ),
    Field("author", "Author", "reference", to=("authors",)),
)
HEADINGS = ("Title", "Slug", "Status", "Body", "Views", "Category", "Author", "Remarks")
WRONG = (
    ("Fresh", "", "published", "A text", "1,000", "news", "ada", "x"),
    ("Known", "known", "", "A new text", "12,34", "news", "ada", ""),
    ("Lost", "lost", "published", "", "3", "sports", "nobody", ""),
)
RIGHT = (
    *WRONG[:1],
    ("Known", "known", "", "A new text", "1,234", "news", "ada", ""),
    ("Lost", "lost", "published", "Found", "3", "howto", "ada", ""),
)
LONG_NAME = f"{'posts' * 30}.xlsx"
_DROP = """async (zone, [name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name, { type: "text/csv" }));
    const isTaken = ["dragenter", "dragover", "drop"].map((kind) => {
        const given = { dataTransfer: data, bubbles: true, cancelable: true };
        return !zone.dispatchEvent(new DragEvent(kind, given));
    });
    return isTaken.every((one) => one);
}"""
_OURS = (
    *("Failed to load resource", "Response Status Error Code"),
    *("htmx:afterRequest", "htmx:sendError", "htmx:sendAbort"),
)
"""The browser's messages for an error response, and for a request without a response."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_database_url: str) -> AsyncIterator[BrowserFixture]:
    async with server_and_browser(module_database_url, _magazine) as shared:
        yield shared


@pytest_asyncio.fixture(loop_scope="module")
async def session(shared: BrowserFixture) -> AsyncIterator[PageSession]:
    async with opened_page(shared.browser, shared.origin) as session:
        yield session
        assert [said for said in session.complaints if not said.startswith(_OURS)] == []
        assert session.external_requests == []


async def _magazine(server: Server) -> ContentBuilder:
    await server.workspace("other")
    acme = await server.workspace(staging=True)
    await acme.content_type(Field("bio", "Bio", "text"), slug="authors")
    await acme.content_type(*FIELDS)
    await acme.entry("ada", type_slug="authors", status="published")
    await acme.entry("known", fields=raws(body="An old text", views=7))
    await server.caught_up()
    return acme


def _csv(*rows: Sequence[str]) -> str:
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in (HEADINGS, *rows))


def _xlsx(*rows: Sequence[str]) -> bytes:
    return workbook(
        "".join(
            f'<row r="{number}">'
            + "".join(
                f'<c r="{chr(65 + index)}{number}" t="inlineStr"><is><t>{cell}</t></is></c>'
                for index, cell in enumerate(row)
            )
            + "</row>"
            for number, row in enumerate((HEADINGS, *rows), 1)
        )
    )


async def _is_well_made(page: Page) -> None:
    """Checks the page in both themes, and on a small screen."""
    await checked_in_both_themes(page)
    await page.set_viewport_size({"width": 360, "height": 800})
    await checked(page, "dark")
    await page.set_viewport_size({"width": 1280, "height": 800})


async def _fits_a_small_screen(page: Page) -> None:
    await page.set_viewport_size({"width": 360, "height": 800})
    await fits(page)
    await page.set_viewport_size({"width": 1280, "height": 800})


async def _hold_request(going: asyncio.Event, route: Route) -> None:
    await going.wait()
    await route.continue_()


def _error_page(status: int, message: str) -> str:
    page = {"status": status, "message": message, "request_id": "one-2"}
    template = ENVIRONMENT.get_template("error_signed_out.html")
    return template.render(**page, is_stale=False, form="")


async def _at(page: Page, step: str) -> None:
    await expect(page.locator('.stepper [aria-current="step"]')).to_have_text(re.compile(step))


def _column(page: Page, letter: str) -> Locator:
    return page.get_by_role("combobox", name=re.compile(f"Column {letter},"))


async def _weight(page: Page, letter: str) -> int:
    """The font weight of the column's heading."""
    heading = "one.closest('tr').querySelector('strong')"
    return int(
        await _column(page, letter).evaluate(f"one => getComputedStyle({heading}).fontWeight")
    )


@pytest.mark.slow
async def test_a_dropped_file_is_corrected_imported_and_reverted(
    session: PageSession, shared: BrowserFixture
) -> None:
    page = await signed_in(session)
    await page.get_by_role("link", name="Imports", exact=True).click()
    await page.get_by_role("link", name="Import a file").click()
    await _at(page, "Upload")
    await _is_well_made(page)
    await page.get_by_label("Content type").select_option("posts")
    zone = page.locator("[data-drop-zone]")
    beside = page.get_by_role("heading", level=1)
    assert await beside.evaluate(_DROP, ["posts.csv", ""]), "the browser does not open it"
    await zone.evaluate(_DROP, ["notes.txt", "no table"])
    await expect(page.locator("#announcer")).to_contain_text("it does not end in .csv or .xlsx")
    await zone.evaluate(_DROP, ["notes.CSV", "PK\x03\x04"])
    await expect(page.locator("#announcer")).to_contain_text("notes.CSV (1 kB)")
    await page.get_by_role("button", name="Upload").click()
    await expect(page.get_by_role("alert")).to_contain_text("notes.CSV is a workbook")
    await expect(page.get_by_label("Content type")).to_have_value("posts")
    await zone.evaluate(_DROP, ["posts.csv", _csv(*WRONG)])
    await page.get_by_role("button", name="Upload").click()

    await _at(page, "Columns")
    await expect(_column(page, "E")).to_have_value("views")
    await expect(_column(page, "H")).to_have_value("")
    await _column(page, "D").select_option("")
    await expect(page.get_by_text("Body: choose a column")).to_be_visible()
    weight = await _weight(page, "H")
    await _column(page, "H").select_option("views")
    assert await _weight(page, "H") > weight, "an unmapped column is grey"
    await expect(page.get_by_text("Also chosen for column E")).to_be_visible()
    await expect(_column(page, "H")).to_have_attribute("aria-invalid", "true")
    await page.get_by_role("button", name="Check 3 rows").click()
    await expect(page.get_by_role("alert")).to_contain_text("No column is mapped to Body")
    await expect(page.get_by_text("Also chosen for column E")).to_be_visible()
    await _is_well_made(page)
    await _column(page, "D").select_option("body")
    await _column(page, "H").select_option("")
    await page.get_by_label("Update entries whose slug already exists").check()
    await page.get_by_label("Save this mapping").check()
    await page.get_by_role("button", name="Check 3 rows").click()

    await _at(page, "Preview")
    await expect(page.get_by_role("heading", name="2 rows have errors")).to_be_visible()
    await expect(page.get_by_role("button", name="Import 1 row, leave out 2")).to_be_enabled()
    await _is_well_made(page)
    await page.get_by_role("link", name="Errors 2").click()
    await expect(page.locator("#announcer")).to_have_text("2 rows, page 1 of 1")
    problem = page.get_by_role("cell", name="Views takes a number")
    await expect(problem).to_have_class(re.compile("problem"))
    await page.set_viewport_size({"width": 1000, "height": 800})
    row = "one => [one.scrollLeft = 300, one.querySelector('td').offsetLeft - one.scrollLeft]"
    assert await page.locator(".tall").evaluate(row) == [300, 0], "its number is visible"

    await page.get_by_role("link", name="Upload a corrected file").click()
    await zone.evaluate(_DROP, ["posts.csv", _csv(*RIGHT)])
    await page.get_by_role("button", name="Upload").click()
    await _at(page, "Columns")
    await expect(page.get_by_text("From the saved mapping")).to_have_count(8)
    await page.get_by_label("Update entries whose slug already exists").check()
    await page.get_by_role("button", name="Check 3 rows").click()
    await _at(page, "Preview")
    await expect(page.locator("del", has_text="An old text")).to_be_visible()
    await page.get_by_role("button", name="Import 2 rows and update 1 entry").dblclick()

    await _at(page, "Result")
    await expect(page.get_by_role("heading", name="Import of posts.csv")).to_be_visible()
    await _is_well_made(page)
    await page.go_back()
    await _at(page, "Result")
    await page.get_by_role("link", name="fresh").click()
    await page.get_by_role("heading", name="Fresh").wait_for()
    await page.go_back()
    await page.get_by_role("button", name="Revert…").click()
    dialog = page.get_by_role("dialog", name="Revert this import?")
    await expect(dialog).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await page.get_by_role("button", name="Revert…").click()
    await page.context.set_offline(offline=True)
    await dialog.get_by_role("button", name="Revert the import").click()
    await expect(page.get_by_role("alert")).to_contain_text("The service cannot be reached")
    await expect(dialog).to_be_hidden()
    await page.context.set_offline(offline=False)
    await page.get_by_role("button", name="Revert…").click()
    going = asyncio.Event()
    await page.route("**/revert", partial(_hold_request, going))
    revert = dialog.get_by_role("button", name="Revert the import")
    await revert.click()
    await expect(revert).to_be_disabled()
    going.set()
    await expect(page.get_by_role("heading", name="Reverted")).to_be_focused()
    await expect(page.get_by_text("2 entries were deleted, 1 entry was restored")).to_be_visible()
    await _is_well_made(page)
    await page.get_by_role("link", name="Imports", exact=True).first.click()
    await expect(page.get_by_role("row", name=re.compile("posts.csv Reverted"))).to_be_visible()
    await _is_well_made(page)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (502, "<h1>502 Bad Gateway</h1><hr>nginx", "502 Bad Gateway"),
        (413, "<h1>413 Request Entity Too Large</h1>", "413 Request Entity Too Large"),
        (504, "", "Error 504"),
        (503, _error_page(503, ""), "Temporarily unavailable. Request ID one-2"),
        (
            429,
            _error_page(429, "Retry in 9 seconds"),
            "Too many requests. Retry in 9 seconds",
        ),
    ],
)
async def test_a_form_that_fails_keeps_its_input(
    session: PageSession, status: int, body: str, said: str
) -> None:
    page = await signed_in(session)
    await page.goto(f"{session.origin}/dashboard/imports/new?type=posts")
    file = {"name": "posts.csv", "mimeType": "text/csv", "buffer": _csv(*RIGHT).encode()}
    await page.get_by_label("A CSV or Excel file").set_input_files(file)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Upload").press("Enter")
    await _column(page, "E").select_option("")
    check = page.get_by_role("button", name="Check 3 rows")
    async with page.expect_response("**/columns"):
        await _column(page, "D").select_option("views")
    await page.route("**/columns", lambda it: it.fulfill(status=status, body=body))
    await check.press("Enter")
    await expect(page.get_by_role("alert").locator("strong")).to_have_text(said)
    await expect(_column(page, "D")).to_have_value("views")
    await expect(check).to_be_focused()
    await fits(page)
    await page.unroute("**/columns")
    await _column(page, "D").select_option("body")
    await check.press("Enter")
    await _at(page, "Preview")


@pytest.mark.slow
async def test_a_form_is_sent_again_after_signing_in_in_another_tab(session: PageSession) -> None:
    page = await signed_in(session)
    await page.goto(f"{session.origin}/dashboard/imports/new?type=posts")
    file = {"name": "posts.csv", "mimeType": "text/csv", "buffer": _csv(*RIGHT).encode()}
    await page.get_by_label("A CSV or Excel file").set_input_files(file)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Upload").click()
    await _at(page, "Columns")
    other = PageSession(await page.context.new_page(), session.origin)
    await other.page.goto(f"{session.origin}/dashboard/entries")
    await other.page.get_by_role("button", name="Sign out").click()
    await other.page.get_by_label("API key").wait_for()
    await _column(page, "E").select_option("")
    failure = page.get_by_role("alert")
    await expect(failure).to_contain_text("Your session has ended")
    async with page.expect_popup() as opened:
        await failure.get_by_role("link", name="Sign in in a new tab").click()
    other = PageSession(await opened.value, session.origin)
    await signed_in(other)
    check = page.get_by_role("button", name="Check 3 rows")
    await check.press("Enter")
    await expect(failure.locator("strong")).to_have_text("You have signed in again")
    await expect(check).to_be_focused()
    await check.press("Enter")
    await _at(page, "Preview")
    await page.context.set_offline(offline=True)
    await page.get_by_role("link", name=re.compile("^All")).click()
    await expect(failure).to_have_text(re.compile("cannot be reached[^.]*Try again in a moment"))
    await page.context.set_offline(offline=False)
    await page.get_by_role("link", name="Back to columns").click()
    await expect(_column(page, "E")).to_have_value("")


@pytest.mark.slow
async def test_required_fields_are_those_of_the_last_choices(
    session: PageSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = await signed_in(session)
    await page.goto(f"{session.origin}/dashboard/imports/new?type=posts")
    file = {"name": "posts.csv", "mimeType": "text/csv", "buffer": _csv(*RIGHT).encode()}
    await page.get_by_label("A CSV or Excel file").set_input_files(file)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Upload").click()
    held: list[Route] = []
    await page.route("**/columns", lambda it: it.continue_() if held else held.append(it))
    await _column(page, "E").select_option("")
    async with page.expect_event("requestfailed"):
        await _column(page, "D").select_option("")
    await expect(page.get_by_text("Body: choose a column")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("Body: mapped")).to_be_visible()
    await _column(page, "D").select_option("")
    await page.get_by_role("link", name="Activity").click()
    await page.get_by_role("heading", name="Activity", exact=True).wait_for()
    await page.go_back()
    await expect(page.get_by_text("Body: choose a column")).to_be_visible()
    await expect(_column(page, "D")).to_have_value("")
    monkeypatch.setattr(columns_step, "MAX_OPTIONS", 0)
    await page.goto(page.url)
    await expect(page.get_by_text("Body: mapped")).to_be_visible()
    await _column(page, "D").fill("")
    await page.get_by_role("link", name="Activity").click()
    await page.get_by_role("heading", name="Activity", exact=True).wait_for()
    await page.go_back()
    await expect(_column(page, "D")).to_have_value("")
    await expect(page.get_by_text("Body: choose a column")).to_be_visible()


@pytest.mark.slow
async def test_a_page_never_mixes_two_workspaces(session: PageSession) -> None:
    """After the user has signed in to another workspace in another tab."""
    page = await signed_in(session)
    await page.goto(f"{session.origin}/dashboard/imports/new?type=posts")
    file = {"name": "posts.csv", "mimeType": "text/csv", "buffer": _csv(*RIGHT).encode()}
    await page.get_by_label("A CSV or Excel file").set_input_files(file)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Upload").click()
    await _column(page, "E").select_option("")
    entries = await page.context.new_page()
    await entries.goto(f"{session.origin}/dashboard/entries")
    other = PageSession(await page.context.new_page(), session.origin)
    await other.page.goto(f"{session.origin}/dashboard/imports")
    await other.page.get_by_role("button", name="Sign out").click()
    await other.page.get_by_label("API key").wait_for()
    await signed_in(other, "secret-of-other")

    await page.get_by_role("button", name="Check 3 rows").click()
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("You have signed in to another workspace")
    await expect(alert).to_contain_text("Sign in to the previous workspace")
    await expect(_column(page, "E")).to_have_value("")
    await entries.get_by_label("Status").select_option("draft")
    await expect(entries.locator(".bar")).to_contain_text("secret-of-other")
    await expect(entries).to_have_url(re.compile(r"\?status=draft$"))


@pytest.mark.slow
async def test_a_workbook_is_imported_by_keyboard_while_content_changes(
    session: PageSession, shared: BrowserFixture
) -> None:
    page = await signed_in(session)
    await page.goto(f"{session.origin}/dashboard/imports/new?type=posts")
    file = {"name": LONG_NAME, "mimeType": "application/zip", "buffer": _xlsx(*WRONG)}
    chosen = page.get_by_label("A CSV or Excel file")
    zone = page.locator("[data-most-bytes]")
    limit = await zone.get_attribute("data-most-bytes")
    await zone.evaluate("zone => zone.dataset.mostBytes = 10")
    await chosen.set_input_files(file)  # type: ignore[arg-type]
    await expect(page.locator("[data-file-name]")).to_contain_text("larger than")
    assert not await chosen.evaluate("input => input.form.checkValidity()"), "it is not sent"
    await zone.evaluate("(zone, limit) => zone.dataset.mostBytes = limit", limit)
    await chosen.set_input_files(file)  # type: ignore[arg-type]
    await _fits_a_small_screen(page)
    await page.get_by_role("button", name="Upload").press("Enter")
    await expect(page.get_by_role("heading", name="Columns of posts")).to_be_focused()
    await _fits_a_small_screen(page)
    sheet = page.get_by_label("Sheet")
    await expect(sheet).to_be_hidden()
    await page.locator("summary", has_text="Read as").press("Enter")
    await expect(sheet).to_be_visible()
    await expect(sheet).to_have_value("One")
    await page.context.set_offline(offline=True)
    await page.get_by_role("button", name="Check 3 rows").press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("nothing is done twice")
    await page.context.set_offline(offline=False)
    await page.get_by_role("button", name="Check 3 rows").press("Enter")
    await _at(page, "Preview")
    await expect(page.get_by_role("alert")).to_be_hidden()
    await expect(page.get_by_role("heading", name="1 row has errors")).to_be_focused()
    await _fits_a_small_screen(page)
    heading = page.get_by_role("columnheader", name=LONG_FIELD)
    assert await heading.evaluate("one => one.offsetWidth") < 400
    assert await heading.evaluate("one => one.offsetHeight") < 150
    button = page.get_by_role("button", name="Import 1 row, leave out 1 with errors")
    await expect(page.get_by_text("1 row is skipped because its slug exists")).to_be_visible()
    await shared.acme.entry("fresh")
    await button.press("Enter")
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("Row 2: New is now Skipped")
    await expect(page).to_have_url(re.compile("/preview$"))
    await expect(page.get_by_role("button", name="Nothing to import")).to_be_disabled()
    await expect(page.get_by_text("No row is ready")).to_be_visible()
    await _is_well_made(page)

    await page.get_by_role("link", name="Back to columns").press("Enter")
    await page.get_by_label("Update entries whose slug already exists").press("Space")
    await page.get_by_role("button", name="Check 3 rows").press("Enter")
    await _at(page, "Preview")
    await page.get_by_role("button", name="Update 1 entry, leave out 2 with errors").press("Enter")
    await _at(page, "Result")
    await expect(page.locator("tr.error")).to_have_count(2)


@pytest.mark.slow
async def test_the_import_works_without_scripts(shared: BrowserFixture) -> None:
    context = await shared.browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    page.set_default_timeout(PATIENCE)
    page = await signed_in(PageSession(page, shared.origin))
    await page.goto(f"{shared.origin}/dashboard/imports/new")
    await page.get_by_label("Content type").select_option("posts")
    text = _csv(("Plain", "plain", "", "Text", "1", "", "", "")).replace(",", ";")
    file = {"name": "plain.csv", "mimeType": "text/csv", "buffer": text.encode()}
    await page.get_by_label("A CSV or Excel file").set_input_files(file)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Upload").click()
    await _at(page, "Columns")
    await page.get_by_role("button", name="Check 1 row").click()
    await _at(page, "Preview")
    await page.get_by_role("link", name="New 1").click()
    await page.get_by_role("button", name="Import 1 row").click()
    await _at(page, "Result")
    await page.get_by_role("link", name="Revert…").click()
    await page.get_by_role("button", name="Revert the import").click()
    await expect(page.get_by_text("1 entry was deleted")).to_be_visible()
    await context.close()
