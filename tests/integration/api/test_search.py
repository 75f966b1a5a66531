"""``q`` on lists: relevance, combinations with every other parameter, and what a key may see."""

from __future__ import annotations

from urllib.parse import quote

import pytest
import pytest_asyncio

from read_side.search import LONGEST
from tests.integration.api.graphql import data, run_query
from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import raws
from write_side.domain.definition import Field
from write_side.domain.events import Translation

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = Field("body", "Body", "rich_text", searchable=True)
RANK = Field("rank", "Rank", "number", indexed=True)
POSTS = "/v1/content/posts?limit=100&"
ALL = "/v1/content?limit=100&"


@pytest.fixture
def server(shared_server: Server) -> Server:
    return shared_server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(shared_server: Server) -> Client:
    server = shared_server
    acme = await server.workspace(staging=True)
    await acme.content_type(BODY, RANK)
    await acme.content_type(BODY, slug="pages")
    globex = await server.workspace("globex")
    await globex.content_type(BODY)
    await globex.entry("theirs", title="Whale", status="published")
    whales = {"status": "published"}
    await acme.entry("title", title="Whale watching", fields=raws(rank=2), **whales)
    await acme.entry("body", title="Sea", fields=raws(body="<p>Two whales</p>", rank=1), **whales)
    await acme.entry("draft", title="Whale draft", fields=raws(rank=3))
    await acme.entry("page", type_slug="pages", title="Whales", status="archived")
    await acme.entry("wal", title="Wale", language="de-DE", **whales)
    translation = {"fr-FR": Translation("Baleine", raws(body="la mer"))}
    await acme.entry("both", title="Whale song", translations=translation, **whales)
    await server.key("published", "acme", ("content.published",))
    await server.caught_up()
    return server.client()


async def slugs(client: Client, path: str) -> list[str]:
    answer = await client.get(path)
    assert answer.status == 200, answer.body
    found = [entry["slug"] for entry in answer.data]
    pagination = answer.body["pagination"]
    assert pagination["total"] in (len(found), None) or "offset" in path or "cursor" in path
    return found


async def test_the_most_relevant_come_first_and_newest_of_the_same_rank(site: Client) -> None:
    assert await slugs(site, POSTS + "q=whale") == ["both", "title", "body"]
    assert await slugs(site, POSTS + "q=whale&status=draft") == ["draft"]
    assert await slugs(site, POSTS + "q=wal&language=de-DE") == ["wal"]
    assert await slugs(site, POSTS + "q=wat") == ["title"]
    assert await slugs(site, POSTS + "q=whale+wat") == ["title"]
    assert await slugs(site, POSTS + "q=watc+whale") == []
    assert set(await slugs(site, ALL + "q=whale")) == {"both", "draft", "title", "page", "body"}
    assert await slugs(site, ALL + "q=whale&type=pages") == ["page"]


async def test_texts_are_those_of_the_locale(site: Client) -> None:
    assert await slugs(site, POSTS + "q=baleines&locale=fr-FR") == ["both"]
    assert await slugs(site, POSTS + "q=mer&locale=fr-FR") == ["both"]
    assert await slugs(site, POSTS + "q=whale&locale=fr-FR") == ["title", "body"]
    assert await slugs(site, POSTS + "q=baleine") == []


async def test_a_search_is_combined_with_filters_sorts_and_totals(site: Client) -> None:
    for query, expected in (
        ("q=whale&sort=fields.rank", ["body", "title", "both"]),
        ("q=whale&sort=-fields.rank", ["title", "body", "both"]),
        ("q=whale&filter[fields.rank][gte]=2", ["title"]),
        ("q=whale&filter[title][contains]=W", ["both", "title"]),
        ("q=whale&filter[title][ne]=Sea&sort=title", ["both", "title"]),
        ("q=whale&filter[status]=draft", []),
        ("q=whale&total=none", ["both", "title", "body"]),
        ("q=whale&offset=1", ["title", "body"]),
        ("q=whale&offset=9", []),
    ):
        assert await slugs(site, POSTS + query) == expected, query
    answer = await site.get("/v1/content/posts?q=whale&limit=1&offset=1")
    assert answer.body["pagination"] == {"limit": 1, "offset": 1, "total": 3}
    [entry_id] = [one["id"] for one in (await site.get(POSTS + "q=sea")).data]
    assert await slugs(site, f"{POSTS}q=whale&filter[id]={entry_id}") == ["body"]
    assert await slugs(site, f"{POSTS}q=whale&filter[id][ne]={entry_id}") == ["both", "title"]


async def test_cursors_page_by_rank(site: Client) -> None:
    for query in ("q=whale", "q=whale&sort=fields.rank", "q=whale&filter[title][exists]=true"):
        found, cursor = [], "first"
        while cursor:
            answer = await site.get(f"/v1/content/posts?limit=1&{query}&cursor={cursor}")
            found += [entry["slug"] for entry in answer.data]
            assert answer.body["pagination"]["total"] == 3
            cursor = answer.body["pagination"]["next"]
        assert found == await slugs(site, POSTS + query)
    first = await site.get("/v1/content/posts?limit=1&q=whale&cursor=first")
    token = first.body["pagination"]["next"]
    for other in ("q=whales", "q=whale&sort=title", "q=whale&locale=fr-FR", ""):
        answer = await site.get(f"/v1/content/posts?limit=1&{other}&cursor={token}")
        assert answer.status == 400, other


async def test_graphql_finds_the_same(site: Client) -> None:
    """Results are ordered by relevance, match the locale's texts, and can be read by cursor."""
    document = """query ($search: String, $locale: String, $limit: Int, $cursor: String) {
      contentEntries(type: "posts", status: published, language: "en-US", search: $search,
                     locale: $locale, limit: $limit, cursor: $cursor) {
        data { slug } pagination { total next } } }"""
    for search, query in (
        ({"search": "whale"}, "q=whale"),
        ({"search": "whale wat"}, "q=whale+wat"),
        ({"search": "mer", "locale": "fr-FR"}, "q=mer&locale=fr-FR"),
        ({"search": "draft"}, "q=draft"),
    ):
        cursor, found = "first", []
        while cursor:
            answer = await data(site, document, **search, limit=1, cursor=cursor)
            page = answer["contentEntries"]
            found += [entry["slug"] for entry in page["data"]]
            cursor = page["pagination"]["next"]
        assert found == await slugs(site, POSTS + query)
        assert page["pagination"]["total"] == len(found)
    [error] = (await run_query(site, document, search="x" * (LONGEST + 1))).body["errors"]
    assert error["message"] == "search is too long: 201 characters; the limit is 200"


async def test_an_empty_search_is_none_and_a_long_one_is_refused(site: Client) -> None:
    plain = (await site.get(POSTS)).body
    for empty in ("q=", "q=+", "q=%20%09"):
        assert (await site.get(POSTS + empty)).body == plain
    for nothing in ("q=!!!", "q=%00", "q=%E2%98%85", "q=" + quote("'#:*&|!()<->\\")):
        assert await slugs(site, POSTS + nothing) == []
    assert await slugs(site, POSTS + "q=" + "x" * LONGEST) == []
    answer = await site.get(POSTS + "q=" + "x" * (LONGEST + 1))
    assert (answer.status, answer.body["error"]) == (
        400,
        "q is too long: 201 characters; the limit is 200",
    )


async def test_the_past_is_not_searched(site: Client) -> None:
    for path in (POSTS, ALL):
        answer = await site.get(path + "q=whale&asOf=2026-01-01")
        assert (answer.status, "asOf" in answer.body["error"]) == (400, True)


async def test_a_key_for_published_entries_finds_no_others(server: Server, site: Client) -> None:
    published = server.client("published")
    assert set(await slugs(published, ALL + "q=whale")) == {"both", "title", "body"}
    assert await slugs(published, ALL + "q=draft") == []
    assert (await published.get(POSTS + "q=whale&status=draft")).status == 403


async def test_other_workspaces_and_environments_are_not_searched(
    server: Server, site: Client
) -> None:
    assert "theirs" not in await slugs(site, ALL + "q=whale")


async def test_more_matches_than_are_ranked_have_no_total(
    site: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("read_side.search.MOST", 2)
    # Another limit than above, because responses are cached.
    answer = await site.get("/v1/content/posts?limit=99&q=whale")
    assert answer.body["pagination"] == {"limit": 99, "offset": 0, "total": None}
    assert [entry["slug"] for entry in answer.data] == ["both", "body"], "the newest"


async def test_an_import_is_found(server: Server) -> None:
    builder = await server.workspace("importers")
    await builder.content_type()
    await builder.imports(
        {"title": f"Imported {number}", "slug": f"imported-{number}"} for number in range(50)
    )
    await server.caught_up()
    found = await slugs(server.client("secret-of-importers"), POSTS + "q=imported&status=draft")
    assert found == [f"imported-{number}" for number in reversed(range(50))]
