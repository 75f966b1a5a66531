"""Our readings: full-text search."""

from __future__ import annotations

import pytest

from tests.conformance.cases import Case, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import count, pagination, says, slugs
from tests.conformance.magazine import WEB_PAGE

pytestmark = pytest.mark.asyncio(loop_scope="package")

POSTS = "/v1/content/posts"


def search_case(number: int, query: str, *expected: str) -> Case:
    name = f"search.{number} {query}"
    return Case(
        name, get(f"{POSTS}?{query}"), 200, slugs(*expected), pagination(total=len(expected))
    )


@table(
    search_case(1, "q=harb", "harbour"),
    search_case(1, "q=tides+harb", "harbour"),
    search_case(1, "q=harb+tide"),
    search_case(1, "q=Low+water"),
    search_case(1, "q=%E2%98%85"),
    search_case(2, "q=mar%C3%A9e&locale=fr-FR", "harbour"),
    search_case(2, "q=tide&locale=fr-FR"),
    search_case(2, "q=plain&locale=fr-FR", "plain"),
    search_case(2, "q=mers&language=fr-FR", "harbour"),
    search_case(3, "q=", "plain", "harbour"),
    search_case(3, "q=+", "plain", "harbour"),
    search_case(3, f"q={'x' * 200}"),
    Case("search.3 201 characters", get(f"{POSTS}?q={'x' * 201}"), 400, says("200")),
    search_case(4, "q=plain&filter[fields.views][exists]=true"),
    search_case(4, "q=tide&filter[fields.views]=7&sort=-title", "harbour"),
    search_case(4, "q=gone&status=archived", "gone"),
    Case(
        "search.4 with a cursor, uncounted",
        get(f"{POSTS}?q=plain&cursor=first&total=none"),
        200,
        slugs("plain"),
    ),
    Case(
        "search.4 across types",
        get("/v1/content?q=note&limit=5"),
        200,
        count(5),
        pagination(limit=5),
    ),
    Case("search.5 no draft", get("/v1/content?q=untouched", key=WEB_PAGE), 200, count(0)),
    Case("search.5 a draft", get("/v1/content?q=untouched"), 200, slugs("untouched")),
)
async def test_search(case: Case, client: CheckedClient) -> None:
    case.check(await client.send(case.request))
