"""Specification §4.4: create an entry."""

from __future__ import annotations

import pytest

from tests.conformance.cases import Case, create, get, post, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    all_fields,
    entry,
    envelope,
    error,
    fields,
    is_object_of_texts,
    is_text,
    is_time,
    says,
)
from tests.conformance.isolated_workspace import OpenWorkspace
from tests.conformance.magazine import (
    AT_DESK,
    BOB,
    DESK,
    EDITOR,
    NOBODY,
    NOTHING,
    REHEARSAL,
    SECRET,
    VIEWER,
)
from tests.integration.api.server import Answer

pytestmark = pytest.mark.asyncio(loop_scope="package")

MISSING = "Missing required fields: contentTypeSlug and title"
CREATED = ("id", "title", "slug", "status", "contentType", "fields", "createdAt", "updatedAt")
AUTHOR = AT_DESK.format("aa")
POST_AT_DESK = AT_DESK.format("bb")


def is_created_entry(answer: Answer) -> None:
    shown = answer.data
    assert set(shown) == set(CREATED)
    assert all(is_text(shown[name]) for name in ("id", "title", "slug"))
    assert is_object_of_texts("id", "name", "slug")(shown["contentType"])
    assert is_time(shown["createdAt"])
    assert shown["updatedAt"] == shown["createdAt"]


@table(
    Case(
        "4.4.1 content.edit is enough",
        create("By an editor", type_slug="nothing", key=EDITOR),
        404,
        error("Content type not found"),
    ),
    Case(
        "4.4.1 content.view does not stand for content.edit",
        create("By a viewer", key=VIEWER),
        403,
        says("content.edit"),
    ),
    Case(
        "4.4.2 the body is sent as application/json",
        post(
            {"contentTypeSlug": "posts", "title": "Of a type"},
            headers={"Content-Type": "application/json; charset=utf-8"},
        ),
        200,
        entry(slug="of-a-type"),
    ),
    Case(
        "4.4.4 contentTypeSlug names the type",
        create("Of authors", type_slug="authors"),
        200,
        lambda answer: is_of(answer, "authors", "Authors"),
    ),
    Case(
        "4.4.5 title is the title of the entry",
        create("  A Title, as sent!  "),
        200,
        entry(title="  A Title, as sent!  "),
    ),
    Case(
        "4.4.6 slug defaults to the title, lowercased and hyphenated",
        create("Hello, World!"),
        200,
        entry(slug="hello--world-"),
    ),
    Case(
        "4.4.7 slug may be given",
        create("Some title", slug="of-my-own"),
        200,
        entry(slug="of-my-own", title="Some title"),
    ),
    Case(
        "4.4.8 fields are values by field slug",
        create("With fields", fields={"views": 3, "lead": "L"}),
        200,
        all_fields({**NOTHING, "views": 3, "lead": "L"}),
    ),
    Case("4.4.8 fields are optional", create("Without fields"), 200, all_fields(NOTHING)),
    Case(
        "4.4.9 unknown field slugs are ignored",
        create("Unknown fields", fields={"nonsense": 1, "title": "x", "views": 3}),
        200,
        all_fields({**NOTHING, "views": 3}),
    ),
    Case(
        "2.1.24, 4.4.10 references take ids of entries",
        create("Refers to both", fields={"author": AUTHOR, "related": [POST_AT_DESK, AUTHOR]}),
        200,
        fields(author=AUTHOR, related=[POST_AT_DESK, AUTHOR]),
    ),
    Case("4.4.11 the answer is the created entry", create("All of it"), 200, is_created_entry),
    Case(
        "2.3.4, 4.4.12 and a message of success",
        create("With a message"),
        200,
        envelope("data", "message"),
        lambda answer: is_message(answer),
    ),
    Case(
        "4.4.13 JSON may begin with a byte order mark",
        post(b'\xef\xbb\xbf{"contentTypeSlug": "posts", "title": "With a mark"}'),
        200,
        entry(title="With a mark"),
    ),
    Case(
        "4.4.13 one mark and no more",
        post(b'\xef\xbb\xbf\xef\xbb\xbf{"contentTypeSlug": "posts", "title": "Two marks"}'),
        400,
        error("Request body must be valid JSON"),
    ),
    Case("4.4.13 no body", post(b""), 400, error("Request body must be valid JSON")),
    Case(
        "4.4.13 a body that is no JSON",
        post(b"title=A"),
        400,
        error("Request body must be valid JSON"),
    ),
    Case("4.4.14 an empty contentTypeSlug", create("A", type_slug=""), 400, error(MISSING)),
    Case("4.4.16 a slug that is an array", create("A", slug=["a"]), 400, says("slug", "string")),
    Case("4.4.17 fields that are an array", create("A", fields=[]), 400, says("fields", "object")),
    Case("4.4.17 fields that are a text", create("A", fields="{}"), 400, says("fields", "object")),
    Case(
        "4.4.18 a reference to an entry that was deleted",
        create("A", fields={"author": BOB}),
        400,
        says("'author'", BOB),
    ),
    Case(
        "4.4.18 a reference to an entry of another workspace",
        create("A", fields={"related": [SECRET]}),
        400,
        says("'related'", SECRET),
    ),
    Case(
        "4.4.18 a reference to an entry of another environment",
        create("A", fields={"related": [REHEARSAL]}),
        400,
        says("'related'", REHEARSAL),
    ),
    Case(
        "4.4.19 a reference to an entry of a type that is not allowed",
        create("A", fields={"author": POST_AT_DESK}),
        400,
        says("'author'", "authors"),
    ),
)
async def test_create(case: Case, client: CheckedClient) -> None:
    await client.check(case)


async def test_4_4_3_a_created_entry_can_be_read_as_a_draft(client: CheckedClient) -> None:
    created = (await client.send(create("Read again", fields={"views": 5}))).data
    read = (await client.send(get("/v1/content/posts/read-again", key=DESK))).data
    assert {name: read[name] for name in CREATED} == created
    assert read["status"] == "draft"
    assert read["publishedAt"] is None


async def test_4_4_3_no_property_of_the_body_changes_the_status(client: CheckedClient) -> None:
    others = {"status": "published", "language": "fr-FR", "publishedAt": "2026-01-01", "id": NOBODY}
    created = (await client.send(create("Nothing else", **others))).data
    read = (await client.send(get("/v1/content/posts/nothing-else", key=DESK))).data
    assert created["id"] != NOBODY
    assert (read["status"], read["language"], read["publishedAt"]) == ("draft", "en-US", None)


async def test_4_4_1_a_key_that_may_edit_but_not_view_creates(
    open_workspace: OpenWorkspace,
) -> None:
    workplace = await open_workspace(("content.edit",))
    assert (await workplace.create("Unseen")).data["slug"] == "unseen"
    assert (await workplace.get("/v1/content/posts/unseen")).status == 403


def is_of(answer: Answer, slug: str, name: str) -> None:
    shown = answer.data["contentType"]
    assert (shown["slug"], shown["name"]) == (slug, name)


def is_message(answer: Answer) -> None:
    assert "created" in answer.body["message"]
