"""Our readings: ``select`` and ``include``."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.cases import Case, Expectation, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    all_fields,
    envelope,
    every_entry,
    field_slugs,
    properties,
    says,
    slugs,
)
from tests.conformance.isolated_workspace import OpenWorkspace
from tests.conformance.magazine import ADA, FAQ, HARBOUR, SAVED, WEB_PAGE
from tests.integration.api.server import Answer
from tests.integration.projector.sample_log import raws
from write_side import commands as c

pytestmark = pytest.mark.asyncio(loop_scope="package")

POSTS, ALL, ONE = "/v1/content/posts", "/v1/content", "/v1/content/posts/harbour"
FILES: dict[str, Any] = {
    name: {
        "id": name,
        "url": f"https://cdn.example.com/{name}.png",
        "name": f"{name}.png",
        "contentType": "image/png",
    }
    for name in ("hero", "map")
}


def includes(*entries: str, media: tuple[str, ...] = ()) -> Expectation:
    def expect(answer: Answer) -> None:
        found = answer.body["includes"]
        assert list(found) == ["entries", "media"]
        assert {name: one["id"] for name, one in found["entries"].items()} == {
            name: name for name in entries
        }
        assert found["media"] == {name: FILES[name] for name in media}

    return expect


def in_order(*names: str) -> Expectation:
    def expect(answer: Answer) -> None:
        assert list(answer.body["data"]) == list(names)

    return expect


def included_entry(**expected: Any) -> Expectation:
    def expect(answer: Answer) -> None:
        [shown] = answer.body["includes"]["entries"].values()
        assert {name: shown[name] for name in expected} == expected
        assert "language" not in shown
        assert shown["contentType"]["slug"] == "authors"

    return expect


@table(
    Case("select.1 of a list", get(f"{POSTS}?select=title"), 200, properties(("id", "title"))),
    Case("select.1 of all", get(f"{ALL}?select=title"), 200, properties(("id", "title"))),
    Case("select.1 of one", get(f"{ONE}?select=title"), 200, properties(("id", "title"))),
    Case(
        "select.2 the list of a type has a language",
        get(f"{POSTS}?select=language"),
        200,
        every_entry("language", "en-US"),
    ),
    Case("select.2 but no type", get(f"{POSTS}?select=contentType"), 400, says("contentType")),
    Case("select.2 across types the reverse", get(f"{ALL}?select=contentType"), 200),
    Case("select.2 and no language", get(f"{ALL}?select=language"), 400, says("language")),
    Case(
        "select.3 one field",
        get(f"{POSTS}?select=fields.lead"),
        200,
        properties(("id", "fields")),
        field_slugs(("lead",)),
    ),
    Case("select.3 all of them", get(f"{ONE}?select=fields"), 200, all_fields(SAVED)),
    Case(
        "select.4 of members and fields",
        get(f"{ONE}?select=fields.faq,title,fields.views,slug"),
        200,
        in_order("id", "title", "slug", "fields"),
        all_fields({"views": 7, "faq": FAQ}),
    ),
    Case(
        "select.5 fields of two types",
        get(f"{ALL}?type=authors&select=fields.bio"),
        200,
        field_slugs(("bio",)),
    ),
    Case("select.5 of others", get(f"{ALL}?select=fields.bio,fields.text&limit=1"), 200),
    Case(
        "select.6 a member",
        get(f"{POSTS}?select=title,name"),
        400,
        says("Unknown member 'name'", "id, title, slug, status", "fields.SLUG"),
    ),
    Case(
        "select.6 a field",
        get(f"{POSTS}?select=fields.bio"),
        400,
        says("'fields.bio'", "author, body, campaign"),
    ),
    Case("select.6 a section", get(f"{POSTS}?select=fields.intro"), 400, says("fields.intro")),
    Case("select.6 nothing", get(f"{POSTS}?select=title,"), 400, says("Unknown member ''")),
    Case("select.7 51", get(f"{POSTS}?select={'id,' * 50}id"), 400, says("51 names", "50")),
    Case("select.7 50", get(f"{POSTS}?select={'id,' * 49}id"), 200, properties(("id",))),
    Case("select.8 empty", get(f"{POSTS}?select="), 200, every_entry("fields", bool)),
    Case(
        "select.9 beside include",
        get(f"{ONE}?select=id&include=author"),
        200,
        properties(("id",)),
        included_entry(title="Ada"),
    ),
    Case(
        "include.1 of a list",
        get(f"{POSTS}?include=author,gallery"),
        200,
        envelope("success", "data", "pagination", "includes"),
        includes(ADA, media=("hero", "map")),
    ),
    Case(
        "include.1 of one",
        get(f"{ONE}?include=cover,author"),
        200,
        envelope("success", "data", "includes"),
        includes(ADA, media=("hero",)),
    ),
    Case("include.1 not on the page", get(f"{POSTS}?limit=1&include=author"), 200, includes()),
    Case("include.2 two levels", get(f"{ONE}?include=related.related"), 200, includes(ADA)),
    Case("include.2 and media", get(f"{POSTS}?include=related.cover"), 200, includes(ADA)),
    Case(
        "include.3 its shape",
        get(f"{ONE}?include=author&locale=fr-FR"),
        200,
        included_entry(title="Ada", locale="fr-FR", status="draft"),
    ),
    Case(
        "include.5 a draft",
        get(f"{ONE}?include=author,related,cover", key=WEB_PAGE),
        200,
        includes(media=("hero",)),
    ),
    Case(
        "include.6 of those that have it",
        get(f"{ALL}?include=author,cover&limit=100"),
        200,
        envelope("data", "pagination", "includes"),
        includes(ADA, media=("hero",)),
    ),
    Case("include.6 of one type", get(f"{ALL}?type=notes&include=author"), 400, says("author")),
    Case(
        "include.7 no field",
        get(f"{POSTS}?include=writer"),
        400,
        says("Unknown path 'writer'", "use one of author, cover, gallery, related"),
    ),
    Case("include.7 of a text", get(f"{POSTS}?include=body"), 400, says("'body' refers")),
    Case("include.7 below", get(f"{POSTS}?include=author.bio"), 400, says("'author.bio'", "none")),
    Case("include.7 a file", get(f"{POSTS}?include=cover.author"), 400, says("media files")),
    Case("include.8 a repeater", get(f"{POSTS}?include=faq.q"), 400, says("inside repeaters")),
    Case("include.9 11 paths", get(f"{POSTS}?include={'author,' * 10}author"), 400, says("10")),
    Case(
        "include.9 4 levels",
        get(f"{POSTS}?include=related.related.related.related"),
        400,
        says("4 levels", "limit is 3"),
    ),
    Case("include.9 3 levels", get(f"{POSTS}?include=related.related.related"), 200),
    Case("include.10 before the type", get(f"{ONE}?asOf=2020-01-01&include=author"), 404),
    Case("include.11 empty", get(f"{ONE}?include="), 200, envelope("success", "data")),
    Case(
        "include.11 beside a path",
        get(f"{POSTS}?include=author,&limit=1"),
        400,
        says("Unknown path ''"),
    ),
    Case("include.12 of the page", get(f"{POSTS}?include=author"), 200, slugs("plain", "harbour")),
)
async def test_select_and_include(case: Case, client: CheckedClient) -> None:
    await client.check(case)


async def test_select_10_shows_an_entry_of_the_past(client: CheckedClient) -> None:
    whole = (await client.send(get(ONE))).data
    path = f"{ONE}?asOf={whole['updatedAt'].replace('Z', '999Z')}&select=title,fields."
    answer = await client.send(get(f"{path}views"))
    assert answer.data == {"id": HARBOUR, "title": "Harbour", "fields": {"views": 7}}
    says("'fields.nope'")(await client.send(get(f"{path}nope")))


async def test_include_10_shows_what_an_entry_of_the_past_referred_to(
    client: CheckedClient,
) -> None:
    found = (await client.send(get(f"{ONE}?include=author,cover"))).body["includes"]
    [author] = found["entries"].values()
    # The later of the two times: the entry and its author may have changed at different times.
    times = [(await client.send(get(ONE))).data["updatedAt"], author["updatedAt"]]
    path = f"{ONE}?asOf={max(times).replace('Z', '999Z')}&include=author,cover"
    assert (await client.send(get(path))).body["includes"] == found


async def test_include_4_omits_what_is_deleted(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    ada = await workspace.builder.entry("ada", type_slug="authors")
    await workspace.builder.entry("one", fields=raws(author=ada, cover="hero"))
    await workspace.wait_until_projected()
    path = "/v1/content/posts/one?include=author,cover"
    assert (await workspace.get(path)).body["includes"]["entries"].keys() == {ada}
    await workspace.builder.delete(ada)
    await workspace.builder.execute(c.RemoveMedia, workspace=workspace.slug, media_id="hero")
    await workspace.wait_until_projected()
    assert (await workspace.get(path)).body["includes"] == {"entries": {}, "media": {}}


async def test_include_12_has_the_tag_and_position_of_a_read(client: CheckedClient) -> None:
    answer = await client.send(get(f"{POSTS}?include=author"))
    assert "X-Content-Position" in answer.headers
    tag = {"If-None-Match": answer.headers["ETag"]}
    assert (await client.send(get(f"{POSTS}?include=author", headers=tag))).status == 304
