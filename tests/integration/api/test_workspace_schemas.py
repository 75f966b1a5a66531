"""How the API describes a workspace's own content types: OpenAPI with a key, and JSON Schema."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from msgspec.structs import replace

from api.openapi import routes
from api.openapi.document import document
from api.openapi.workspace import workspace_document
from read_side.content_types import ContentTypeRow
from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import BODY, ContentBuilder, raws
from write_side.domain.definition import Field, Option

pytestmark = pytest.mark.asyncio(loop_scope="module")

DOCUMENT = "/v1/openapi.json"
SCHEMA = "/v1/content-types/posts/schema.json"
CHOICE = Field("mood", "Mood", "select", options=(Option("calm", "Calm"), Option("gale", "Gale")))
NOTES = Field("notes", "Notes", "repeater", fields=(BODY, CHOICE))
AUTHORIZATION = "Authorization, X-API-Key, X-Environment"


def own_paths(body: Any) -> set[str]:
    return set(body["paths"]) - set(document()["paths"])


async def test_a_key_describes_its_workspace(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    await acme.content_type(BODY, NOTES)
    other = await server.workspace("other")
    await other.content_type(slug="theirs")
    await server.caught_up()
    answer = await client.get(DOCUMENT)
    assert own_paths(answer.body) == {"/v1/content/posts", "/v1/content/posts/{slug}"}
    assert {"Posts", "PostsFields", "NewPosts"} <= answer.body["components"]["schemas"].keys()
    assert answer.headers["Vary"].startswith(AUTHORIZATION)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "theirs" not in answer.text
    named = await server.client(None).get(DOCUMENT, headers={"X-API-Key": server.secret()})
    assert named.text == answer.text


async def test_a_new_type_appears_and_changes_the_tag(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    await acme.content_type()
    await server.caught_up()
    before = (await client.get(DOCUMENT)).headers["ETag"]
    known = {"If-None-Match": before}
    assert (await client.get(DOCUMENT, headers=known)).status == 304
    await acme.content_type(slug="authors")
    await server.caught_up()
    answer = await client.get(DOCUMENT, headers=known)
    assert (answer.status, "/v1/content/authors" in own_paths(answer.body)) == (200, True)


async def test_the_document_describes_the_environment_of_the_request(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    staging = await acme.staging()
    await acme.content_type(slug="live")
    await staging.content_type(slug="next")
    await server.caught_up()
    for options in (
        {"params": {"environment": "staging"}},
        {"headers": {"X-Environment": "staging"}},
    ):
        answer = await client.get(DOCUMENT, **options)
        assert own_paths(answer.body) == {"/v1/content/next", "/v1/content/next/{slug}"}
        schema = await client.get("/v1/content-types/next/schema.json", **options)
        assert schema.body["title"] == "Next"
        assert (await client.get(SCHEMA, **options)).status == 404


async def test_the_checks_of_a_content_request_apply(server: Server) -> None:
    await server.workspace(permissions=("content.edit",))
    await server.key("reads-published", "acme", ("content.published",))
    await server.caught_up()
    for path in (DOCUMENT, "/v1/content-types/posts/schema.json"):
        assert (await server.client().get(path)).status == 403
        client = server.client("reads-published")
        assert (await client.get(f"{path}?environment=x")).status == 400
        assert (await client.get(f"{path}?environment=staging")).status in (402, 404)
        assert (await client.get(path, headers={"X-Content-Position": "x"})).status == 400


async def test_entries_fit_the_schema_of_their_type(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    await acme.content_type(BODY, CHOICE, NOTES)
    fields = raws(body="Tide", mood="gale", notes=[{"body": None, "mood": "calm"}, {}])
    await acme.entry("tide", fields=fields)
    await acme.entry("empty")
    calm = replace(CHOICE, options=CHOICE.options[:1])
    await acme.revise_type(BODY, calm, replace(NOTES, fields=(BODY, calm)))
    await server.caught_up()
    schema = (await client.get(SCHEMA)).body
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    for slug in ("tide", "empty"):
        validator.validate((await client.get(f"/v1/content/posts/{slug}")).data)


async def test_a_large_workspace_is_described_in_a_thread(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    described_in: list[threading.Thread] = []

    def noting(rows: Sequence[ContentTypeRow]) -> bytes:
        described_in.append(threading.current_thread())
        return workspace_document(rows)

    monkeypatch.setattr(routes, "workspace_document", noting)
    await acme.content_type()
    await server.caught_up()
    await client.get(DOCUMENT)
    many = [Field(f"f{number}", "F", "select", options=CHOICE.options) for number in range(500)]
    await acme.content_type(*many, slug="many")
    await server.caught_up()
    answer = await client.get(DOCUMENT)
    assert len(own_paths(answer.body)) == 4
    assert len(answer.text) > 100_000, "sent as a large response"
    assert [thread is threading.main_thread() for thread in described_in] == [True, False]


async def test_a_workspace_of_too_many_fields_says_so(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MAX_DESCRIBED", 24)
    await acme.content_type(BODY, CHOICE)
    await acme.content_type(BODY, slug="notes")
    await server.caught_up()
    answer = await client.get(DOCUMENT)
    assert (answer.status, "25 fields" in answer.text) == (400, True), answer.text
    assert (await client.get(SCHEMA)).status == 200


async def test_filters_and_sort_keys_are_those_of_the_type(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    options = (Option("small", "Small"), Option("large", "Large"))
    odd = (Option("1st", "First"), Option("2nd", "Second"))
    await acme.content_type(
        Field("size", "Size", "select", options=options, indexed=True),
        Field("sizes", "Sizes", "select", options=options, multiple=True, indexed=True),
        Field("odd", "Odd", "select", options=odd, indexed=True),
        Field("span", "Span", "datetime", range=True, indexed=True),
        Field("hidden", "Hidden", "select", options=options),
        Field("plain", "Plain", "number"),
    )
    await server.caught_up()
    body = (await client.get(DOCUMENT)).body
    schemas = body["components"]["schemas"]
    size = {"$ref": "#/components/schemas/PostsSize"}
    own = [one for one in body["paths"]["/v1/content/posts"]["get"]["parameters"] if "name" in one]
    assert {one["name"]: one["schema"].get("$ref", "").rpartition("/")[2] for one in own} == {
        "sort": "",
        "filter[fields.size]": "PostsSizeFilter",
        "filter[fields.sizes]": "PostsSizesFilter",
        "filter[fields.odd]": "ValueFilter",
        "filter[fields.span.from]": "TimeFilter",
        "filter[fields.span.to]": "TimeFilter",
    }
    filters = schemas["PostsSizeFilter"]["properties"]
    assert filters.keys() == {"eq", "ne", "in", "nin", "exists"}
    assert [size.items() <= filters[one].items() for one in ("eq", "ne")] == [True, True]
    several = schemas["PostsSizesFilter"]["properties"]
    assert several.keys() == {"contains", "exists"}
    assert several["contains"]["description"] == "Has this value."
    assert schemas["PostsSize"]["enum"] == ["small", "large"]
    assert "PostsHiddenFilter" not in schemas
    [sort] = [one for one in own if one["name"] == "sort"]
    names = re.findall("`([^`]+)`", sort["description"])[2:]
    assert {"id", "status", "fields.size", "fields.odd", "fields.span.to"} <= set(names)
    assert not {"fields.sizes", "fields.hidden", "fields.plain"} & set(names)
    for name in names:
        answer = await client.get(f"/v1/content/posts?sort=-{name}")
        assert (answer.status, bool(re.search(sort["schema"]["pattern"], f"-{name}"))) == (
            200,
            True,
        )
    spaced = " title , -slug "
    assert (await client.get(f"/v1/content/posts?sort={spaced}")).status == 200
    assert re.search(sort["schema"]["pattern"], spaced)
    for wrong in ("fields.plain", "title,slug,id,stage", "title,", "- title", "fieldsXsize"):
        assert not re.search(sort["schema"]["pattern"], wrong), wrong
