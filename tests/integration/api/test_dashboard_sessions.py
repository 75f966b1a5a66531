"""Dashboard sessions: sign-in, expiry, and keeping secrets secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import Any

import pytest

from tests.integration.api.dashboard import HERE, Browser, browser, signed_in
from tests.integration.api.server import ACME, Server, room, serving
from tests.integration.live_projector import connected, until
from tests.integration.projector.sample_log import ContentBuilder
from write_side import commands as c
from write_side.repository import Repository

SIGN_IN = "/dashboard/sign-in"


async def execute(server: Server, sql: str) -> list[dict[str, Any]]:
    async with connected(server.url) as connection:
        return [dict(row) for row in await connection.fetch(sql)]


async def is_signed_in(visitor: Browser) -> bool:
    return (await visitor.get("/dashboard/entries")).status == 200


async def leads_to_sign_in(visitor: Browser) -> bool:
    answer = await visitor.get("/dashboard/entries")
    return answer.status == 303 and answer.headers["Location"].startswith(SIGN_IN)


async def test_a_session_is_a_cookie_for_the_dashboard_only(
    server: Server, acme: ContentBuilder
) -> None:
    async with browser(server) as visitor:
        assert await leads_to_sign_in(visitor)
        answer = await visitor.sign_in(ACME)
        [cookie] = SimpleCookie(answer.headers["Set-Cookie"]).values()
        assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (
            "/dashboard",
            True,
            "Lax",
        )
        assert not cookie["secure"]
        assert await is_signed_in(visitor)
        assert (await visitor.get(SIGN_IN)).headers["Location"] == "/dashboard/entries"
        headers = {"Origin": "https://cms.example.com", "Sec-Fetch-Site": "same-origin"}
        answer = await visitor.ask("POST", SIGN_IN, data={"key": ACME}, headers=headers)
        [cookie] = SimpleCookie(answer.headers["Set-Cookie"]).values()
        assert cookie["secure"], "the browser used https, even if the proxy does not"


@pytest.mark.parametrize(("trusted", "secure"), [("127.0.0.1", True), ("10.0.0.1", False)])
async def test_the_cookie_is_secure_if_a_trusted_proxy_uses_https(
    trusted: str, secure: bool, database_url: str, repository: Repository
) -> None:
    async with serving(database_url, repository, trusted_proxies=trusted) as server:
        await server.workspace()
        async with browser(server) as visitor:
            headers = {"X-Forwarded-Proto": "https", "Sec-Fetch-Site": "same-origin"}
            answer = await visitor.ask("POST", SIGN_IN, data={"key": ACME}, headers=headers)
            [cookie] = SimpleCookie(answer.headers["Set-Cookie"]).values()
            assert bool(cookie["secure"]) is secure


async def test_an_unknown_key_is_refused(server: Server, acme: ContentBuilder) -> None:
    async with browser(server) as visitor:
        for secret in ("", " ", "another-key", "secret-of-acm\x00", "€"):
            answer = await visitor.sign_in(secret)
            assert (answer.status, visitor.cookie) == (403, "")
            assert 'autofocus aria-invalid="true"' in answer.text, "its error is read aloud"
            assert not secret.strip() or "does not exist, has expired or was revoked" in answer.text
            assert not secret.strip() or secret not in answer.text
        assert await leads_to_sign_in(visitor)


async def test_nothing_secret_is_kept_or_logged(
    server: Server, acme: ContentBuilder, logged: Callable[[Any], Callable[[], str]]
) -> None:
    read = logged("json")
    async with signed_in(server) as visitor:
        token = visitor.cookie
        pages = [await visitor.get(f"/dashboard/{name}") for name in ("entries", "projections")]
        [kept] = await execute(
            server, "SELECT *, encode(token_hash, 'hex') AS hex FROM write_side.dashboard_session"
        )
    assert len(kept["token_hash"]) == 32
    everywhere = [str(kept), read(), *(page.text + str(page.headers) for page in pages)]
    assert "/dashboard/sign-in" in everywhere[1]
    for text in everywhere:
        assert token not in text
        assert ACME not in text.replace(f"Key: {ACME}", "")  # the key's name is the same text


async def test_sign_in_begins_a_new_session_and_sign_out_ends_it(
    server: Server, acme: ContentBuilder
) -> None:
    async with signed_in(server) as visitor:
        first = visitor.cookie
        await visitor.sign_in(ACME)
        second = visitor.cookie
        assert first != second
        visitor.session.cookie_jar.clear()
        assert not await is_signed_in_with(visitor, first)
        assert await is_signed_in_with(visitor, second)
        answer = await visitor.post("/dashboard/sign-out", {})
        assert answer.headers["Location"] == SIGN_IN
        [gone] = SimpleCookie(answer.headers["Set-Cookie"]).values()
        assert (gone.value, gone["max-age"], gone["path"]) == ("", "0", "/dashboard")
        assert not await is_signed_in_with(visitor, second)
    assert await execute(server, "SELECT 1 FROM write_side.dashboard_session") == []


async def is_signed_in_with(visitor: Browser, token: str) -> bool:
    visitor.session.cookie_jar.update_cookies({"contentlog_session": token})
    return await is_signed_in(visitor)


ENDED = f"{SIGN_IN}?next=%2Fdashboard%2Fentries%3Fstatus%3Ddraft&ended=1"
LONG_AGO = """
UPDATE write_side.dashboard_session SET began_at = now() - interval '12 hours 1 second'"""
NOT_LATELY = """
UPDATE write_side.dashboard_session SET seen_at = now() - interval '2 hours 1 second'"""


async def test_a_session_expires_and_is_deleted(server: Server, acme: ContentBuilder) -> None:
    for passed in (LONG_AGO, NOT_LATELY):
        async with signed_in(server) as visitor:
            await execute(server, passed)
            answer = await visitor.get("/dashboard/entries?status=draft")
            assert answer.headers["Location"] == ENDED
            partial = await visitor.get("/dashboard/entries", headers={"HX-Request": "true"})
            assert (partial.status, partial.headers["HX-Redirect"][:18]) == (204, SIGN_IN)
            assert "has ended" in (await visitor.get(ENDED)).text
            here = str(visitor.session._base_url).rstrip("/")
            sent_from = f"{here}/dashboard/entries?status=draft"
            headers = {**HERE, "Referer": sent_from}
            form = await visitor.ask("POST", "/dashboard/imports/x/run", headers=headers, data={})
            assert form.headers["Location"] == ENDED, "sign-in leads back to the page of the form"
        async with signed_in(server):
            assert len(await execute(server, "SELECT 1 FROM write_side.dashboard_session")) == 1


async def test_a_page_that_refreshes_itself_does_not_keep_the_session(
    server: Server, acme: ContentBuilder
) -> None:
    old = "UPDATE write_side.dashboard_session SET seen_at = now() - interval '1 hour'"
    kept = "SELECT now() - seen_at > interval '59 minutes' AS old FROM write_side.dashboard_session"
    async with signed_in(server) as visitor:
        await execute(server, old)
        await visitor.get("/dashboard/projections", headers={"X-Refresh": "true"})
        async with visitor.session.get("/dashboard/live"):
            pass
        assert await execute(server, kept) == [{"old": True}]
        await visitor.get("/dashboard/imports")
        assert await execute(server, kept) == [{"old": False}]


async def test_sign_in_leads_to_a_page_that_the_key_may_see(server: Server) -> None:
    await server.workspace(permissions=("service.view",))
    async with browser(server) as visitor:
        start = "/dashboard/projections"
        for answer in (
            await visitor.sign_in(ACME),
            await visitor.get(SIGN_IN),
            await visitor.get("/dashboard"),
        ):
            assert (answer.status, answer.headers["Location"]) == (303, start)
        page = (await visitor.get(start)).text
        assert "The other pages need a key with the permission content.view" in page
        refused = await visitor.get("/dashboard/entries")
        assert refused.status == 403
        led_to = re.findall(r'<a [^>]*href="/dashboard/([^"?]+)', refused.text)
        assert set(led_to) == {"projections"}, "nothing is offered that it may not see"


async def test_sign_in_leads_to_the_environment_of_the_key(server: Server) -> None:
    acme = await server.workspace(staging=True)
    await acme.staging()
    await server.key("of-staging", "acme", environment="staging")
    async with browser(server) as visitor:
        start = "/dashboard/entries?environment=staging"
        for answer in (
            await visitor.sign_in("of-staging"),
            await visitor.get(SIGN_IN),
            await visitor.get("/dashboard"),
        ):
            assert (answer.status, answer.headers["Location"]) == (303, start)
        # A bookmark that names no environment, which means production.
        for address in (start, "/dashboard/entries"):
            page = await visitor.get(address)
            assert page.status == 200
            assert "not for this key" in page.text
        refused = await visitor.get("/dashboard/entries?environment=production")
        assert refused.status == 403
        assert f'href="{start}"' in refused.text
        assert "Entries in staging" in refused.text
        led_to = set(re.findall(r'<a [^>]*href="(/dashboard/[^"]*)"', page.text))
        production = {link for link in led_to if "environment=staging" not in link}
        assert production == {"/dashboard/entries?environment=production"}, "the switch alone"


async def test_a_session_has_the_current_permissions_of_its_key(
    server: Server, acme: ContentBuilder
) -> None:
    async with signed_in(server) as visitor:
        await acme.execute(c.PermitKey, workspace="acme", name=ACME, permissions=("content.edit",))
        await until(lambda: _is_refused(visitor))  # keys are cached for up to a second
        assert "content.view" in (await visitor.get("/dashboard/entries")).text
        await acme.revoke(ACME)
        await until(lambda: leads_to_sign_in(visitor))
        # A new key with the same name and secret does not restore the session.
        await server.key(ACME, "acme")
        assert await leads_to_sign_in(visitor)


async def _is_refused(visitor: Browser) -> bool:
    return (await visitor.get("/dashboard/entries")).status == 403


async def test_every_process_knows_a_session(
    server: Server, acme: ContentBuilder, repository: Repository
) -> None:
    async with (
        signed_in(server) as visitor,
        serving(server.url, repository, projector=False) as other,
        browser(other) as elsewhere,
    ):
        assert await is_signed_in_with(elsewhere, visitor.cookie)


async def test_sign_in_attempts_have_a_stricter_limit_than_pages(
    server: Server, acme: ContentBuilder
) -> None:
    await room()
    async with browser(server) as visitor:
        for _ in range(20):
            answer = await visitor.sign_in("a guess")
            if answer.status != 403:
                break
        assert answer.status == 429
        assert int(answer.headers["Retry-After"]) >= 1
        assert "<h1" in answer.text
        headers = {"Referer": f"{server.origin}{SIGN_IN}?next=x", **HERE}
        again = await visitor.ask("POST", SIGN_IN, data={"key": ACME}, headers=headers)
        assert (again.status, again.text.count(f'href="{SIGN_IN}')) == (429, 1)
        assert (await visitor.get(SIGN_IN)).status == 200


ENTRIES = "/dashboard/entries"
LEADS = {
    "/dashboard/imports?environment=staging": "/dashboard/imports?environment=staging",
    "https://example.com/dashboard/": ENTRIES,
    "//example.com/dashboard/": ENTRIES,
    "/dashboard/\\example.com": ENTRIES,
    "/dashboard/\r\nSet-Cookie: a=b": ENTRIES,
    "/docs": ENTRIES,
}


async def test_sign_in_leads_to_the_requested_page(server: Server, acme: ContentBuilder) -> None:
    async with browser(server) as visitor:
        for wanted, leads_to in LEADS.items():
            answer = await visitor.sign_in(ACME, next=wanted)
            assert answer.headers["Location"] == leads_to
