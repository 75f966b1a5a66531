"""The content type endpoints return complete definitions, including sections."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import BODY, STAGES, ContentBuilder
from write_side.domain.definition import Field, Option

pytestmark = pytest.mark.asyncio(loop_scope="module")

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
FIELDS = (
    Field("layout", "Layout", "section"),
    Field("body", "Body", "rich_text", required=True, searchable=True),
    Field("campaign", "Campaign", "datetime", range=True, indexed=True),
    Field("tags", "Tags", "select", multiple=True, options=(Option("a", "A"), Option("b", "B"))),
    Field("author", "Author", "reference", to=("authors", "posts")),
    Field("faq", "FAQ", "repeater", fields=(Field("q", "Q", "text", required=True),)),
)
PROPERTIES = ["id", "name", "slug", "workflow", "fields", "createdAt", "updatedAt"]


def field(slug: str, name: str, kind: str, **more: Any) -> dict[str, Any]:
    """The field as in responses: with every property, whatever its type."""
    nothing: dict[str, Any] = {
        "required": False,
        "multiple": False,
        "range": False,
        "options": [],
        "to": [],
        "fields": [],
        "indexed": False,
        "searchable": False,
    }
    return {"slug": slug, "name": name, "type": kind, **nothing, **more}


SHOWN = [
    field("layout", "Layout", "section"),
    field("body", "Body", "rich_text", required=True, searchable=True),
    field("campaign", "Campaign", "datetime", range=True, indexed=True),
    field(
        "tags",
        "Tags",
        "select",
        multiple=True,
        options=[{"value": "a", "label": "A"}, {"value": "b", "label": "B"}],
    ),
    field("author", "Author", "reference", to=["authors", "posts"]),
    field("faq", "FAQ", "repeater", fields=[field("q", "Q", "text", required=True)]),
]


async def test_a_type_is_shown_whole(server: Server, client: Client, acme: ContentBuilder) -> None:
    type_id = await acme.content_type(*FIELDS, stages=STAGES)
    await server.caught_up()
    answer = await client.get("/v1/content-types/posts")
    assert list(answer.body) == ["success", "data"]
    assert answer.body["success"] is True
    shown = answer.data
    assert list(shown) == PROPERTIES
    assert (shown["id"], shown["name"], shown["slug"]) == (type_id, "Posts", "posts")
    stages = [{"id": "writing", "name": "Writing"}, {"id": "review", "name": "Review"}]
    assert shown["workflow"] == {"stages": stages}
    assert shown["fields"] == SHOWN
    assert list(shown["fields"][0]) == list(SHOWN[0])
    assert TIME.fullmatch(shown["createdAt"])
    assert shown["updatedAt"] == shown["createdAt"]


async def test_all_are_listed_by_slug(server: Server, client: Client, acme: ContentBuilder) -> None:
    await server.caught_up()
    assert (await client.get("/v1/content-types")).body == {"success": True, "data": []}
    for slug in ("posts", "authors", "zines"):
        await acme.content_type(slug=slug)
    await server.caught_up()
    types = (await client.get("/v1/content-types")).data
    assert [shown["slug"] for shown in types] == ["authors", "posts", "zines"]
    assert types[1] == (await client.get("/v1/content-types/posts")).data
    assert types[1]["workflow"] is None


async def test_a_revision_is_visible(server: Server, client: Client, acme: ContentBuilder) -> None:
    await acme.content_type()
    await acme.revise_type(replace(BODY, name="Text"), stages=STAGES[:1])
    await server.caught_up()
    shown = (await client.get("/v1/content-types/posts")).data
    assert [f["name"] for f in shown["fields"]] == ["Text"]
    assert shown["workflow"] == {"stages": [{"id": "writing", "name": "Writing"}]}
    assert shown["updatedAt"] >= shown["createdAt"]


async def test_content_types_belong_to_one_workspace_and_environment(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    other = await server.workspace("other")
    staging = await acme.staging()
    await acme.content_type(slug="live")
    await staging.content_type(slug="next")
    await other.content_type(slug="theirs")
    await server.caught_up()

    async def slugs(**headers: str) -> list[str]:
        answer = await client.get("/v1/content-types", headers=headers)
        return [shown["slug"] for shown in answer.data]

    assert await slugs() == ["live"]
    assert await slugs(**{"X-Environment": "staging"}) == ["next"]
    for unknown in ("next", "theirs", "nothing", "a%00b", "%FF", "%F0%9F%98%80"):
        answer = await client.get(f"/v1/content-types/{unknown}")
        assert (answer.status, answer.body) == (404, {"error": "Content type not found"})
