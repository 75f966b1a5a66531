"""Reads of what has just been written or revised, and HEAD."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import pytest_asyncio

from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import STAGES, ContentBuilder, raws
from write_side.domain.definition import Field, Option
from write_side.domain.events import Translation

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIELDS = (
    Field("lead", "Lead", "text"),
    Field("layout", "Layout", "section"),
    Field("body", "Body", "rich_text"),
    Field("faq", "FAQ", "repeater", fields=(Field("q", "Q", "text"),)),
    Field("related", "Related", "reference", multiple=True),
    Field("views", "Views", "number"),
)


@pytest_asyncio.fixture(loop_scope="module")
async def posts(acme: ContentBuilder) -> str:
    return await acme.content_type(*FIELDS, stages=STAGES)


async def test_a_write_can_be_read_at_once(client: Client, posts: str) -> None:
    """Twenty clients write concurrently, and each reads its own write."""

    async def write_and_read(n: int) -> None:
        answer = await client.post({"contentTypeSlug": "posts", "title": f"Entry {n}"})
        assert answer.headers["X-Content-Visible"] == "true"
        entry = (await client.get(f"/v1/content/posts/entry-{n}")).data
        assert entry["id"] == answer.data["id"]

    await asyncio.gather(*(write_and_read(n) for n in range(20)))
    assert (await client.get("/v1/content")).body["pagination"]["total"] == 20


async def everywhere(client: Client, query: str) -> list[Any]:
    """The only entry, as returned by each of the four reads."""
    return [
        (await client.get(f"/v1/content/posts?{query}")).data[0],
        (await client.get(f"/v1/content/posts/one?{query}")).data,
        (await client.get(f"/v1/content?{query}")).data[0],
        (await client.get(f"/v1/content?type=posts&{query}")).data[0],
    ]


async def test_a_changed_type_is_visible_at_once_in_every_read(
    server: Server,
    client: Client,
    acme: ContentBuilder,
    posts: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Entries are rendered on reading, also in a locale: the background update is disabled."""

    async def nothing(*_: object) -> bool:
        return False

    monkeypatch.setattr("projector.follower.update_chunk", nothing)
    await acme.entry(
        "one",
        status="published",
        fields=raws(lead="Lead", body="Body", views=7),
        translations={"fr-FR": Translation("Un", raws(body="Corps"))},
    )
    await server.caught_up()  # otherwise the row would be written with the changed type
    extra = Field("extra", "Extra", "select", options=(Option("a", "A"),), multiple=True)
    await acme.revise_type(extra, FIELDS[2], FIELDS[4], stages=(STAGES[1],))
    await server.caught_up()
    for query, title, body in (("", "One", "Body"), ("locale=fr-FR", "Un", "Corps")):
        for entry in await everywhere(client, query):
            shown: dict[str, Any] = {"extra": None, "body": body, "related": []}
            assert (entry["title"], entry["fields"]) == (title, shown)
            assert list(entry["fields"]) == list(shown)
            assert entry["stage"] == {"id": "review", "name": "Review"}


async def test_head_responds_like_get_without_a_body(
    server: Server, client: Client, posts: str
) -> None:
    await server.caught_up()
    answer = await client.ask("HEAD", "/v1/content/posts")
    assert (answer.status, answer.text) == (200, "")
