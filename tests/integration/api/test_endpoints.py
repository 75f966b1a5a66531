"""The four endpoints described in §2.1 and §4."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
import pytest_asyncio

from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import STAGES, ContentBuilder, raws
from write_side.domain.definition import Field, Option
from write_side.domain.events import Translation

pytestmark = pytest.mark.asyncio(loop_scope="module")

FAQ = Field("faq", "FAQ", "repeater", fields=(Field("q", "Q", "text"),))
FIELDS = (
    Field("lead", "Lead", "text"),
    Field("layout", "Layout", "section"),
    Field("body", "Body", "rich_text"),
    FAQ,
    Field("related", "Related", "reference", multiple=True),
    Field("views", "Views", "number"),
)
TYPE_LIST = [
    "id",
    "title",
    "slug",
    "status",
    "stage",
    "language",
    "locale",
    "publishedAt",
    "createdAt",
    "updatedAt",
    "fields",
]
SINGLE = [*TYPE_LIST[:-1], "contentType", "fields"]
ACROSS = [name for name in SINGLE if name != "language"]
CREATED = ["id", "title", "slug", "status", "contentType", "fields", "createdAt", "updatedAt"]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NEW = {
    "contentTypeSlug": "posts",
    "title": "Hello, World!",
    "fields": {"views": 7, "body": "B", "unknown": 1},
}
SHOWN: dict[str, Any] = {"lead": None, "body": "B", "faq": [], "related": [], "views": 7}


@pytest_asyncio.fixture(loop_scope="module")
async def posts(acme: ContentBuilder) -> str:
    return await acme.content_type(*FIELDS, stages=STAGES)


async def test_create_returns_the_entry_and_a_message(client: Client, posts: str) -> None:
    answer = await client.post(NEW)
    assert list(answer.body) == ["data", "message"]
    assert answer.headers["Content-Type"] == "application/json"
    entry = answer.data
    assert list(entry) == CREATED
    assert entry["contentType"] == {"id": posts, "name": "Posts", "slug": "posts"}
    assert (entry["title"], entry["slug"]) == ("Hello, World!", "hello--world-")
    assert entry["status"] == "draft"
    assert list(entry["fields"]) == list(SHOWN)
    assert entry["fields"] == SHOWN
    assert TIME.fullmatch(entry["createdAt"])
    assert entry["updatedAt"] == entry["createdAt"]
    assert isinstance(answer.body["message"], str)


async def test_single_entry_has_every_property(client: Client, posts: str) -> None:
    created = (await client.post(NEW)).data
    answer = await client.get("/v1/content/posts/hello--world-")
    assert list(answer.body) == ["success", "data"]
    assert answer.body["success"] is True
    entry = answer.data
    assert list(entry) == SINGLE
    assert list(entry["fields"]) == list(SHOWN)
    assert {name: entry[name] for name in CREATED} == created
    assert entry["stage"] == {"id": "writing", "name": "Writing"}
    assert (entry["language"], entry["locale"]) == ("en-US", "en-US")
    assert entry["publishedAt"] is None


async def test_the_list_of_a_type_has_every_property(client: Client, posts: str) -> None:
    created = (await client.post(NEW)).data
    answer = await client.get("/v1/content/posts?status=draft")
    assert list(answer.body) == ["success", "data", "pagination"]
    assert answer.body["pagination"] == {"limit": 10, "offset": 0, "total": 1}
    [entry] = answer.data
    assert list(entry) == TYPE_LIST
    assert list(entry["fields"]) == list(SHOWN)
    shared = set(CREATED) - {"contentType"}
    assert {name: entry[name] for name in shared} == {name: created[name] for name in shared}


async def test_the_list_across_types_has_every_property(client: Client, posts: str) -> None:
    created = (await client.post(NEW)).data
    answer = await client.get("/v1/content")
    assert list(answer.body) == ["data", "pagination"]
    assert answer.body["pagination"] == {"limit": 50, "offset": 0, "total": 1}
    [entry] = answer.data
    assert list(entry) == ACROSS
    assert {name: entry[name] for name in CREATED} == created


async def test_a_write_can_be_read_at_once(client: Client, posts: str) -> None:
    """Twenty clients write concurrently, and each reads its own write."""

    async def write_and_read(n: int) -> None:
        answer = await client.post({"contentTypeSlug": "posts", "title": f"Entry {n}"})
        assert answer.headers["X-Content-Visible"] == "true"
        entry = (await client.get(f"/v1/content/posts/entry-{n}")).data
        assert entry["id"] == answer.data["id"]

    await asyncio.gather(*(write_and_read(n) for n in range(20)))
    assert (await client.get("/v1/content")).body["pagination"]["total"] == 20


async def test_a_locale_selects_texts_field_by_field_in_every_read(
    server: Server, client: Client, acme: ContentBuilder, posts: str
) -> None:
    faq = [{"q": "Why?"}, {"q": "How?"}]
    await acme.entry(
        "one",
        status="published",
        fields=raws(lead="Lead", body="Body", views=7, faq=faq),
        translations={
            "fr-FR": Translation("Un", raws(body="Corps", faq=[{"q": "Pourquoi ?"}, {"q": ""}])),
            "de-DE": Translation(None, raws(lead="Vorspann", faq=[{"q": "Warum?"}])),
        },
    )
    await server.caught_up()
    original = {"lead": "Lead", "body": "Body", "faq": faq, "related": [], "views": 7}
    french = {**original, "body": "Corps", "faq": [{"q": "Pourquoi ?"}, {"q": "How?"}]}
    expected = {
        "en-US": ("One", original),
        "fr-FR": ("Un", french),
        "de-DE": ("One", {**original, "lead": "Vorspann"}),
        "sv-SE": ("One", original),
    }
    for locale, (title, fields) in expected.items():
        for entry in await everywhere(client, f"locale={locale}"):
            assert (entry["title"], entry["fields"]) == (title, fields), locale
            assert (entry["locale"], entry["slug"]) == (locale, "one")
            assert list(entry["fields"]) == list(original)


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
