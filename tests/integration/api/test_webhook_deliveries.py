"""Webhook endpoints receive changes in order, at least once, after they become readable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from asyncpg import Connection
from standardwebhooks.webhooks import WebhookVerificationError

from api.webhooks import endpoint_task, process
from api.webhooks.message import PAGE, DeliverablePage, FeedChanges
from api.webhooks.operations import read_webhooks_status
from api.webhooks.sender import open_sender
from read_side.lookups import WebhooksMark, webhooks_mark
from read_side.pool import Pool
from tests.integration.api.certificates import made_certificates
from tests.integration.api.deliveries import (
    SECRET,
    create_webhook,
    deliveries,
    delivering,
    entries_of,
    webhook,
)
from tests.integration.api.hook_server import HookServer, answer, hook_server
from tests.integration.api.server import Client, Server
from tests.integration.live_projector import caught_up, connected, until
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side import commands as c
from write_side.domain.webhook import Webhook, new_webhook_secret
from write_side.store.webhook_cursors import ACTIVE_LOCK, CHANNEL, Cursors
from write_side.waiting import wait_until_set

FEED = "/v1/changes?limit=500"


@pytest.fixture
async def hook() -> AsyncIterator[HookServer]:
    async with hook_server() as server:
        yield server


@pytest.fixture
async def magazine(server: Server, acme: ContentBuilder) -> ContentBuilder:
    await acme.content_type()
    await acme.content_type(slug="authors")
    return acme


@pytest.fixture
async def deliverer(database_url: str) -> AsyncIterator[None]:
    async with delivering(database_url):
        yield


async def test_a_change_is_delivered_as_the_feed_has_it(
    magazine: ContentBuilder, client: Client, hook: HookServer, deliverer: None
) -> None:
    await create_webhook(magazine, hook)
    entry_id = await magazine.entry("one")
    await magazine.update(entry_id, status="published")
    received = await hook.has(2)
    feed = (await client.get(FEED)).data[-2:]
    for one, change in zip(received, feed, strict=True):
        body = one.verified(SECRET)
        assert body == {"type": change["type"], "timestamp": change["at"], "data": change}
        assert one.id == change["id"]
    assert [change["type"] for change in feed] == ["entry.created", "entry.published"]
    assert received[1].json["data"]["previous"] == received[0].id


async def test_a_new_endpoint_begins_at_the_moment_it_is_created(
    magazine: ContentBuilder, hook: HookServer, database_url: str
) -> None:
    await magazine.entry("before")
    await create_webhook(magazine, hook)
    await magazine.entry("after")
    async with delivering(database_url):
        await hook.has(1)
    assert entries_of(hook) == [("after", 1)]


async def test_a_change_can_be_read_when_it_is_announced(
    magazine: ContentBuilder, client: Client, hook: HookServer, deliverer: None
) -> None:
    early: list[int] = []

    async def read(server: HookServer, writer: asyncio.StreamWriter) -> None:
        entry = server.received[-1].json["data"]["entry"]
        found = await client.get(f"/v1/content/posts/{entry['slug']}")
        early.append(found.status)
        await answer(200)(server, writer)

    hook.answer = read
    await create_webhook(magazine, hook)
    for number in range(20):
        await magazine.entry(f"e{number}")

    async def answered() -> bool:
        return len(early) == 20

    await until(answered)
    assert early == [200] * 20


async def until_settled(builder: ContentBuilder, name: str = "search") -> None:
    """Wait until all received deliveries are also recorded."""

    async def settled() -> bool:
        made = await deliveries(builder, name)
        return bool(made) and made[0].error is None

    await until(settled)


async def test_types_events_and_environment_select(
    magazine: ContentBuilder, hook: HookServer, deliverer: None
) -> None:
    staging = await magazine.staging()
    await staging.content_type()
    types = ("posts", "authors", "posts")  # one of them twice
    await create_webhook(magazine, hook, types=types, events=("entry.created",))
    await magazine.content_type(slug="topics")
    await magazine.entry("not-selected", type_slug="topics")
    await staging.entry("elsewhere")
    first = await magazine.entry("first")
    await magazine.update(first, title="Updated")
    await magazine.entry("second", type_slug="authors")
    await magazine.entry("third")
    received = await hook.has(3)
    assert entries_of(hook) == [("first", 1), ("second", 1), ("third", 1)]
    chain = [one.json["data"]["previous"] for one in received]
    assert chain == [None, received[0].id, received[1].id]


async def test_an_endpoint_may_get_the_entry_as_it_is_now(
    magazine: ContentBuilder, hook: HookServer, database_url: str
) -> None:
    await create_webhook(magazine, hook, include_entry=True)
    entry_id = await magazine.entry("one", fields=raws(body="Hello"))
    gone = await magazine.entry("two")
    await magazine.delete(gone)
    await caught_up(database_url)
    async with delivering(database_url):
        received = await hook.has(3)
    current = [one.json["data"]["current"] for one in received]
    assert current[0]["id"] == entry_id
    assert current[0]["fields"]["body"] == "Hello"
    assert current[1:] == [None, None]


async def test_a_slow_endpoint_gets_each_entry_as_it_is_when_its_message_is_sent(
    magazine: ContentBuilder, hook: HookServer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_task, "FRESH", 0.0)
    await create_webhook(magazine, hook, include_entry=True)
    ids = [await magazine.entry(slug) for slug in ("one", "two", "three")]
    await caught_up(database_url)

    async def delete_the_last_first(server: HookServer, writer: asyncio.StreamWriter) -> None:
        if len(server.received) == 1:
            await magazine.delete(ids[2])
            await caught_up(database_url)
        await answer(200)(server, writer)

    hook.answer = delete_the_last_first
    async with delivering(database_url):
        received = await hook.has(4)
    current = [one.json["data"]["current"] for one in received]
    assert [entry and entry["slug"] for entry in current] == ["one", "two", None, None]


async def test_an_old_secret_stops_signing_before_a_slow_endpoint_has_caught_up(
    magazine: ContentBuilder, hook: HookServer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_task, "FRESH", 0.0)
    await create_webhook(magazine, hook)
    for slug in ("one", "two"):
        await magazine.entry(slug)
    await caught_up(database_url)
    secret = new_webhook_secret()

    async def rotate_first(server: HookServer, writer: asyncio.StreamWriter) -> None:
        if len(server.received) == 1:
            rotated = {"workspace": "acme", "name": "search", "secret": secret, "expires": True}
            await magazine.execute(c.RotateWebhookSecret, **rotated)
        await answer(200)(server, writer)

    hook.answer = rotate_first
    async with delivering(database_url):
        received = await hook.has(2)
    assert received[1].verified(secret)
    with pytest.raises(WebhookVerificationError):
        received[1].verified(SECRET)


async def test_a_page_of_large_entries_has_fewer_changes(
    magazine: ContentBuilder, hook: HookServer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.webhooks.message.CURRENT_BYTES", 100_000)
    sizes: list[int] = []
    read = FeedChanges.page

    async def page(self: FeedChanges, endpoint: Webhook, after: int, limit: int) -> DeliverablePage:
        found = await read(self, endpoint, after, limit)
        sizes.append(len(found.messages))
        return found

    monkeypatch.setattr(FeedChanges, "page", page)
    await create_webhook(magazine, hook, include_entry=True)
    for slug in "abcde":
        await magazine.entry(slug, fields=raws(body="x" * 40_000))
    await caught_up(database_url)
    async with delivering(database_url):
        await hook.has(5)
    assert [slug for slug, _ in entries_of(hook)] == list("abcde")
    assert sizes[0] == 2


async def test_pages_for_a_slow_endpoint_are_small_until_it_is_quick_again(
    magazine: ContentBuilder, hook: HookServer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_task, "FRESH", 0.0)
    limits: list[int] = []
    read = FeedChanges.page

    async def page(self: FeedChanges, endpoint: Webhook, after: int, limit: int) -> DeliverablePage:
        limits.append(limit)
        if len(limits) == 4:
            monkeypatch.setattr(endpoint_task, "FRESH", 60.0)
        return await read(self, endpoint, after, limit)

    monkeypatch.setattr(FeedChanges, "page", page)
    await create_webhook(magazine, hook)
    for number in range(10):
        await magazine.entry(f"e{number}")
    await caught_up(database_url)
    async with delivering(database_url):
        await hook.has(10)
    assert limits[:6] == [PAGE, 1, 1, 1, 2, 4]


async def test_a_failure_holds_up_the_changes_behind_it(
    magazine: ContentBuilder, hook: HookServer, deliverer: None, quick_retries: None
) -> None:
    failures = 3

    async def fail_first(server: HookServer, writer: asyncio.StreamWriter) -> None:
        status = 500 if len(server.received) <= failures else 200
        await answer(status, b"broken")(server, writer)

    hook.answer = fail_first
    await create_webhook(magazine, hook)
    for slug in ("one", "two"):
        await magazine.entry(slug)
    received = await hook.has(failures + 2)
    assert [slug for slug, _ in entries_of(hook)] == ["one"] * 4 + ["two"]
    assert len({one.id for one in received}) == 2, "the same id on every try"
    await until_settled(magazine)
    made = (await deliveries(magazine))[::-1]
    assert [one.attempt for one in made[:4]] == [1, 2, 3, 4]
    assert [one.status for one in made[:4]] == [500, 500, 500, 200]
    assert made[0].response == "broken"
    # Each attempt has its own timestamp, so an old one is not accepted later.
    for one in received:
        assert one.verified(SECRET)


async def test_a_certificate_that_is_not_accepted_is_listed_and_tried_again(
    magazine: ContentBuilder,
    database_url: str,
    quick_retries: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    certificates = made_certificates(tmp_path, monkeypatch)
    tls = certificates.tls("of another host")
    async with hook_server(tls=tls) as server, delivering(database_url):
        await create_webhook(magazine, server, url=server.url("localhost"))
        await magazine.entry("one")

        async def tried() -> bool:
            return len(await deliveries(magazine)) >= 3

        await until(tried)
        # The endpoint gets another certificate.
        certificates.load("valid", tls)
        await server.has(1)
        await until_settled(magazine)
    made = (await deliveries(magazine))[::-1]
    assert {one.error for one in made[:-1]} == {
        "the certificate is not accepted: "
        "Hostname mismatch, certificate is not valid for 'localhost'"
    }
    assert [one.attempt for one in made] == [*range(1, len(made) + 1)]
    assert made[-1].status == 200


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.webhooks.endpoint_task.retry_delay", lambda _attempt: 0.02)


async def test_an_endpoint_that_hangs_delays_only_itself(
    magazine: ContentBuilder, hook: HookServer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All changes are delivered to the other endpoint while none of the first attempts ends."""

    async def never(_server: HookServer, _writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(process, "open_sender", partial(open_sender, timeout=3600.0))
    async with hook_server(never) as hanging, delivering(database_url):
        for number in range(40):
            await create_webhook(magazine, hanging, f"hanging{number}")
        await create_webhook(magazine, hook)
        await magazine.entry("first")
        await hanging.has(40)
        for number in range(20):
            await magazine.entry(f"e{number}")
        await hook.has(21)
        assert len(hanging.received) == 40


async def test_410_switches_the_endpoint_off(
    magazine: ContentBuilder, hook: HookServer, deliverer: None
) -> None:
    hook.answer = answer(410)
    await create_webhook(magazine, hook)
    await magazine.entry("one")

    async def is_off() -> bool:
        return (await webhook(magazine)).off == "the endpoint answered 410 Gone"

    await until(is_off)
    hook.answer = answer(200)
    await magazine.entry("two")
    await asyncio.sleep(0.3)
    assert len(hook.received) == 1
    # Delivery resumes where it stopped: nothing is lost.
    await magazine.execute(c.SwitchWebhookOn, workspace="acme", name="search")
    await hook.has(3)
    assert [slug for slug, _ in entries_of(hook)] == ["one", "one", "two"]


async def test_an_endpoint_that_has_changed_meanwhile_stays_on(
    magazine: ContentBuilder, hook: HookServer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the deliverer were paused from the change until after it has switched it off."""
    has_decided = asyncio.Event()
    switch_off = process._switch_off
    marks: list[WebhooksMark] = []

    async def mark_before(pool: Pool) -> WebhooksMark:
        if not hook.received or has_decided.is_set():
            marks.append(await webhooks_mark(pool))
        return marks[-1]

    async def decide(*args: Any) -> None:
        await switch_off(*args)
        has_decided.set()

    async def gone(server: HookServer, writer: asyncio.StreamWriter) -> None:
        server.answer = answer(200)
        definition = {"workspace": "acme", "name": "search", "environment": "production"}
        await magazine.execute(c.ChangeWebhook, **definition, url=f"{server.url()}new")
        await answer(410)(server, writer)

    monkeypatch.setattr("api.webhooks.process.webhooks_mark", mark_before)
    monkeypatch.setattr(process, "_switch_off", decide)
    hook.answer = gone
    await create_webhook(magazine, hook)
    await magazine.entry("one")
    async with delivering(database_url):
        await hook.has(2)
    assert (await webhook(magazine)).off is None


async def test_three_days_of_failures_switch_the_endpoint_off(
    magazine: ContentBuilder, hook: HookServer, database_url: str, quick_retries: None
) -> None:
    hook.answer = answer(500)
    await create_webhook(magazine, hook)
    await magazine.entry("one")
    async with delivering(database_url):
        await hook.has(2)
        async with connected(database_url) as owner:
            await owner.execute(
                "UPDATE write_side.webhook_cursor SET failing_since = now() - interval '3 days'"
            )

        async def is_off() -> bool:
            return (await webhook(magazine)).off is not None

        await until(is_off)
    reason = (await webhook(magazine)).off
    assert reason == "no delivery has succeeded for 3 days; the last failure: HTTP 500"


async def test_a_success_resets_the_backoff(
    magazine: ContentBuilder, hook: HookServer, deliverer: None, quick_retries: None
) -> None:
    async def every_other(server: HookServer, writer: asyncio.StreamWriter) -> None:
        await answer(500 if len(server.received) % 2 else 200)(server, writer)

    hook.answer = every_other
    await create_webhook(magazine, hook)
    for slug in ("one", "two", "three"):
        await magazine.entry(slug)
    await hook.has(6)
    await until_settled(magazine)
    attempts = [one.attempt for one in await deliveries(magazine)]
    assert set(attempts) <= {1, 2}


async def test_a_changed_endpoint_is_tried_at_once(
    magazine: ContentBuilder, hook: HookServer, deliverer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_task, "retry_delay", lambda _attempt: 3600.0)
    async with hook_server(answer(500)) as wrong:
        await create_webhook(magazine, wrong)
        await magazine.entry("one")
        await wrong.has(1)
    definition = {"workspace": "acme", "name": "search", "environment": "production"}
    await magazine.execute(c.ChangeWebhook, url=hook.url(), **definition)
    await hook.has(1)


async def test_a_replay_repeats_with_the_same_ids(
    magazine: ContentBuilder, hook: HookServer, deliverer: None
) -> None:
    await create_webhook(magazine, hook)
    position = await magazine.repository.recorder.head()
    for slug in ("one", "two"):
        await magazine.entry(slug)
    await hook.has(2)
    await until_settled(magazine)
    cursors = Cursors(magazine.repository.recorder.fetch)
    assert await cursors.move("acme", "search", position)
    received = await hook.has(4)
    assert [one.id for one in received[:2]] == [one.id for one in received[2:]]


async def test_a_replay_does_not_disturb_another_endpoint(
    magazine: ContentBuilder, hook: HookServer, deliverer: None
) -> None:
    replayed = asyncio.Event()

    async def slowly(server: HookServer, writer: asyncio.StreamWriter) -> None:
        await replayed.wait()
        await answer(200)(server, writer)

    async with hook_server(slowly) as slow:
        await create_webhook(magazine, slow, "slow")
        await create_webhook(magazine, hook)
        position = await magazine.repository.recorder.head()
        await magazine.entry("one")
        await slow.has(1)
        await hook.has(1)
        await until_settled(magazine)
        await Cursors(magazine.repository.recorder.fetch).move("acme", "search", position)
        await hook.has(2)
        replayed.set()
        await until_settled(magazine, "slow")
        assert len(slow.received) == 1


async def test_a_replay_while_the_process_starts_is_not_missed(
    magazine: ContentBuilder, hook: HookServer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_webhook(magazine, hook)
    position = await magazine.repository.recorder.head()
    async with delivering(database_url):
        await magazine.entry("one")
        await until_settled(magazine)
    cursors, listen = Cursors(magazine.repository.recorder.fetch), Connection.add_listener
    has_opened = asyncio.Event()
    read = FeedChanges.page

    async def page(*args: Any) -> DeliverablePage:
        has_opened.set()
        return await read(*args)

    async def replay_first(connection: Any, channel: str, callback: Any) -> None:
        if channel == CHANNEL:
            await wait_until_set(has_opened, 0.5)
            assert await cursors.move("acme", "search", position)
        await listen(connection, channel, callback)

    monkeypatch.setattr(FeedChanges, "page", page)
    monkeypatch.setattr(Connection, "add_listener", replay_first)
    async with delivering(database_url):
        await hook.has(2)
    assert entries_of(hook) == [("one", 1)] * 2


async def test_a_replay_while_outcomes_wait_does_not_fail(
    magazine: ContentBuilder, hook: HookServer, database_url: str, deliverer: None, logged: Any
) -> None:
    read = logged("json")
    async with hook_server() as other, connected(database_url) as owner:
        await create_webhook(magazine, other, "other", types=("authors",))
        await create_webhook(magazine, hook, types=("posts",))
        await magazine.entry("author", type_slug="authors")
        await other.has(1)
        await until_settled(magazine, "other")
        async with owner.transaction():
            await owner.execute(
                "SELECT FROM write_side.webhook_cursor WHERE name = 'other' FOR UPDATE"
            )
            await magazine.entry("second-author", type_slug="authors")
            await other.has(2)
            position = await magazine.repository.recorder.head()
            await magazine.entry("one")
            await hook.has(1)
            await Cursors(magazine.repository.recorder.fetch).move("acme", "search", position)
            await hook.has(2)
        await until_settled(magazine)
        await magazine.entry("two")
        await hook.has(3)
    assert entries_of(hook) == [("one", 1), ("one", 1), ("two", 1)]
    assert "deliveries failed unexpectedly" not in read()


async def test_a_removed_endpoint_gets_nothing_more(
    magazine: ContentBuilder, hook: HookServer, deliverer: None
) -> None:
    async with hook_server() as other:
        await create_webhook(magazine, hook)
        await create_webhook(magazine, other, "other")
        await magazine.entry("one")
        await hook.has(1)
        await magazine.execute(c.RemoveWebhook, workspace="acme", name="search")
        await magazine.entry("two")
        await other.has(2)
    assert len(hook.received) == 1
    assert await deliveries(magazine) == []


async def test_a_rotated_secret_signs_from_then_on(
    magazine: ContentBuilder, hook: HookServer, deliverer: None
) -> None:
    await create_webhook(magazine, hook)
    await magazine.entry("one")
    await hook.has(1)
    secret = new_webhook_secret()
    await magazine.execute(c.RotateWebhookSecret, workspace="acme", name="search", secret=secret)
    await magazine.entry("two")
    received = await hook.has(2)
    assert received[1].verified(secret)
    assert received[1].verified(SECRET)


async def test_an_endpoint_that_selects_little_moves_its_cursor_all_the_same(
    magazine: ContentBuilder, hook: HookServer, deliverer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_task, "SKIPPED", 5)
    await create_webhook(magazine, hook, events=("entry.deleted",))
    start = await magazine.repository.recorder.head()
    for number in range(12):
        await magazine.entry(f"e{number}")
    cursors = Cursors(magazine.repository.recorder.fetch)

    async def moved() -> bool:
        found = await cursors.find([("acme", "search")])
        cursor = found.get(("acme", "search"))
        return cursor is not None and cursor.position >= start + 5

    await until(moved)
    assert hook.received == []


async def test_the_standby_takes_over(
    magazine: ContentBuilder, hook: HookServer, database_url: str
) -> None:
    await create_webhook(magazine, hook)
    async with delivering(database_url), delivering(database_url):
        await magazine.entry("one")
        await hook.has(1)
        # Otherwise the standby may repeat the delivery.
        await until_settled(magazine)
        async with connected(database_url) as owner:
            await owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks "
                "WHERE locktype = 'advisory' AND objid = $1 AND granted AND database = "
                "(SELECT oid FROM pg_database WHERE datname = current_database())",
                ACTIVE_LOCK & 0xFFFF_FFFF,
            )
        await magazine.entry("two")
        await hook.has(2)
    assert entries_of(hook)[:2] == [("one", 1), ("two", 1)]


async def test_only_one_process_delivers(
    magazine: ContentBuilder, hook: HookServer, database_url: str
) -> None:
    await create_webhook(magazine, hook)
    async with delivering(database_url), delivering(database_url), delivering(database_url):
        for number in range(30):
            await magazine.entry(f"e{number}")
        await hook.has(30)
        await until_settled(magazine)
        # If the active process ends first, a standby may repeat the last deliveries.
        assert len(hook.received) == 30


async def test_a_restarted_process_goes_on_where_it_was(
    magazine: ContentBuilder, hook: HookServer, database_url: str
) -> None:
    await create_webhook(magazine, hook)
    async with delivering(database_url):
        await magazine.entry("one")
        await hook.has(1)
        await until_settled(magazine)
    await magazine.entry("two")
    async with delivering(database_url):
        await hook.has(2)
    assert entries_of(hook) == [("one", 1), ("two", 1)]


async def test_nothing_is_delivered_across_workspaces(
    server: Server, magazine: ContentBuilder, hook: HookServer, deliverer: None
) -> None:
    rival = await server.workspace("rival")
    await rival.content_type()
    await create_webhook(rival, hook)
    async with hook_server() as own:
        await create_webhook(magazine, own)
        await magazine.entry("secret-of-acme")
        await own.has(1)
    await rival.entry("of-rival")
    await hook.has(1)
    assert entries_of(hook) == [("of-rival", 1)]


async def test_logs_have_no_url(
    magazine: ContentBuilder, hook: HookServer, deliverer: None, logged: Any
) -> None:
    read = logged("json")
    hook.answer = answer(500)
    await create_webhook(magazine, hook, url=f"{hook.url()}?token=hidden")
    await magazine.entry("one")
    await hook.has(1)

    async def warned() -> bool:
        return "deliveries fail" in read()

    await until(warned)
    assert "hidden" not in read()
    assert SECRET not in read()


async def test_a_lost_database_connection_loses_no_delivery(
    magazine: ContentBuilder, hook: HookServer, database_url: str, deliverer: None
) -> None:
    await create_webhook(magazine, hook)
    async with connected(database_url) as owner:
        for number in range(6):
            await magazine.entry(f"e{number}")
            await owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )

    def slugs() -> list[str]:
        """The slugs of the delivered entries, without repetitions."""
        return list(dict.fromkeys(slug for slug, _ in entries_of(hook)))

    async def all_have_arrived() -> bool:
        return len(slugs()) == 6

    await until(all_have_arrived)
    assert slugs() == [f"e{number}" for number in range(6)]


async def test_metrics_show_deliveries_and_the_state_of_endpoints(
    server: Server,
    magazine: ContentBuilder,
    hook: HookServer,
    deliverer: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A second attempt would be counted too.
    monkeypatch.setattr(endpoint_task, "retry_delay", lambda _attempt: 3600.0)
    async with hook_server(answer(500)) as failing, hook_server(answer(410)) as gone:
        for name, one in (("good", hook), ("failing", failing), ("gone", gone)):
            await create_webhook(magazine, one, name)
        await magazine.entry("one")

        async def is_shown() -> bool:
            text = (await server.operator.get("/metrics")).text
            return {
                "contentlog_webhook_deliveries_total 3.0",
                "contentlog_webhook_delivery_failures_total 2.0",
                'contentlog_webhooks{state="on"} 1.0',
                'contentlog_webhooks{state="failing"} 1.0',
                'contentlog_webhooks{state="off"} 1.0',
                "contentlog_webhook_process_active 1.0",
            } <= set(text.splitlines())

        await until(is_shown)
        assert (await waiting(server)).keys() == {"failing"}


async def test_an_endpoint_waits_for_the_changes_that_it_selects(
    server: Server, magazine: ContentBuilder, hook: HookServer
) -> None:
    """No process delivers during this test."""
    await create_webhook(magazine, hook, "posts", types=("posts",))
    await create_webhook(magazine, hook, "deletions", events=("entry.deleted",))
    await magazine.content_type(slug="pages")
    await magazine.entry("page", type_slug="pages")
    await server.caught_up()
    assert await waiting(server) == {}
    entry = await magazine.entry("one")
    await server.caught_up()
    assert (await waiting(server)).keys() == {"posts"}
    await magazine.delete(entry)
    await server.caught_up()
    found = await waiting(server)
    assert 0 < found["deletions"] <= found["posts"]
    text = (await server.operator.get("/metrics")).text
    assert "contentlog_webhook_process_active 0.0" in text


async def waiting(server: Server) -> dict[str, float]:
    """Endpoints with pending changes, and for how many seconds they have been waiting."""
    cursors = Cursors(server.repository.recorder.fetch)
    status = await read_webhooks_status(cursors, server.service.read_model)
    return {one.endpoint.name: one.waiting for one in status.endpoints if one.waiting}
