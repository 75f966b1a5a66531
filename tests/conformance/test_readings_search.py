"""Our readings: full-text search."""

from __future__ import annotations

import pytest

from tests.conformance.cases import Case, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import count, pagination, says, slugs
from tests.conformance.magazine import WEB_PAGE

pytestmark = pytest.mark.asyncio(loop_scope="package")

POSTS = "/v1/content/posts"


def found(number: int, query: str, *expected: str) -> Case:
    name = f"search.{number} {query}"
    return Case(
        name, get(f"{POSTS}?{query}"), 200, slugs(*expected), pagination(total=len(expected))
    )


@table(
    found(1, "q=harb", "harbour"),
    found(1, "q=tides+harb", "harbour"),
    found(1, "q=harb+tide"),
    found(1, "q=Low+water"),
    found(1, "q=%E2%98%85"),
    found(2, "q=mar%C3%A9e&locale=fr-FR", "harbour"),
    found(2, "q=tide&locale=fr-FR"),
    found(2, "q=plain&locale=fr-FR", "plain"),
    found(2, "q=mers&language=fr-FR", "harbour"),
    found(3, "q=", "plain", "harbour"),
    found(3, "q=+", "plain", "harbour"),
    found(3, f"q={'x' * 200}"),
    Case("search.3 201 characters", get(f"{POSTS}?q={'x' * 201}"), 400, says("200")),
    found(4, "q=plain&filter[fields.views][exists]=true"),
    found(4, "q=tide&filter[fields.views]=7&sort=-title", "harbour"),
    found(4, "q=gone&status=archived", "gone"),
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
