"""Checks the dashboard's pages in a real browser with axe-core."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Page, expect

from tests.e2e.browser import PATIENCE, PageSession
from tests.integration.api.server import ACME

expect.set_options(timeout=PATIENCE)

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text("utf-8")
# The browser's debugger evaluates this script, so the page's CSP stays in force.
_RUN = f"""async () => {{
    if (!window.axe) {{ {AXE} }}
    const {{ violations }} = await window.axe.run(document, {{ resultTypes: ["violations"] }});
    return violations.map(({{ id, impact, nodes }}) => ({{
        id, impact, nodes: nodes.map(node => `${{node.target}}: ${{node.failureSummary}}`)
    }}));
}}"""
_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def signed_in(session: PageSession, secret: str = ACME) -> Page:
    """Requests the entries page and signs in with the form."""
    page = session.page
    await page.goto(f"{session.origin}/dashboard/entries")
    await page.get_by_label("API key").fill(secret)
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("heading", name="Entries", exact=True).wait_for()
    return page


async def violations(page: Page) -> list[Any]:
    """Returns axe-core's serious and critical findings for the current page, and landmarks that
    share a name."""
    found = await page.evaluate(_RUN)
    grave = ("serious", "critical")
    return [one for one in found if one["impact"] in grave or one["id"] == "landmark-unique"]


async def checked_in_both_themes(page: Page) -> None:
    """Checks in both themes that the page is accessible and no wider than the window."""
    await checked(page, "light")
    await checked(page, "dark")


async def checked(page: Page, theme: Literal["light", "dark"]) -> None:
    """Checks one theme."""
    # Without transitions, axe-core sees the final colours.
    await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    assert await violations(page) == [], (page.url, theme)
    await fits(page)


async def fits(page: Page) -> None:
    """Checks that the page is no wider than the window."""
    assert await page.evaluate(_OVERFLOW) == 0, page.url
