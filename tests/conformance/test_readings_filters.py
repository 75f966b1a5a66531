"""Our readings: filters, sort keys, cursors and totals."""

from __future__ import annotations

import pytest

from tests.conformance.cases import Case, Expectation, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import count, pagination, says, slugs
from tests.conformance.magazine import HARBOUR, NOTES, WEB_PAGE
from tests.integration.api.server import Answer

pytestmark = pytest.mark.asyncio(loop_scope="package")

POSTS = "/v1/content/posts"


def uncounted(answer: Answer) -> None:
    assert answer.body["pagination"]["total"] is None


def has_next(answer: Answer) -> None:
    assert list(answer.body["pagination"]) == ["limit", "total", "next"]
    assert answer.body["pagination"]["next"]


def search_case(number: int, query: str, *expected: str) -> Case:
    name = f"filters.{number} {query}"
    return Case(
        name, get(f"{POSTS}?{query}"), 200, slugs(*expected), pagination(total=len(expected))
    )


def refused(number: int, query: str, *words: str, path: str = POSTS) -> Case:
    expectations: list[Expectation] = [says(word) for word in words]
    return Case(f"filters.{number} {path}?{query}", get(f"{path}?{query}"), 400, *expectations)


@table(
    search_case(1, "filter[slug]=harbour", "harbour"),
    search_case(1, "filter[fields.views]=7.0", "harbour"),
    search_case(1, "filter[fields.views][gt]=7"),
    search_case(1, "filter[title][contains]=LAI", "plain"),
    search_case(1, "filter[fields.lead][startsWith]=Low", "harbour"),
    search_case(1, f"filter[id]={HARBOUR}", "harbour"),
    search_case(1, "filter[stage]=writing&sort=slug", "harbour", "plain"),
    search_case(2, "filter[fields.views][gte]=7&filter[slug]=plain"),
    search_case(3, "filter[status]=archived"),
    search_case(3, "status=archived&filter[status]=archived", "gone"),
    search_case(3, "filter[language]=fr-FR"),
    search_case(3, "language=fr-FR&filter[language]=fr-FR", "harbour"),
    search_case(4, "filter[fields.views][ne]=7", "plain"),
    search_case(4, "filter[fields.views][nin]=7,8", "plain"),
    search_case(4, "filter[fields.views][exists]=false", "plain"),
    search_case(4, "filter[fields.related][exists]=true", "harbour"),
    search_case(5, "filter[slug][in]=plain,harbour&sort=slug", "harbour", "plain"),
    search_case(5, "filter[fields.lead][in]=%22Low%20water%22,%22a,b%22", "harbour"),
    search_case(6, "filter[fields.campaign.from]=2026-01-01T00:00:00Z", "harbour"),
    search_case(6, "filter[fields.campaign.to][lt]=2026-02-01"),
    refused(6, "filter[fields.campaign]=2026-01-01", "fields.campaign.from"),
    Case(
        "filters.7 contentType by slug",
        get("/v1/content?filter[contentType]=notes&limit=1"),
        200,
        pagination(total=NOTES),
    ),
    Case(
        "filters.7 an unknown content type matches nothing",
        get("/v1/content?filter[contentType]=nothing"),
        200,
        pagination(total=0),
    ),
    refused(7, "type=posts&filter[fields.views]=7", "only built-in fields", path="/v1/content"),
    search_case(8, "sort=fields.views", "harbour", "plain"),
    search_case(8, "sort=-fields.views", "harbour", "plain"),
    search_case(8, "sort=-slug", "plain", "harbour"),
    search_case(8, "sort=status,language,slug", "harbour", "plain"),
    search_case(8, "sort=-contentType,-slug", "plain", "harbour"),
    search_case(8, f"sort=id&filter[id][in]={HARBOUR}", "harbour"),
    Case(
        "filters.8 by status across types: archived first",
        get("/v1/content?sort=status,id&type=posts&limit=1"),
        200,
        slugs("gone"),
    ),
    Case(
        "filters.8 an offset past the end of a sorted list",
        get(f"{POSTS}?sort=status&offset=1000000"),
        200,
        count(0),
        pagination(offset=1_000_000, total=2),
    ),
    Case(
        "filters.8 ties newest first",
        get("/v1/content/notes?sort=stage&limit=2"),
        200,
        slugs(f"note-{NOTES - 1}", f"note-{NOTES - 2}"),
    ),
    refused(8, "sort=title,slug,createdAt,updatedAt", "at most 3"),
    Case(
        "filters.9 the first page",
        get("/v1/content/notes?cursor=first&limit=7"),
        200,
        count(7),
        pagination(limit=7, total=NOTES),
        has_next,
    ),
    Case(
        "filters.10 not counted",
        get("/v1/content/notes?total=none&limit=1"),
        200,
        count(1),
        pagination(limit=1, offset=0),
        uncounted,
    ),
    refused(10, "total=all", "total", "none"),
    refused(11, "filter[nothing]=1", "nothing", "title"),
    refused(11, "filter[title][like]=1", "like", "contains"),
    refused(11, "filter[title=1", "filter[title"),
    refused(11, "filter[title]=1&filter[title]=2", "twice"),
    refused(12, "filter[title]=", "empty"),
    search_case(12, "sort=&cursor=", "plain", "harbour"),
    refused(13, "filter[fields.goes_live]=2026-01-31", "fields.goes_live", "indexed"),
    refused(13, "sort=fields.goes_live", "fields.goes_live", "indexed"),
    refused(13, "filter[fields.meta]=1", "fields.meta", "json"),
    refused(14, "filter[fields.views]=many", "many", "a number"),
    refused(14, "filter[createdAt][gt]=now", "now", "ISO 8601"),
    refused(14, "filter[fields.tags][gt]=news", "gt", "contains"),
    refused(14, "filter[fields.related][contains]=harbour", "harbour", "UUID"),
    refused(14, f"filter[title]={'x' * 10_000}", "1,000 bytes"),
    refused(15, "cursor=first&offset=1", "cursor", "offset"),
    refused(15, "cursor=altered", "cursor"),
    Case(
        "filters.16 no draft by its status",
        get("/v1/content?filter[status]=draft", key=WEB_PAGE),
        200,
        count(0),
        pagination(total=0),
    ),
    Case(
        "filters.16 no draft by its slug",
        get("/v1/content?filter[slug]=untouched", key=WEB_PAGE),
        200,
        pagination(total=0),
    ),
)
async def test_filters(case: Case, client: CheckedClient) -> None:
    case.check(await client.send(case.request))


async def test_filters_9_and_15_each_page_continues_the_one_before(client: CheckedClient) -> None:
    seen: list[str] = []
    cursor = "first"
    while cursor:
        answer = await client.send(get(f"/v1/content/notes?sort=-title&limit=100&cursor={cursor}"))
        seen += (entry["slug"] for entry in answer.data)
        last, cursor = cursor, answer.body["pagination"]["next"]
    assert len(seen) == len(set(seen)) == NOTES
    other = await client.send(get(f"/v1/content/notes?sort=title&cursor={last}"))
    assert other.status == 400
