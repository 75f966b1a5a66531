"""The webhooks page: endpoints, their deliveries, and the available actions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest

from api.webhooks.operations import WebhookOperations
from tests.integration.api.dashboard import Browser, signed_in
from tests.integration.api.deliveries import (
    LOOPBACK,
    create_webhook,
    deliveries,
    delivering,
    webhook,
)
from tests.integration.api.hook_server import HookServer, answer, hook_server
from tests.integration.api.server import Server, serving
from tests.integration.live_projector import connected, until
from tests.integration.projector.sample_log import ContentBuilder
from write_side import commands as c
from write_side.repository import Repository

PAGE = "/dashboard/webhooks"


@pytest.fixture
async def server(database_url: str, repository: Repository) -> AsyncIterator[Server]:
    async with serving(database_url, repository, webhook_networks=LOOPBACK) as server:
        yield server


@pytest.fixture
async def hook() -> AsyncIterator[HookServer]:
    async with hook_server(answer(200, b"<b>fine</b>")) as server:
        yield server


@pytest.fixture
async def visitor(server: Server, acme: ContentBuilder) -> AsyncIterator[Browser]:
    await acme.content_type()
    async with signed_in(server) as visitor:
        yield visitor


async def test_endpoints_of_the_environment_are_listed(
    acme: ContentBuilder, hook: HookServer, visitor: Browser
) -> None:
    assert "No webhooks" in (await visitor.get(PAGE)).text
    await acme.staging()
    await create_webhook(acme, hook, url=f"{hook.url()}?token=t0ken")
    await create_webhook(acme, hook, "elsewhere", environment="staging")
    page = (await visitor.get(PAGE)).text
    assert f'href="{PAGE}/search"' in page
    assert f"127.0.0.1:{hook.port}" in page
    assert "elsewhere" not in page
    assert "elsewhere" in (await visitor.get(f"{PAGE}?environment=staging")).text
    assert (await visitor.get(f"{PAGE}/elsewhere")).status == 404
    one = await visitor.get(f"{PAGE}/search")
    assert one.status == 200
    assert "t0ken" not in page + one.text


async def test_a_delivery_is_shown_with_status_duration_and_response(
    acme: ContentBuilder, hook: HookServer, visitor: Browser, database_url: str
) -> None:
    await create_webhook(acme, hook)
    async with delivering(database_url):
        await acme.entry("one")
        await hook.has(1)

        async def recorded() -> bool:
            return bool(await deliveries(acme))

        await until(recorded)
    page = (await visitor.get(f"{PAGE}/search")).text
    assert "HTTP 200" in page
    assert "entry.created" in page
    assert " ms</td>" in page
    assert "&lt;b&gt;fine&lt;/b&gt;" in page
    assert "None of the last" in (await visitor.get(f"{PAGE}/search?status=failed")).text


async def test_a_test_message_is_sent_and_its_outcome_shown(
    acme: ContentBuilder, hook: HookServer, visitor: Browser
) -> None:
    await create_webhook(acme, hook)
    done = await visitor.post(f"{PAGE}/search/test", {})
    assert (done.status, done.headers["Location"]) == (303, f"{PAGE}/search?tested=1")
    assert "HTTP 200 in" in (await visitor.get(done.headers["Location"])).text
    assert [one.json["type"] for one in hook.received] == ["webhook.test"]
    assert "webhook.test" in (await visitor.get(f"{PAGE}/search")).text
    hook.answer = answer(500, b"broken")
    done = await visitor.post(f"{PAGE}/search/test", {})
    page = (await visitor.get(done.headers["Location"])).text
    assert re.search("The test message was not delivered.*?UTC: HTTP 500", page, re.DOTALL)
    assert "HTTP 500" in (await visitor.get(f"{PAGE}/search?status=failed")).text


async def test_a_test_message_without_a_secret_is_refused_on_the_page_of_the_endpoint(
    acme: ContentBuilder, hook: HookServer, visitor: Browser, database_url: str
) -> None:
    await create_webhook(acme, hook)
    async with connected(database_url) as connection:
        await connection.execute("DELETE FROM write_side.webhook_secret")
    refused = await visitor.post(f"{PAGE}/search/test", {})
    assert refused.status == 400
    assert "The test message was not sent" in refused.text
    assert "contentlog webhook rotate search --workspace acme." in refused.text
    assert "Last deliveries" in refused.text
    assert "data-live=" not in refused.text
    assert hook.received == []


async def test_slow_endpoints_of_a_workspace_leave_others_room_for_test_messages(
    server: Server,
    acme: ContentBuilder,
    hook: HookServer,
    visitor: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sending, answered = list[str](), asyncio.Event()

    async def send(operations: WebhookOperations, *_: object) -> None:
        sending.append(operations._workspace)
        await answered.wait()

    monkeypatch.setattr(WebhookOperations, "test", send)
    globex = await server.workspace("globex")
    for builder in (acme, globex):
        await create_webhook(builder, hook)
    async with signed_in(server, "secret-of-globex") as other:
        visitors = (*[visitor] * 9, other)
        tests = [asyncio.create_task(one.post(f"{PAGE}/search/test", {})) for one in visitors]

        async def globex_sends() -> bool:
            return "globex" in sending

        await until(globex_sends)
        assert sending.count("acme") <= 2
        answered.set()
        assert {answer.status for answer in await asyncio.gather(*tests)} == {303}


async def test_deliveries_are_filtered_by_status_and_time(
    acme: ContentBuilder, hook: HookServer, visitor: Browser, database_url: str
) -> None:
    await create_webhook(acme, hook)
    for reply in (answer(204, b""), answer(302), answer(500), answer(404), hang_up):
        hook.answer = reply
        await visitor.post(f"{PAGE}/search/test", {})
    async with connected(database_url) as connection:
        await connection.execute(
            "UPDATE write_side.webhook_delivery SET at = now() - interval '1 day' WHERE number < 3"
        )
    recently = (datetime.now(UTC) - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M")

    async def shown_outcomes(query: str) -> list[str]:
        """The outcomes, newest first."""
        page = (await visitor.get(f"{PAGE}/search?{query}")).text
        rows = re.findall(r'data-label="Outcome">.*?>(?:Failed</span> )?([^<]+)<', page)
        return [one.split(":")[0] for one in rows]

    lost = "the connection was closed without a response"
    every = [lost, "HTTP 404", "HTTP 500", "HTTP 302", "HTTP 204"]
    assert await shown_outcomes("") == every
    assert await shown_outcomes("status=odd&since=odd") == every
    assert await shown_outcomes("status=delivered") == every[4:]
    assert await shown_outcomes("status=failed") == every[:4]
    assert await shown_outcomes("status=none") == [lost]
    for number, digit in ((1, 4), (2, 5), (3, 3)):
        assert await shown_outcomes(f"status={digit}xx") == [every[number]]
    assert await shown_outcomes(f"since={recently}") == every[:3]
    assert await shown_outcomes(f"since={recently}&status=3xx") == []


async def hang_up(_server: HookServer, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def test_a_refused_address_names_the_setting(
    acme: ContentBuilder, hook: HookServer, visitor: Browser
) -> None:
    await create_webhook(acme, hook, url="http://10.0.0.1/")
    await visitor.post(f"{PAGE}/search/test", {})
    assert "CONTENTLOG_WEBHOOK_NETWORKS" in (await visitor.get(f"{PAGE}/search")).text


async def test_an_endpoint_is_switched_on(
    acme: ContentBuilder, hook: HookServer, visitor: Browser
) -> None:
    await create_webhook(acme, hook)
    assert "Switch on" not in (await visitor.get(f"{PAGE}/search")).text
    reason = "the endpoint answered 410 Gone"
    await acme.execute(c.SwitchWebhookOff, workspace="acme", name="search", reason=reason)
    page = (await visitor.get(f"{PAGE}/search")).text
    assert reason in page
    assert "Switch on" in page
    assert (await visitor.post(f"{PAGE}/search/enable", {})).status == 303
    assert (await webhook(acme)).off is None


async def test_a_replay_delivers_again(
    server: Server, acme: ContentBuilder, hook: HookServer, visitor: Browser, database_url: str
) -> None:
    await create_webhook(acme, hook)
    async with delivering(database_url):
        for slug in ("one", "two"):
            await acme.entry(slug)
        await hook.has(2)
        first = hook.received[0].id
        done = await visitor.post(f"{PAGE}/search/replay", {"after": f" {first} "})
        assert (done.status, done.headers["Location"]) == (303, f"{PAGE}/search?replayed=1")
        assert "Replay started" in (await visitor.get(done.headers["Location"])).text
        await hook.has(3)
        assert hook.received[2].id == hook.received[1].id
        await visitor.post(f"{PAGE}/search/replay", {"after": "2020-01-31"})
        await hook.has(6)


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ("yesterday", "'yesterday' is neither the id of a change in production nor a time"),
        ("2999-01-31", "'2999-01-31' is in the future"),
    ],
)
async def test_a_replay_from_an_invalid_time_shows_the_form_again(
    acme: ContentBuilder, hook: HookServer, visitor: Browser, after: str, why: str
) -> None:
    await create_webhook(acme, hook)
    address = f"{PAGE}/search/replay"
    refused = await visitor.post(address, {"after": after})
    assert refused.status == 400
    [field] = re.findall(r'<input[^>]* id="after"[^>]*>', refused.text)
    assert f'value="{after}"' in field
    assert 'aria-describedby="after-error"' in field
    [message] = re.findall(r'id="after-error">([^<]*)<', refused.text)
    assert why in unescape(message)
    again = await visitor.get(address)
    assert (again.status, again.headers["Location"]) == (303, f"{PAGE}/search")


@pytest.mark.parametrize("what", ["test", "replay", "enable"])
async def test_actions_need_the_permission_to_edit(
    server: Server, acme: ContentBuilder, hook: HookServer, what: str
) -> None:
    await create_webhook(acme, hook)
    await server.key("reader-of-acme-0000", "acme", ("content.view",))
    async with signed_in(server, "reader-of-acme-0000") as reader:
        page = (await reader.get(f"{PAGE}/search")).text
        assert "Send a test message" not in page
        assert "need a key with the permission" in page
        refused = await reader.post(f"{PAGE}/search/{what}", {"after": "2020-01-31"})
        assert refused.status == 403
    async with signed_in(server) as visitor:
        forged = await visitor.ask("POST", f"{PAGE}/search/{what}", data={"csrf": "x"})
        assert forged.status == 403
    assert hook.received == []


async def test_endpoints_of_another_workspace_do_not_exist(
    server: Server, acme: ContentBuilder, hook: HookServer, visitor: Browser
) -> None:
    rival = await server.workspace("rival")
    await create_webhook(rival, hook)
    assert "No webhooks" in (await visitor.get(PAGE)).text
    for what in ("test", "enable", "replay"):
        refused = await visitor.post(f"{PAGE}/search/{what}", {"after": "2020-01-31"})
        assert refused.status == 404
    assert hook.received == []
