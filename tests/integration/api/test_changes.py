"""Pages of the change feed and the tokens with which clients follow it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from read_side.changes import ChangeRecord
from tests.integration.api.server import PATIENCE, Client, Server, serving
from tests.integration.api.test_refusals import refused
from tests.integration.live_projector import connected, projecting
from tests.integration.projector.rebuilds import rebuild, rollback
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side import commands as c
from write_side.domain.identity import Scope
from write_side.repository import Repository

PUBLISHED = "secret of the web page"
LAST_EVENT = """
SELECT notification_id AS position, at FROM write_side.event
ORDER BY notification_id DESC LIMIT 1"""


@pytest.fixture
async def posts(server: Server, acme: ContentBuilder) -> ContentBuilder:
    await acme.content_type()
    await server.key(PUBLISHED, "acme", ("content.published",))
    return acme


async def feed(client: Client, query: str = "", **options: Any) -> list[dict[str, Any]]:
    """All changes. Checks that each one links to the one before it."""
    found: list[dict[str, Any]] = []
    after, previous = "", None
    while True:
        answer = await client.get(f"/v1/changes?{query}{after}", **options)
        assert answer.status == 200, answer.text
        for change in answer.body["data"]:
            assert change["previous"] == previous
            previous = change["id"]
            found.append(change)
        if answer.body["caughtUp"]:
            assert answer.body["next"] == previous or not found
            return found
        assert answer.body["data"]
        after = f"&after={answer.body['next']}"


def types(found: list[dict[str, Any]]) -> list[str]:
    return [change["type"] for change in found]


async def life(builder: ContentBuilder) -> str:
    """Takes an entry through every status, then deletes it."""
    entry_id = await builder.entry("one")
    for changes in (
        {"title": "Uno"},
        {"status": "published"},
        {"title": "Un"},
        {"status": "draft"},
        {"status": "published"},
        {"status": "archived"},
        {"status": "draft"},
    ):
        await builder.update(entry_id, **changes)
    await builder.delete(entry_id)
    return entry_id


LIFE = [
    "entry.created",
    "entry.updated",
    "entry.published",
    "entry.updated",
    "entry.unpublished",
    "entry.published",
    "entry.archived",
    "entry.updated",
    "entry.deleted",
]


async def test_every_change_is_listed_in_the_order_of_the_log(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    entry_id = await life(posts)
    await server.caught_up()
    found = await feed(client, "limit=2")
    assert types(found) == ["contentType.changed", *LIFE]
    assert found[0]["entry"] is None
    assert found[0]["contentType"]["slug"] == "posts"
    assert found[1]["entry"] == {
        "id": entry_id,
        "contentType": "posts",
        "slug": "one",
        "language": "en-US",
        "status": "draft",
        "version": 1,
    }
    assert [change["entry"]["version"] for change in found[1:]] == list(range(1, 10))
    assert "contentType" not in found[1]
    assert all(len(change["id"]) == 40 for change in found)
    assert await feed(client, "limit=500") == found


async def test_a_key_for_published_entries_learns_nothing_of_drafts(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    web_page = server.client(PUBLISHED)
    hidden = await posts.entry("hidden")
    await life(posts)
    await posts.update(hidden, title="Still hidden")
    await server.caught_up()
    found = await feed(web_page, "limit=1")
    assert types(found) == [
        "contentType.changed",
        "entry.published",
        "entry.updated",
        "entry.unpublished",
        "entry.published",
        "entry.archived",
    ]
    now = await web_page.get("/v1/changes?after=now")
    assert now.body == {"data": [], "next": found[-1]["id"], "caughtUp": True}
    again = await web_page.get(f"/v1/changes?after={found[-1]['id']}")
    assert again.body == now.body
    before = (await web_page.get("/v1/changes")).text
    await posts.update(hidden, slug="another")
    await server.caught_up()
    assert (await web_page.get("/v1/changes")).text == before
    assert len(await feed(client)) == len(LIFE) + 4


async def test_a_withdrawn_entry_keeps_its_published_slug_for_those_who_saw_it(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    entry_id = await posts.entry("seen", status="published")
    await posts.update(entry_id, status="draft", slug="secret")
    await server.caught_up()
    [_, _, seen] = await feed(server.client(PUBLISHED))
    [_, _, known] = await feed(client)
    assert (seen["type"], seen["entry"]["slug"]) == ("entry.unpublished", "seen")
    assert known["entry"]["slug"] == "secret"


async def test_changes_are_selected_by_content_type_and_kind(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    await posts.content_type(slug="pages")
    await posts.entry("a", type_slug="pages", status="published")
    await life(posts)
    await server.caught_up()
    assert types(await feed(client, "contentType=posts&limit=3")) == ["contentType.changed", *LIFE]
    assert types(await feed(client, "contentType=pages")) == [
        "contentType.changed",
        "entry.created",
    ]
    assert await feed(client, "contentType=nothing") == []
    kinds = "events=entry.deleted,entry.published"
    assert types(await feed(client, f"{kinds}&limit=1")) == [
        "entry.published",
        "entry.published",
        "entry.deleted",
    ]
    assert types(await feed(client, "events=entry.created&contentType=posts")) == ["entry.created"]
    assert types(await feed(server.client(PUBLISHED), "contentType=posts&limit=2")) == [
        "contentType.changed",
        *LIFE[2:7],
    ]


async def test_a_removed_type_is_in_the_feed(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    type_id = await posts.content_type(slug="gone")
    await posts.execute(c.RemoveContentType, scope=posts.scope, slug="gone")
    await server.caught_up()
    changed, removed = await feed(client, "contentType=gone")
    assert (changed["type"], removed["type"]) == ("contentType.changed", "contentType.removed")
    assert removed["contentType"] == {"id": type_id, "slug": "gone"}


async def test_current_is_the_entry_as_it_can_be_read_now(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    await life(posts)
    entry_id = await posts.entry("two", fields=raws(body="Hello"))
    await posts.update(entry_id, title="Now")
    await server.caught_up()
    found = await feed(client, "include=entry")
    assert [change["current"] for change in found[:-2]] == [None] * (len(LIFE) + 1)
    alone = (await client.get("/v1/content/posts/two")).body["data"]
    assert [change["current"] for change in found[-2:]] == [alone, alone]
    await posts.update(entry_id, status="published")
    await posts.update(entry_id, status="draft")
    await server.caught_up()
    [*_, published, withdrawn] = await feed(server.client(PUBLISHED), "include=entry")
    assert (published["type"], published["current"]) == ("entry.published", None)
    assert (withdrawn["type"], withdrawn["current"]) == ("entry.unpublished", None)


async def test_a_page_of_large_entries_has_fewer_changes(
    server: Server, client: Client, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.changes.pages.CURRENT_BYTES", 100_000)
    for slug in "abcde":
        await posts.entry(slug, fields=raws(body="x" * 40_000))
    await server.caught_up()
    answer = await client.get("/v1/changes?include=entry&events=entry.created")
    assert (len(answer.body["data"]), answer.body["caughtUp"]) == (2, False)
    found = await feed(client, "include=entry&events=entry.created")
    assert [change["current"]["slug"] for change in found] == list("abcde")


async def test_now_is_after_everything_that_is_selected(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    await server.workspace("globex")
    await server.caught_up()
    empty = await server.client("secret-of-globex").get("/v1/changes?after=now")
    assert (empty.body["data"], empty.body["caughtUp"]) == ([], True)
    beginning = empty.body["next"]
    now = (await client.get("/v1/changes?after=now&events=entry.created")).body["next"]
    await posts.entry("one")
    globex = ContentBuilder(server.repository, Scope("globex", "production"))
    await globex.content_type()
    await server.caught_up()
    [created] = (await client.get(f"/v1/changes?after={now}&events=entry.created")).body["data"]
    assert (created["entry"]["slug"], created["previous"]) == ("one", None)
    answer = await server.client("secret-of-globex").get(f"/v1/changes?after={beginning}")
    assert types(answer.body["data"]) == ["contentType.changed"]


async def test_bad_requests_name_what_is_wrong(client: Client, posts: ContentBuilder) -> None:
    for events, unknown in (("entry.created,x", "x"), (",", ""), ("entry.created,", "")):
        answer = await client.get(f"/v1/changes?events={events}")
        refused(answer, 400, f"Unknown event '{unknown}' in events: use entry.created, ")
    refused(await client.get("/v1/changes?include=media"), 400, "Unknown include 'media'")
    for slug in ("posts,pages", "Posts", " posts"):
        answer = await client.get(f"/v1/changes?contentType={slug}")
        refused(answer, 400, f"Unknown contentType '{slug}': use the slug of one content type")
    for token in ("x", "%00", "é", "a" * 40, "NOW"):
        refused(await client.get(f"/v1/changes?after={token}"), 400, "Unknown after")
    answer = await client.get("/v1/changes?after=now", headers={"Last-Event-ID": "x"})
    refused(answer, 400, "Unknown Last-Event-ID")
    for query in ("after=&events=&include=&contentType=", "limit=x"):
        assert (await client.get(f"/v1/changes?{query}")).status == 200


async def test_tokens_are_of_one_workspace_and_environment(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    await server.workspace("globex")
    await posts.staging()
    await server.caught_up()
    [change] = await feed(client)
    token = change["id"]
    assert (await client.get(f"/v1/changes?after={token}")).status == 200
    elsewhere = server.client("secret-of-globex")
    refused(await elsewhere.get(f"/v1/changes?after={token}"), 400, "Unknown after")
    staging = f"/v1/changes?after={token}&environment=staging"
    refused(await client.get(staging), 400, "Unknown after")
    for number, character in enumerate(token):
        altered = token[:number] + ("B" if character == "A" else "A") + token[number + 1 :]
        assert (await client.get(f"/v1/changes?after={altered}")).status == 400
    position = (await client.get("/v1/content-types")).headers["X-Content-Position"]
    assert (await client.get(f"/v1/changes?after={position}")).status == 400


async def test_a_page_of_changes_is_checked_and_sent_like_content(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    await server.key("may only write", "acme", ("content.edit",))
    assert (await server.client(None).get("/v1/changes")).status == 401
    assert (await server.client("may only write").get("/v1/changes")).status == 403
    assert (await client.get("/v1/changes?environment=x")).status == 400
    assert (await client.get("/v1/changes?environment=staging")).status == 404
    await server.caught_up()
    answer = await client.get("/v1/changes")
    assert "X-Content-Position" in answer.headers
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Vary"].endswith("Accept-Encoding, Accept")
    again = await client.get("/v1/changes", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status, again.text) == (304, "")
    left = [int(one.headers["X-RateLimit-Remaining"]) for one in (answer, again)]
    assert left[0] - left[1] == 1 or left[1] > left[0], "or a new window has begun"
    for accept in (
        "*/*",
        "text/event-stream;q=0",
        "text/event-stream;q=0.0, */*",
        "text/event-stream;q=0.5, application/json",
    ):
        page = await client.get("/v1/changes", headers={"Accept": accept})
        assert page.headers["Content-Type"] == "application/json", accept
    preflight = await server.client(None).ask("OPTIONS", "/v1/changes")
    assert "Last-Event-ID, If-None-Match" in preflight.headers["Access-Control-Allow-Headers"]
    assert (await client.ask("HEAD", "/v1/changes")).status == 200


async def test_tokens_survive_rebuild_and_rollback(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    await life(posts)
    await server.caught_up()
    found = await feed(client)
    for switch in (rebuild, rollback):
        await switch(server.url)
        await posts.entry(switch.__name__)
        await server.caught_up()
        answer = await client.get(f"/v1/changes?after={found[-1]['id']}")
        assert answer.body["data"][0]["previous"] == found[-1]["id"]
        found += answer.body["data"]
    assert await feed(client) == found


async def test_a_token_ahead_of_the_read_model_waits_and_is_503(
    behind: Server, database_url: str
) -> None:
    builder, client = ContentBuilder(behind.repository), behind.client()
    await builder.entry("one")
    async with serving(database_url, behind.repository) as ahead:
        await ahead.caught_up()
        token = (await ahead.client().get("/v1/changes")).body["next"]
    async with connected(database_url) as connection:
        await connection.execute("TRUNCATE read_model.change")
        await connection.execute("UPDATE read_model.checkpoint SET position = 1")
    behind.service.checkpoint.position = 1
    await _until_position(behind, 1)
    answer = await client.get(f"/v1/changes?after={token}")
    refused(answer, 503, "please retry")
    assert answer.headers["Retry-After"] == "1"


async def test_a_token_ahead_of_the_read_model_waits_until_it_can_be_read(
    database_url: str, repository: Repository
) -> None:
    async with serving(
        database_url, repository, projector=False, read_your_writes=4 * PATIENCE
    ) as server:
        builder = await server.workspace()
        await builder.content_type()
        entry_id = await builder.entry("one")
        [event] = await repository.recorder.fetch(LAST_EVENT)
        ahead = ChangeRecord(
            position=event["position"],
            kind="entry.created",
            published=False,
            content_type_id="",
            content_type="posts",
            entry_id=entry_id,
            slug="one",
            former_slug=None,
            language="en-US",
            status="draft",
            version=1,
            at=event["at"],
            actor="",
        )
        token = server.service.change_tokens.token(builder.scope, ahead)
        asking = asyncio.create_task(server.client().get(f"/v1/changes?after={token}"))
        await asyncio.wait({asking}, timeout=0.1)
        assert not asking.done()
        async with projecting(database_url):
            answer = await asking
        assert (answer.data, answer.body["next"]) == ([], token)
        assert (await feed(server.client()))[-1]["id"] == token


async def _until_position(server: Server, position: int) -> None:
    while server.service.checkpoint.position != position:
        await server.service.checkpoint.wait(server.service.checkpoint.position + 1, 0.1)


async def test_a_token_of_a_log_that_was_restored_is_410(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    entry_id = await posts.entry("one")
    await posts.update(entry_id, title="Two")
    await server.caught_up()
    *_, kept, lost = await feed(client)
    async with connected(server.url) as connection:
        await connection.execute(
            "UPDATE read_model.change SET at = at + interval '1 ms' "
            "WHERE position = (SELECT max(position) FROM read_model.change)"
        )
    refused(await client.get(f"/v1/changes?after={lost['id']}"), 410, "copy everything again")
    assert (await client.get(f"/v1/changes?after={kept['id']}")).status == 200
    async with connected(server.url) as connection:
        await connection.execute("TRUNCATE read_model.change")
    assert (await client.get(f"/v1/changes?after={kept['id']}")).status == 410


async def test_changes_older_than_what_is_kept_are_410(
    server: Server, posts: ContentBuilder, database_url: str, repository: Repository
) -> None:
    for slug in "abcdefg":
        await posts.entry(slug)
    await server.caught_up()
    found = await feed(server.client())
    async with connected(database_url) as connection:
        await connection.execute(
            "UPDATE read_model.change SET at = at - interval '3 days' "
            "WHERE slug < 'd' OR slug IS NULL"
        )
    async with serving(database_url, repository, projector=False, changes_kept_days=2) as bounded:
        client = bounded.client()
        answer = await client.get("/v1/changes?limit=2")
        assert [change["entry"]["slug"] for change in answer.body["data"]] == ["d", "e"]
        assert answer.body["data"][0]["previous"] not in (None, found[0]["id"])
        following = answer.body["next"]
        assert (await client.get(f"/v1/changes?after={following}")).status == 200
        oldest = (await server.client().get("/v1/changes?limit=3")).body["next"]
        answer = await client.get(f"/v1/changes?after={oldest}")
        refused(answer, 410, "copy everything again")
        assert (await client.get(f"/v1/changes?after={oldest}&events=entry.updated")).status == 200
        now = (await client.get("/v1/changes?after=now&events=contentType.changed")).body["next"]
        query = f"/v1/changes?after={now}&events=contentType.changed"
        assert (await client.get(query)).body["data"] == []
