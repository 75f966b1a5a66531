"""Webhook endpoints in the log, and their secrets in a table."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.live_projector import connected
from tests.integration.write_side.handler_fixtures import HandlerContext, magazine
from write_side import commands as c
from write_side.domain import events as e
from write_side.domain.events import Plan
from write_side.domain.refusals import (
    InvalidDefinition,
    UnknownWebhook,
    UnknownWorkspace,
    WebhookTaken,
)
from write_side.domain.webhook import MOST_WEBHOOKS, Webhook, new_webhook_secret
from write_side.repository import Repository
from write_side.store.retention import delete_leftovers
from write_side.store.webhook_cursors import KEPT, Cursors, Move, Outcome

SEARCH = {"workspace": "acme", "name": "search", "url": "https://search.example.com/"}
SECRET, OTHER_SECRET = new_webhook_secret(), new_webhook_secret()


@pytest.fixture
async def context(repository: Repository) -> HandlerContext:
    return await magazine(repository, Plan(staging=True))


@pytest.fixture
def cursors(repository: Repository) -> Cursors:
    return Cursors(repository.recorder.fetch)


async def create(context: HandlerContext, **properties: Any) -> None:
    arguments = {**SEARCH, "environment": "production", "secret": SECRET, **properties}
    await context.execute(c.CreateWebhook, **arguments)


async def endpoint(context: HandlerContext) -> Webhook:
    return (await context.repository.webhooks("acme")).by_name["search"]


def outcome(error: str | None = None, **properties: Any) -> Outcome:
    return Outcome(message_id="1.a", type="entry.created", error=error, **properties)


async def test_an_endpoint_lives_and_dies(context: HandlerContext, cursors: Cursors) -> None:
    kinds = (e.WebhookCreated, e.WebhookChanged, e.WebhookSwitchedOff, e.WebhookSwitchedOn)
    async with context.assert_appended(*kinds, e.WebhookSecretRotated, e.WebhookRemoved):
        await create(context)
        for _ in range(2):  # the second time changes nothing
            await context.execute(
                c.ChangeWebhook, **SEARCH, environment="staging", types=("posts",)
            )
        for _ in range(2):
            await context.execute(c.SwitchWebhookOff, workspace="acme", name="search", reason="410")
        assert (await context.repository.webhooks("acme")).by_name["search"].off == "410"
        for _ in range(2):
            await context.execute(c.SwitchWebhookOn, workspace="acme", name="search")
        await context.execute(
            c.RotateWebhookSecret, workspace="acme", name="search", secret=OTHER_SECRET
        )
        await context.execute(c.RemoveWebhook, workspace="acme", name="search")
    assert (await context.repository.webhooks("acme")).by_name == {}
    assert await cursors.secrets("acme", "search") == []


async def test_a_secret_is_nowhere_in_the_log(context: HandlerContext, database_url: str) -> None:
    await create(context)
    await context.execute(
        c.RotateWebhookSecret, workspace="acme", name="search", secret=OTHER_SECRET
    )
    async with connected(database_url) as connection:
        tables = await connection.fetch(
            "SELECT relname FROM pg_class WHERE relnamespace = 'write_side'::regnamespace "
            "AND relkind = 'r' AND relname <> 'webhook_secret'"
        )
        for (table,) in tables:
            rows = await connection.fetch(f"SELECT t::text FROM write_side.{table} t")  # noqa: S608
            assert not any(SECRET in row[0] or OTHER_SECRET in row[0] for row in rows), table
        assert await connection.fetchval("SELECT count(*) FROM write_side.webhook_secret") == 2


async def test_the_last_three_secrets_sign_each_for_a_day_after_its_rotation(
    context: HandlerContext, cursors: Cursors, database_url: str
) -> None:
    await create(context)
    third, fourth = new_webhook_secret(), new_webhook_secret()
    an_hour_later = (
        "UPDATE write_side.webhook_secret SET expires_at = expires_at - interval '1 hour', "
        "made_at = made_at - interval '1 hour'"
    )
    async with connected(database_url) as owner:
        for secret, signing in (
            (OTHER_SECRET, [OTHER_SECRET, SECRET]),
            (third, [third, OTHER_SECRET, SECRET]),
            (fourth, [fourth, third, OTHER_SECRET]),
        ):
            await context.execute(
                c.RotateWebhookSecret, workspace="acme", name="search", secret=secret
            )
            assert await cursors.secrets("acme", "search") == signing
            await owner.execute(an_hour_later)
        rows = await owner.fetch(
            "SELECT secret, expires_at - clock_timestamp() AS remaining "
            "FROM write_side.webhook_secret WHERE expires_at IS NOT NULL"
        )
        hours = {row["secret"]: row["remaining"].total_seconds() / 3600 for row in rows}
        assert hours == {
            third: pytest.approx(23, abs=0.1),
            OTHER_SECRET: pytest.approx(22, abs=0.1),
        }
        await owner.execute(
            "UPDATE write_side.webhook_secret SET expires_at = now() WHERE expires_at IS NOT NULL"
        )
        assert await cursors.secrets("acme", "search") == [fourth]
        await delete_leftovers(context.repository.recorder)
        assert await owner.fetchval("SELECT count(*) FROM write_side.webhook_secret") == 1


async def test_leaked_secrets_expire_at_once(context: HandlerContext, cursors: Cursors) -> None:
    await create(context)
    third = new_webhook_secret()
    where = {"workspace": "acme", "name": "search"}
    await context.execute(c.RotateWebhookSecret, **where, secret=OTHER_SECRET)
    await context.execute(c.RotateWebhookSecret, **where, secret=third, expires=True)
    assert await cursors.secrets("acme", "search") == [third]


async def test_an_invalid_endpoint_is_refused(context: HandlerContext) -> None:
    async with context.assert_refused(InvalidDefinition, "The name 'Search!'"):
        await create(context, name="Search!")
    async with context.assert_refused(InvalidDefinition, "use http or https"):
        await create(context, url="ftp://example.com/")
    async with context.assert_refused(InvalidDefinition, "Unknown environment 'prod'"):
        await create(context, environment="prod")
    async with context.assert_refused(InvalidDefinition, "Unknown event 'entry.read'"):
        await create(context, events=("entry.read",))
    async with context.assert_refused(InvalidDefinition, "'whsec_'"):
        await create(context, secret="plain")
    async with context.assert_refused(UnknownWorkspace, "'none'"):
        await create(context, workspace="none")
    await create(context)
    async with context.assert_refused(WebhookTaken, "A webhook 'search' already exists"):
        await create(context)


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        (c.ChangeWebhook, {"url": "https://a.example/", "environment": "production"}),
        (c.RemoveWebhook, {}),
        (c.SwitchWebhookOff, {"reason": "x"}),
        (c.SwitchWebhookOn, {}),
        (c.RotateWebhookSecret, {"secret": SECRET}),
    ],
)
async def test_an_unknown_endpoint_is_refused(
    context: HandlerContext, kind: type[c.Command], properties: dict[str, Any]
) -> None:
    await context.workspace("rival")
    await create(context, workspace="rival")
    async with context.assert_refused(
        UnknownWebhook, "There is no webhook 'search' in this workspace"
    ):
        await context.execute(kind, workspace="acme", name="search", **properties)


async def test_a_workspace_has_a_bounded_number_of_endpoints(context: HandlerContext) -> None:
    for number in range(MOST_WEBHOOKS):
        await create(context, name=f"w{number}")
    async with context.assert_refused(InvalidDefinition, "at most 50 webhooks"):
        await create(context, name="one-more")


async def test_a_cursor_begins_where_the_endpoint_was_created(
    context: HandlerContext, cursors: Cursors
) -> None:
    await create(context)
    head = await context.head()
    await context.entry("later", "authors")
    old = await endpoint(context)
    found = await cursors.open([old])
    assert found["acme", "search"].position == head
    # A process that knows only an older endpoint of that name does not move it.
    await context.execute(c.RemoveWebhook, workspace="acme", name="search")
    await create(context)
    again = await endpoint(context)
    found = await cursors.open([again])
    assert found["acme", "search"].position == await context.head()
    assert (await cursors.open([old]))["acme", "search"].created == again.created


async def test_a_removed_endpoint_gets_no_cursor_from_a_read_model_that_still_has_it(
    context: HandlerContext, cursors: Cursors
) -> None:
    await create(context)
    removed = await endpoint(context)
    assert await cursors.open([removed])
    await context.execute(c.RemoveWebhook, workspace="acme", name="search")
    assert await cursors.open([removed]) == {}


async def test_a_cursor_moves_only_from_where_it_is_known_to_be(
    context: HandlerContext, cursors: Cursors
) -> None:
    await create(context)
    one = await endpoint(context)
    at = (await cursors.open([one]))["acme", "search"].position
    move = Move(endpoint=one, after=at, position=at + 5, outcome=outcome())
    assert await cursors.record([move]) == {("acme", "search"): 0.0}
    assert await cursors.record([move]) == {}
    assert await cursors.skip(one, at, at + 9) is False
    assert await cursors.skip(one, at + 5, at + 9) is True
    assert (await cursors.open([one]))["acme", "search"].position == at + 9
    assert len(await cursors.deliveries("acme", "search")) == 1


async def test_failures_count_until_a_success_or_a_change_of_the_endpoint(
    context: HandlerContext, cursors: Cursors
) -> None:
    await create(context)
    one = await endpoint(context)
    at = (await cursors.open([one]))["acme", "search"].position
    failed = Move(
        endpoint=one, after=at, position=at, outcome=outcome("HTTP 500", attempt=3), delay=60
    )
    assert (await cursors.record([failed]))["acme", "search"] >= 0
    cursor = (await cursors.open([one]))["acme", "search"]
    assert cursor.failing_since is not None
    assert (cursor.attempt, cursor.failures, cursor.position) == (3, 1, at)
    assert 55 < cursor.wait <= 60
    await context.execute(c.ChangeWebhook, **SEARCH, environment="production", types=("posts",))
    cursor = (await cursors.open([await endpoint(context)]))["acme", "search"]
    assert (cursor.failing_since, cursor.attempt, cursor.wait) == (None, 0, 0)
    assert cursor.position == at


async def test_a_bounded_number_of_deliveries_is_kept(
    context: HandlerContext, cursors: Cursors
) -> None:
    await create(context)
    one = await endpoint(context)
    at = (await cursors.open([one]))["acme", "search"].position
    for number in range(1, KEPT + 6):
        error = "HTTP 500" if number % 2 else None
        move = Move(endpoint=one, after=at, position=at, outcome=outcome(error, status=number))
        await cursors.record([move])
    kept = await cursors.deliveries("acme", "search")
    assert [one.number for one in kept] == list(range(KEPT + 5, 5, -1))
    failed = await cursors.deliveries("acme", "search", outcome="failed", limit=3)
    assert [one.status for one in failed] == [KEPT + 5, KEPT + 3, KEPT + 1]
    assert (await cursors.totals()).deliveries == KEPT + 5


async def test_a_replay_moves_the_cursor_back(context: HandlerContext, cursors: Cursors) -> None:
    await create(context)
    one = await endpoint(context)
    assert await cursors.move("acme", "search", 1) is False
    await cursors.open([one])
    assert await cursors.move("acme", "search", 1) is True
    assert (await cursors.open([one]))["acme", "search"].position == 1
