"""Security headers, CSRF protection and error pages of the dashboard."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from api.http.default_headers import CONTENT_SECURITY_POLICY
from api.rate_limits.bucket import LimitStatus
from tests.integration.api.dashboard import browser, signed_in
from tests.integration.api.server import Server
from tests.integration.projector.sample_log import ContentBuilder
from write_side.store.conflicts import StoreUnavailable
from write_side.store.recorder import Recorder

pytestmark = pytest.mark.asyncio(loop_scope="module")

SIGN_OUT = "/dashboard/sign-out"
FOREIGN: list[Mapping[str, str]] = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "https://example.com"},
    {"Origin": "null"},
    {"Origin": "http://["},
    {"Referer": "http://["},
    {},
]
_INLINE = re.compile(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", re.I)


async def test_a_form_needs_the_token_of_its_session(server: Server, acme: ContentBuilder) -> None:
    async with signed_in(server) as mine, signed_in(server) as theirs:
        token = await mine.token()
        assert token != await mine.token(), "each page has its own"
        for wrong in ("", "0" * 96, await theirs.token(), token[:-1], token.upper(), "é" * 96):
            answer = await mine.ask("POST", SIGN_OUT, data={"csrf": wrong})
            assert (answer.status, "<h1" in answer.text) == (403, True)
        assert (await mine.ask("POST", SIGN_OUT, data={"csrf": token})).status == 303


async def test_a_form_of_an_earlier_session_links_to_its_page(
    server: Server, acme: ContentBuilder
) -> None:
    async with signed_in(server) as visitor:
        here = str(visitor.session._base_url).rstrip("/")
        for before, leads_to in (
            (f"{here}/dashboard/imports/new?type=posts", ["/dashboard/imports/new?type=posts"]),
            (f"{here}/docs", []),
            ("https://example.com/dashboard/entries", []),
            ("", []),
        ):
            headers = {"Sec-Fetch-Site": "same-origin", "Referer": before}
            answer = await visitor.ask("POST", SIGN_OUT, data={"csrf": "old"}, headers=headers)
            assert (answer.status, "another key" in answer.text) == (403, False)
            assert "Open the form again" in answer.text
            assert re.findall(r'href="([^"]+)">Open the form again<', answer.text) == leads_to


@pytest.mark.parametrize("path", [SIGN_OUT, "/dashboard/sign-in"])
async def test_a_form_of_another_site_is_refused(
    path: str, server: Server, acme: ContentBuilder
) -> None:
    async with signed_in(server) as visitor:
        sent = {"csrf": await visitor.token(), "key": server.secret()}
        for headers in FOREIGN:
            answer = await visitor.ask("POST", path, data=sent, headers=headers)
            assert (answer.status, "another site" in answer.text) == (403, True)
        here = {"Origin": str(visitor.session._base_url).rstrip("/")}
        assert (await visitor.ask("POST", path, data=sent, headers=here)).status == 303


async def test_every_response_has_the_security_headers(
    server: Server, acme: ContentBuilder
) -> None:
    async with browser(server) as visitor:
        answers = [
            await visitor.get("/dashboard/sign-in"),
            await visitor.get("/dashboard"),
            await visitor.get("/dashboard/nothing"),
            await visitor.get("/dashboard/static/htmx.min.js"),
            await visitor.get("/dashboard/static/nothing"),
            await visitor.ask("DELETE", "/dashboard/entries"),
            await visitor.sign_in("a guess"),
            await visitor.sign_in(server.secret()),
            await visitor.get("/dashboard/entries"),
            await visitor.get("/dashboard/nothing"),
        ]
        for answer in answers:
            assert answer.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "same-origin"
            assert answer.headers["X-RateLimit-Limit"]
            assert answer.headers["X-Request-Id"]
        assert "unsafe" not in CONTENT_SECURITY_POLICY
        assert "data:" not in CONTENT_SECURITY_POLICY
        assert "Content-Security-Policy" not in (await visitor.get("/v1/content")).headers


async def test_no_page_has_a_script_or_a_style_in_it(server: Server, acme: ContentBuilder) -> None:
    await acme.content_type()
    entry = await acme.entry("hello", status="published")
    await server.caught_up()
    async with signed_in(server) as visitor:
        for path in (
            "entries",
            f"entries/{entry}",
            "entries/nothing",
            "imports",
            "webhooks",
            "webhooks/nothing",
            "projections",
            "entries?environment=staging",
        ):
            page = await visitor.get(f"/dashboard/{path}")
            assert page.headers["Content-Type"] == "text/html; charset=utf-8"
            assert page.headers["Cache-Control"] == "no-store"
            assert not _INLINE.search(page.text), path


async def test_every_error_is_a_page(server: Server, acme: ContentBuilder) -> None:
    async with signed_in(server) as visitor:
        for method, path, status in (
            ("GET", "/dashboard/nothing", 404),
            ("GET", "/dashboard/entries/nothing/more", 404),
            ("POST", "/dashboard/entries", 404),
            ("GET", "/dashboard/entries?environment=moon", 400),
            ("GET", "/dashboard/entries?environment=staging", 404),
            ("GET", "/dashboard/entries/export.csv?type=nothing", 404),
            ("GET", "/dashboard/webhooks/nothing", 404),
            ("GET", "/dashboard/entries/00000000-0000-7000-8000-000000000000", 404),
        ):
            answer = await visitor.ask(method, path)
            assert answer.status == status, path
            assert "<h1" in answer.text
            assert "Sign out" in answer.text


async def test_a_method_that_no_page_has_is_405_without_a_session(server: Server) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        for path in ("/dashboard/entries", "/dashboard/nothing", SIGN_OUT):
            answer = await server.client(None).ask(method, path)
            assert (answer.status, "<h1" in answer.text) == (405, True), (method, path)
            assert answer.headers["Allow"] == "GET,HEAD,POST"


async def test_an_unavailable_database_is_a_page_too(
    server: Server, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise StoreUnavailable("away")

    async with signed_in(server) as visitor:
        monkeypatch.setattr(Recorder, "fetch", away)
        answer = await visitor.get("/dashboard/entries")
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        assert "Nothing is lost" in answer.text


async def test_the_page_shows_that_staging_is_not_in_the_plan(server: Server) -> None:
    await server.workspace("basic")
    async with signed_in(server, "secret-of-basic") as visitor:
        assert "not in your plan" in (await visitor.get("/dashboard/entries")).text
        answer = await visitor.get("/dashboard/entries?environment=staging")
        assert (answer.status, "plan" in answer.text) == (402, True)


async def test_pages_count_against_the_address_and_not_the_key(
    server: Server, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def is_over(*_: object) -> LimitStatus:
        return LimitStatus(passed=False, limit=1, remaining=0, reset=1_769_851_860, wait=7)

    async with signed_in(server) as visitor:
        monkeypatch.setattr(server.service.limits, "count_key", is_over)
        assert (await visitor.get("/dashboard/entries")).status == 200
        monkeypatch.setattr(server.service.limits, "count_address", is_over)
        for path in ("entries", "sign-in", "projections"):
            answer = await visitor.get(f"/dashboard/{path}")
            assert (answer.status, answer.headers["Retry-After"]) == (429, "7")
            assert "<h1" in answer.text
        assert (await visitor.get("/dashboard/static/theme.js")).status == 200


async def test_static_files_are_our_own_and_cached_by_the_browser(
    server: Server, acme: ContentBuilder
) -> None:
    async with browser(server) as visitor:
        page = await visitor.get("/dashboard/sign-in")
        files = re.findall(r'(?:src|href)="(/dashboard/static/[^"]+)"', page.text)
        assert len(files) == len(re.findall(r"(?:src|href)=", page.text)) >= 6
        for file in files:
            answer = await visitor.get(file)
            assert answer.status == 200
            assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        for name in ("README.md", "..%2Fpages.py", "htmx.LICENSE.txt", "%00"):
            answer = await visitor.get(f"/dashboard/static/{name}")
            assert (answer.status, "<h1" in answer.text) == (404, True), "a page, as elsewhere"
