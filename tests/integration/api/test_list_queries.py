"""Filters, sort keys, cursors and totals of lists, over HTTP and GraphQL."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio

from read_side.queries import budget, finder
from read_side.queries.request import OPERATORS
from tests.integration.api.graphql import data, run_query
from tests.integration.api.server import Answer, Client, Server
from tests.integration.api.test_refusals import refused
from tests.integration.projector.sample_log import STAGES, raws
from write_side.commands import RemoveContentType
from write_side.domain.definition import Field, Option

pytestmark = pytest.mark.asyncio(loop_scope="module")

PUBLISHED_ONLY = "secret-of-a-reader"
POSTS = "/v1/content/posts"
COLOURS = (Option("red", "Red"), Option("blue", "Blue"))
FIELDS = (
    Field("price", "Price", "number", indexed=True),
    Field("lead", "Lead", "text", indexed=True),
    Field("on_sale", "On sale", "boolean", indexed=True),
    Field("when", "When", "datetime", indexed=True),
    Field("span", "Span", "datetime", range=True, indexed=True),
    Field("colours", "Colours", "select", options=COLOURS, multiple=True, indexed=True),
    Field("author", "Author", "reference", indexed=True),
    Field("meta", "Meta", "json"),
    Field("plain", "Plain", "number"),
    Field("prose", "Prose", "rich_text"),
)
NUMBER = 30
DEAD = "018f0000-0000-7000-8000-00000000dead"


def everything(_number: int) -> bool:
    return True


def nothing(_number: int) -> bool:
    return False


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(shared_server: Server) -> Server:
    await write_posts(shared_server)
    return shared_server


async def write_posts(server: Server) -> None:
    """Create posts 0 to 29. Every third is a draft. The price is n modulo 7; post 7 has none."""
    builder = await server.workspace(staging=True)
    await server.key(PUBLISHED_ONLY, "acme", ("content.published",))
    await builder.content_type(*FIELDS, stages=STAGES)
    await builder.content_type(Field("text", "Text", "text"), slug="notes")
    for number in range(NUMBER):
        await builder.entry(
            f"post-{number}",
            title=f"Post {number}, the {'even' if number % 2 == 0 else 'Odd'}",
            status="published" if number % 3 else "draft",
            fields=values(number),
        )
    await builder.entry("note", type_slug="notes", status="published")
    other = await server.workspace("other")
    await other.content_type(*FIELDS)
    await other.entry("theirs", status="published", fields=raws(price=1))
    await server.caught_up()


def values(number: int) -> Any:
    price = {} if number == 7 else {"price": number % 7}
    return raws(
        **price,
        lead="x" * 1001 if number == 4 else f"Lead {number}",
        on_sale=number % 2 == 0,
        when=f"2026-01-{number + 1:02}",
        span={"from": f"2026-01-{number + 1:02}", "to": f"2026-02-{number % 28 + 1:02}"},
        colours=["red", "blue"][: number % 3],
        meta={},
    )


def names(answer: Answer) -> list[int]:
    """The numbers of the posts on a page."""
    return [int(one["slug"].removeprefix("post-")) for one in answer.data]


def published(*, where: Any = everything) -> list[int]:
    return [n for n in reversed(range(NUMBER)) if n % 3 and where(n)]


FOUND: dict[str, Any] = {
    "filter[fields.price]=1": lambda n: n % 7 == 1,
    "filter[fields.price][eq]=1.0": lambda n: n % 7 == 1,
    "filter[fields.price][gte]=5": lambda n: n != 7 and n % 7 >= 5,
    "filter[fields.price][gte]=2&filter[fields.price][lt]=4": lambda n: n % 7 in (2, 3),
    "filter[fields.price][in]=1,3": lambda n: n % 7 in (1, 3),
    "filter[fields.price][nin]=0,1,2,3": lambda n: n == 7 or n % 7 > 3,
    "filter[fields.price][ne]=1": lambda n: n % 7 != 1,
    "filter[fields.price][exists]=false": lambda n: n == 7,
    "filter[fields.lead]=Lead 5": lambda n: n == 5,
    "filter[fields.lead][startsWith]=Lead 1": lambda n: str(n)[0] == "1" and n != 4,
    "filter[fields.lead][startsWith]=lead 1": nothing,
    "filter[fields.lead][contains]=LEAD 1": lambda n: str(n)[0] == "1",
    "filter[fields.lead][exists]=true": everything,
    "filter[fields.lead][gte]=a": nothing,
    "filter[title][contains]=odd": lambda n: n % 2 == 1,
    'filter[title][in]="Post 1, the Odd","Post 2, the even"': lambda n: n in (1, 2),
    "filter[fields.on_sale]=true": lambda n: n % 2 == 0,
    "filter[fields.when]=2026-01-05T02:00:00+02:00": lambda n: n == 4,
    "filter[fields.when][gt]=2026-01-20": lambda n: n > 19,
    "filter[fields.span.from][lte]=2026-01-03": lambda n: n < 3,
    "filter[fields.span.to]=2026-02-01": lambda n: n in (0, 28),
    "filter[fields.colours][contains]=blue": lambda n: n % 3 == 2,
    "filter[fields.colours][exists]=true": everything,
    "filter[fields.author][exists]=true": nothing,
    "filter[stage]=writing": everything,
    "filter[stage][ne]=writing": nothing,
    "filter[createdAt][gt]=2020-01-01": everything,
    "filter[publishedAt][lt]=2020-01-01": nothing,
    "filter[slug]=post-8": lambda n: n == 8,
    "filter[status]=draft": nothing,
    "filter[language][ne]=fr-FR": everything,
    "filter[contentType]=notes": nothing,
    f"filter[id]={DEAD}": nothing,
    f"filter[fields.author]={DEAD}": nothing,
    f"filter[fields.author][ne]={DEAD}": everything,
    "filter[fields.on_sale]=true&filter[fields.price][gt]=2&filter[title][contains]=1": (
        lambda n: n % 2 == 0 and n % 7 > 2 and "1" in str(n)
    ),
}


async def test_filters(server: Server) -> None:
    operators = set(re.findall(r"\]\[(\w+)\]", " ".join(FOUND)))
    assert operators == set(OPERATORS), "add a query for each operator to FOUND"
    for query, where in FOUND.items():
        answer = await server.client().get(f"{POSTS}?limit=100&{encoded(query)}")
        expected = published(where=where)
        assert names(answer) == expected, query
        total = {"limit": 100, "offset": 0, "total": len(expected)}
        assert answer.body["pagination"] == total, query


def encoded(query: str) -> str:
    return quote(query, safe="=&[],:")


SORTS = {
    "id": lambda one: one["id"],
    "title": lambda one: one["title"],
    "slug": lambda one: one["slug"],
    "status": lambda one: one["status"],
    "contentType": lambda one: one["contentType"]["slug"],
    "createdAt": lambda one: one["createdAt"],
    "updatedAt": lambda one: one["updatedAt"],
}
"""The built-in fields that every entry has and that the sorted list across types includes."""


async def test_lists_are_sorted_by_every_built_in_field(server: Server) -> None:
    client = server.client()
    newest_first = (await client.get("/v1/content?limit=100")).data
    for name, key in SORTS.items():
        for descending in (False, True):
            query = f"sort={'-' * descending}{name}"
            expected = [one["id"] for one in sorted(newest_first, key=key, reverse=descending)]
            found = await client.get(f"/v1/content?limit=100&{query}")
            assert [one["id"] for one in found.data] == expected, query
            paged = await client.get(f"/v1/content?limit=9&offset=8&{query}")
            assert [one["id"] for one in paged.data] == expected[8:17], query
            assert paged.body["pagination"]["total"] == NUMBER + 1
            now = quote(newest_first[0]["updatedAt"])
            past = await client.get(f"/v1/content?limit=100&{query}&asOf={now}")
            assert [one["id"] for one in past.data] == expected, query


async def test_a_list_of_one_type_is_sorted_by_its_attributes(server: Server) -> None:
    for name in ("status", "language", "contentType", "stage", "publishedAt"):
        for sort in (name, f"-{name}"):
            answer = await server.client().get(f"{POSTS}?limit=100&sort={sort},title")
            assert sorted(names(answer)) == sorted(published()), sort
    mixed = "fields.on_sale,-status,-title"
    answer = await server.client().get(f"{POSTS}?limit=100&sort={mixed}")
    assert names(answer) == sorted(
        published(), key=lambda n: (n % 2 != 0, f"Post {n}"), reverse=True
    )


async def test_pages_by_cursor_are_the_whole_list(server: Server) -> None:
    for query in (
        "",
        "&sort=-fields.price",
        "&sort=fields.on_sale,-title",
        "&sort=fields.lead",
        "&sort=-status,fields.price",
        "&sort=contentType,-id",
        "&sort=-id",
    ):
        whole = names(await server.client().get(f"{POSTS}?limit=100{query}"))
        assert sorted(whole) == sorted(published())
        assert await walked(server.client(), f"{POSTS}?limit=3{query}") == whole


async def walked(client: Client, path: str) -> list[int]:
    found, cursor = [], "first"
    while cursor:
        answer = await client.get(f"{path}&cursor={cursor}")
        found += names(answer)
        pagination = answer.body["pagination"]
        assert list(pagination) == ["limit", "total", "next"]
        assert pagination["total"] == 20
        cursor = pagination["next"]
    return found


async def test_cursors_of_others_are_refused(server: Server) -> None:
    first = await server.client().get(f"{POSTS}?cursor=first&limit=2")
    cursor = first.body["pagination"]["next"]
    theirs = server.client("secret-of-other")
    for client, path in (
        (theirs, f"{POSTS}?cursor={cursor}"),
        (server.client(), f"{POSTS}?cursor={cursor}&sort=title"),
        (server.client(), f"{POSTS}?cursor={cursor}&filter[title]=a"),
        (server.client(), f"{POSTS}?cursor={cursor}&status=draft"),
        (server.client(), f"{POSTS}?cursor={cursor}&environment=staging"),
        (server.client(), f"/v1/content?cursor={cursor}"),
        (server.client(), f"{POSTS}?cursor={cursor[:-4]}AAAA"),
    ):
        answer = await client.get(path)
        assert answer.status in (400, 404), path
        assert answer.status == 404 or "Unknown cursor" in answer.body["error"]
    assert (await server.client().get(f"{POSTS}?cursor={cursor}&limit=7")).status == 200


async def test_a_cursor_of_a_removed_type_is_refused_in_a_new_one(server: Server) -> None:
    builder, client = await server.workspace("renewed"), server.client("secret-of-renewed")
    cursors = []
    for title in ("old", "new"):
        await builder.content_type(slug="posts")
        ids = [await builder.entry(f"{title}-{n}", status="published") for n in range(2)]
        await server.caught_up()
        first = await client.get(f"{POSTS}?cursor=first&limit=1")
        cursors.append(f"{POSTS}?cursor={first.body['pagination']['next']}")
        if title == "old":
            for entry_id in ids:
                await builder.delete(entry_id)
            await builder.execute(RemoveContentType, scope=builder.scope, slug="posts")
    refused(await client.get(cursors[0]), 400, "Unknown cursor")
    assert [one["slug"] for one in (await client.get(cursors[1])).data] == ["new-0"]


async def test_without_a_total(server: Server) -> None:
    for query in ("", "&sort=title", "&filter[fields.price]=1"):
        answer = await server.client().get(f"{POSTS}?total=none&limit=1{query}")
        assert answer.body["pagination"] == {"limit": 1, "offset": 0, "total": None}


REFUSED = {
    "filter[nope]=1": "Unknown field 'nope' in filter[nope]: use id, title, slug, "
    "stage, createdAt, updatedAt, publishedAt, status, language, contentType, fields.price",
    "filter[fields.nope]=1": "Unknown field 'fields.nope' in filter[fields.nope]",
    "filter[price]=1": "Unknown field 'price'",
    "filter[fields.price.from]=1": "Unknown field 'fields.price.from' in "
    "filter[fields.price.from]: use fields.price",
    "filter[fields.span]=2026-01-01": "Unknown field 'fields.span' in filter[fields.span]: "
    "use fields.span.from or fields.span.to",
    "filter[fields.meta]=1": "Field 'fields.meta' in filter[fields.meta] is of type json",
    "filter[fields.prose]=1": "Field 'fields.prose' in filter[fields.prose] is of type rich_text",
    "filter[fields.plain]=1": "Field 'fields.plain' in filter[fields.plain] can be neither "
    "filtered nor sorted: it needs the setting 'indexed: true'",
    "sort=fields.plain": "Field 'fields.plain' in sort can be neither filtered nor sorted",
    "sort=nope": "Unknown field 'nope' in sort: use id, title, slug, stage, createdAt, updatedAt, "
    "publishedAt, status, language, contentType, fields.price, fields.lead, fields.on_sale, "
    "fields.when, fields.span.from, fields.span.to, fields.author",
    "sort=fields.colours": "Field 'fields.colours' in sort has several values",
    "filter[fields.price]=abc": "'abc' in filter[fields.price] must be a number",
    "filter[fields.price]=1e99999": "'1e99999' in filter[fields.price] is too long to be compared: "
    "numbers have up to 1,000 digits",
    "filter[fields.price][contains]=1": "Operator 'contains' does not apply to 'fields.price'",
    "filter[fields.colours]=red": "Operator 'eq' does not apply to 'fields.colours' in "
    "filter[fields.colours]: use contains, exists",
    "filter[fields.on_sale]=yes": "'yes' in filter[fields.on_sale] must be true or false",
    "filter[fields.on_sale][gt]=true": "Operator 'gt' does not apply to 'fields.on_sale'",
    "filter[fields.when]=tomorrow": "'tomorrow' in filter[fields.when] must be an ISO 8601 date",
    "filter[fields.author]=ada": "'ada' in filter[fields.author] must be the id of an entry",
    f"filter[fields.author][in]={DEAD},x": "'x' in filter[fields.author][in] must be the id of",
    f"filter[fields.author][ne]={DEAD.upper()}": "'018F0000-0000-7000-8000-00000000DEAD' in",
    "filter[title][exists]=1": "'1' in filter[title][exists] must be true or false",
    "filter[id]=1": "'1' in filter[id] must be a UUID in lower case",
    "filter[status]=live": "Unknown status 'live' in filter[status]: use published, draft or",
    "filter[status][gt]=draft": "Operator 'gt' does not apply to 'status'",
    "filter[title]=%00": "The value of filter[title] has characters that no entry has",
    f"filter[title]={'x' * 10_000}": "A value of filter[title] is too long: at most 1,000 bytes",
    f"filter[{'x' * 10_000}]=1": "Unknown field 'xxx",
    f"filter[title]={'%E2%98%85' * 3_333}": "A value of filter[title] is too long: at most 1,000",
    f"filter[title][in]={'a,' * 100}a": "filter[title][in] has too many values: at most 100",
    f"sort={'x' * 10_000}": "Unknown field 'xxx",
    f"cursor={'x' * 10_000}": "Unknown cursor",
    f"q={'x' * 10_000}": "q is too long: 10,000 characters; the limit is 200",
    "cursor=first&offset=1": "cursor and offset exclude each other",
    "cursor=abc": "Unknown cursor",
    "total=1": "Unknown total '1'",
}


async def test_bad_input_is_named(server: Server) -> None:
    for query, message in REFUSED.items():
        answer = await server.client().get(f"{POSTS}?{query}")
        assert answer.status == 400, (query, answer.text)
        assert answer.body["error"].startswith(message), query


async def test_custom_fields_are_refused_across_types(server: Server) -> None:
    for query in ("filter[fields.price]=1", "sort=fields.price", "filter[fields.plain]=1"):
        answer = await server.client().get(f"/v1/content?type=posts&{query}")
        assert answer.status == 400
        assert "in a list across types, where only built-in fields can: use" in answer.body["error"]


async def test_published_is_all_that_some_keys_see(server: Server) -> None:
    client = server.client(PUBLISHED_ONLY)
    found = await client.get("/v1/content?filter[createdAt][gt]=2020-01-01&type=posts&limit=100")
    assert names(found) == published()
    draft = (await server.client().get(f"{POSTS}?status=draft&limit=1")).data[0]
    for query in ("filter[status]=draft", f"filter[id]={draft['id']}", "filter[slug]=post-0"):
        answer = await client.get(f"/v1/content?{query}")
        assert (answer.data, answer.body["pagination"]["total"]) == ([], 0)
    whole = await client.get("/v1/content?cursor=first&sort=-title&type=posts")
    assert whole.body["pagination"]["total"] == 20
    assert (await client.get(f"{POSTS}?status=draft&sort=title")).status == 403


async def test_workspaces_are_isolated(server: Server) -> None:
    theirs = server.client("secret-of-other")
    assert [one["slug"] for one in (await theirs.get(f"{POSTS}?sort=title")).data] == ["theirs"]
    mine = await server.client().get(f"{POSTS}?filter[slug]=theirs")
    assert mine.body["pagination"]["total"] == 0
    [their] = (await theirs.get(POSTS)).data
    assert (await server.client().get(f"/v1/content?filter[id]={their['id']}")).data == []
    staging = await server.client().get("/v1/content?filter[slug]=post-1&environment=staging")
    assert staging.status in (200, 404)


async def test_large_entries_are_sent_from_files(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [f"{POSTS}?sort=-fields.price", f"{POSTS}?cursor=first&filter[fields.price][gt]=1"]
    expected = [await server.client().get(path) for path in paths]
    monkeypatch.setattr("read_side.queries.pages.INLINE", 10)
    server.forget()
    for path, known in zip(paths, expected, strict=True):
        answer = await server.client().get(path)
        assert (answer.text, answer.headers["ETag"]) == (known.text, known.headers["ETag"])


async def test_a_query_that_would_read_too_much_is_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finder, "ROWS", 2)
    monkeypatch.setattr(budget, "ROWS", 2)
    answer = await server.client().get(
        f"{POSTS}?filter[title][contains]=nothing&filter[slug][ne]=a"
    )
    assert answer.status == 400
    assert answer.body["error"] == (
        "The query checks more than 2 entries to find this page: narrow filter[slug][ne] or "
        "filter[title][contains], or add a filter on fields.price, fields.lead, fields.on_sale, "
        "fields.when, fields.span.from, createdAt or updatedAt that at most 2 entries match, "
        "because only these are checked then"
    )
    monkeypatch.setattr(budget, "ROWS", 10_000)
    monkeypatch.setattr(finder, "COUNTED", 5)
    weak = await server.client().get(f"{POSTS}?filter[fields.price][gt]=1")
    assert (weak.status, weak.body["pagination"]["total"]) == (200, None)


async def test_a_total_counts_entries_with_several_values_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All published posts are red, and half of them are blue too."""
    monkeypatch.setattr(finder, "ROWS", len(published()) // 2)
    path = f"{POSTS}?filter[fields.colours]"
    for filter_, total in (("[contains]=red", 20), ("[exists]=true", 20), ("[exists]=false", 0)):
        answer = await server.client().get(f"{path}{filter_}")
        assert answer.body["pagination"]["total"] == total, filter_


LIST = """query ($filter: JSON, $sort: [String!], $search: String, $cursor: String,
                   $limit: Int, $offset: Int) {
  contentEntries(type: "posts", status: published, filter: $filter, sort: $sort, search: $search,
                 cursor: $cursor, limit: $limit, offset: $offset) {
    data { slug } pagination { limit total next } } }"""


async def test_a_query_has_a_shape_too(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large entries have the same shape."""
    path = f"{POSTS}?select=slug&include=author&cursor=first&filter[fields.price]=1&limit=2"
    answer = await server.client().get(path)
    assert [list(one) for one in answer.data] == [["id", "slug"]] * 2
    assert answer.body["includes"] == {"entries": {}, "media": {}}
    assert list(answer.body["pagination"]) == ["limit", "total", "next"]
    following = f"{path.replace('first', answer.body['pagination']['next'])}"
    whole = names(answer) + names(await server.client().get(following))
    assert whole == published(where=lambda n: n % 7 == 1)
    monkeypatch.setattr("read_side.queries.pages.INLINE", 10)
    assert (await server.client().get(f"{path}&x=1")).body["data"] == answer.data


async def test_graphql_finds_the_same(server: Server) -> None:
    client = server.client()
    for parameter, search, query in (
        ({"fields.price": {"gte": 3, "lt": 4}}, None, "filter[fields.price]=3"),
        ({"fields.price": {"in": [1, 3.0e0]}}, None, "filter[fields.price][in]=1,3"),
        ({"fields.on_sale": True}, None, "filter[fields.on_sale]=true"),
        (
            {"title": {"contains": "odd"}, "status": "published"},
            None,
            "filter[title][contains]=odd",
        ),
        ({"fields.price": 1}, "odd", "filter[fields.price]=1&q=odd"),
        (None, "post 1", "q=post+1"),
        (None, "nothing", "q=nothing"),
        (None, None, ""),
    ):
        known = await client.get(f"{POSTS}?{query}&sort=-title&limit=100")
        asked_for = {"filter": parameter, "search": search, "sort": ["-title"], "limit": 100}
        found = await data(client, LIST, **asked_for)
        assert [one["slug"] for one in found["contentEntries"]["data"]] == [
            one["slug"] for one in known.data
        ]
        assert found["contentEntries"]["pagination"]["total"] == len(known.data)


async def test_graphql_pages_by_cursor(server: Server) -> None:
    cursor, found = "first", []
    while cursor:
        page = await data(server.client(), LIST, sort=["fields.price"], cursor=cursor, limit=3)
        found += [one["slug"] for one in page["contentEntries"]["data"]]
        cursor = page["contentEntries"]["pagination"]["next"]
    whole = await server.client().get(f"{POSTS}?sort=fields.price&limit=100")
    assert found == [one["slug"] for one in whole.data]


REFUSED_IN_GRAPHQL: list[tuple[dict[str, Any], str]] = [
    ({"filter": [1]}, "filter takes an object such as"),
    ({"filter": {"nope": 1}}, "Unknown field 'nope'"),
    ({"filter": {"title": None}}, "filter[title] takes a string, a number or a boolean"),
    ({"filter": {"title": {"in": "a"}}}, "filter[title][in] takes an array"),
    ({"filter": {"title": {"in": []}}}, "filter[title][in] has no values"),
    ({"filter": {"title": {}}}, "filter[title] has no operator: leave the filter out, or use eq"),
    ({"filter": {"title": {"like": "a"}}}, "Unknown operator 'like'"),
    ({"filter": {"fields.author": "ada"}}, "'ada' in filter[fields.author] must be the id of"),
    (
        {"filter": {"fields.author": {"in": [DEAD, 7]}}},
        "The number '7' in filter[fields.author][in] must be a string in JSON: the id of an entry",
    ),
    ({"filter": {"title": "x" * 10_000}}, "A value of filter[title] is too long: at most 1,000"),
    ({"filter": {"title": ""}}, "filter[title] has an empty value"),
    ({"sort": ["nope"]}, "Unknown field 'nope' in sort"),
    ({"sort": ["a", "b", "c", "d"]}, "Too many keys in sort"),
    ({"cursor": "abc"}, "Unknown cursor"),
    ({"cursor": "first", "offset": 1}, "cursor and offset exclude each other"),
]


async def test_graphql_refuses_the_same(server: Server) -> None:
    for variables, message in REFUSED_IN_GRAPHQL:
        answer = await run_query(server.client(), LIST, **variables)
        [error] = answer.body["errors"]
        assert error["message"].startswith(message), variables
        assert error["extensions"]["status"] == 400


@pytest.mark.parametrize("selected", ["total", "...P", "... on Pagination { total }"])
async def test_graphql_refuses_a_total_beyond_the_budget_where_it_is_selected(
    selected: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finder, "ROWS", 2)
    monkeypatch.setattr(finder, "COUNTED", 5)
    list_ = 'query ($filter: JSON) { contentEntries(type: "posts", filter: $filter)'
    fragment = "fragment P on Pagination { total }" if selected == "...P" else ""
    weak = {"fields.price": {"gt": 1}}
    document = f"{list_} {{ pagination {{ {selected} }} }} }}{fragment}"
    answer = await run_query(server.client(), document, filter=weak)
    [error] = answer.body["errors"]
    assert "too many entries to count" in error["message"]
    document = f"{list_} {{ data {{ slug }} pagination {{ limit }} }} }}"
    uncounted = await data(server.client(), document, filter=weak)
    assert len(uncounted["contentEntries"]["data"]) == 10
