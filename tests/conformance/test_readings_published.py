"""Our readings: a key with ``content.published`` reads published entries only."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance.cases import Case, Expectation, create, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    count,
    entry,
    error,
    every_entry,
    pagination,
    says,
    slugs,
)
from tests.conformance.isolated_workspace import OpenWorkspace
from tests.conformance.magazine import ADA, HARBOUR, KEY, NOTES, REHEARSAL, WEB_PAGE
from tests.conformance.test_graphql import errors, graphql
from tests.integration.api.server import Answer
from tests.integration.projector.sample_log import raws

pytestmark = pytest.mark.asyncio(loop_scope="package")

NOT_FOUND = error("Content entry not found")
PUBLISHED = NOTES + 3
REFERENCES = """query ($id: ID!) {
  contentEntryById(id: $id) { references(field: "related") { id } }
}"""
LISTED = "contentEntries(limit: 100) { data { status } pagination { total } }"


def has(expected: Any) -> Expectation:
    """The response has exactly this GraphQL data."""

    def expect(answer: Answer) -> None:
        assert answer.body == {"data": expected}

    return expect


@table(
    Case("published.1 a list", get("/v1/content/posts", key=WEB_PAGE), 200, count(2)),
    Case(
        "published.1 the status by its name",
        get("/v1/content/posts?status=published", key=WEB_PAGE),
        200,
        slugs("plain", "harbour"),
        pagination(total=2),
    ),
    Case("published.1 one", get("/v1/content/posts/harbour", key=WEB_PAGE), 200, entry(id=HARBOUR)),
    Case(
        "published.1 in staging too",
        get("/v1/content/posts?environment=staging", key=WEB_PAGE),
        200,
        entry(id=REHEARSAL),
    ),
    Case("published.1 it writes nothing", create("A", key=WEB_PAGE), 403, says("content.edit")),
    *(
        Case(
            f"published.2 {status}",
            get(f"/v1/content/posts?status={status}", key=WEB_PAGE),
            403,
            error("Forbidden - this API key needs the content.view permission"),
        )
        for status in ("draft", "archived")
    ),
    Case(
        "published.2 before the environment",
        get("/v1/content/posts?status=draft&environment=x", key=WEB_PAGE),
        403,
        says("content.view"),
    ),
    Case(
        "published.2 an unknown status is 400 as for anybody",
        get("/v1/content/posts?status=live", key=WEB_PAGE),
        400,
        says("Unknown status"),
    ),
    Case(
        "published.2 the list across types knows no status",
        get("/v1/content?status=draft&limit=1", key=WEB_PAGE),
        200,
        count(1),
    ),
    Case("published.3 a draft", get("/v1/content/posts/untouched", key=WEB_PAGE), 404, NOT_FOUND),
    Case("published.3 an archived", get("/v1/content/posts/gone", key=WEB_PAGE), 404, NOT_FOUND),
    Case(
        "published.3 a draft in a locale",
        get("/v1/content/authors/ada?locale=fr-FR", key=WEB_PAGE),
        404,
        NOT_FOUND,
    ),
    Case(
        "published.4 across types",
        get("/v1/content?limit=100", key=WEB_PAGE),
        200,
        count(100),
        every_entry("status", "published"),
        pagination(total=PUBLISHED),
    ),
    Case(
        "published.4 a deep page",
        get(f"/v1/content?limit=100&offset={PUBLISHED - 1}", key=WEB_PAGE),
        200,
        count(1),
        pagination(total=PUBLISHED),
    ),
    Case(
        "published.4 past the end",
        get("/v1/content?offset=1000", key=WEB_PAGE),
        200,
        count(0),
        pagination(total=PUBLISHED),
    ),
    Case(
        "published.4 of one type",
        get("/v1/content?type=posts", key=WEB_PAGE),
        200,
        slugs("harbour", "plain", "harbour"),
        pagination(total=3),
    ),
    Case(
        "published.4 of a type with drafts alone",
        get("/v1/content?type=authors", key=WEB_PAGE),
        200,
        count(0),
        pagination(total=0),
    ),
    Case(
        "published.4 of a type that does not exist",
        get("/v1/content?type=nothing", key=WEB_PAGE),
        404,
        error("Content type not found"),
    ),
    Case(
        "published.5 a null status",
        graphql('{ contentEntries(type: "posts", status: null) { data { slug } } }', WEB_PAGE),
        200,
        has({"contentEntries": {"data": [{"slug": s} for s in ("harbour", "plain", "harbour")]}}),
    ),
    Case(
        "published.5 another status",
        graphql("{ contentEntries(status: draft) { data { id } } }", WEB_PAGE),
        200,
        errors(403, "content.view"),
    ),
    Case(
        "published.5 a draft by its slug and its id",
        graphql(
            "query ($id: ID!) { contentEntryById(id: $id) { id } "
            'contentEntry(type: "authors", slug: "ada") { id } }',
            WEB_PAGE,
            id=ADA,
        ),
        200,
        has({"contentEntryById": None, "contentEntry": None}),
    ),
    Case(
        "published.6 references in GraphQL",
        graphql(
            REFERENCES,
            WEB_PAGE,
            id=HARBOUR,
        ),
        200,
        has({"contentEntryById": {"references": []}}),
    ),
    Case(
        "published.6 which another key sees",
        graphql(
            REFERENCES,
            KEY,
            id=HARBOUR,
        ),
        200,
        has({"contentEntryById": {"references": [{"id": ADA}]}}),
    ),
    Case("published.7 content types", get("/v1/content-types", key=WEB_PAGE), 200, count(4)),
    Case(
        "published.7 a content type",
        get("/v1/content-types/posts", key=WEB_PAGE),
        200,
        entry(slug="posts"),
    ),
)
async def test_published(case: Case, client: CheckedClient) -> None:
    await client.check(case)


async def test_published_5_counts_in_graphql(client: CheckedClient) -> None:
    answer = await client.send(graphql(f"{{ {LISTED} }}", WEB_PAGE))
    page = answer.body["data"]["contentEntries"]
    assert {one["status"] for one in page["data"]} == {"published"}
    assert page["pagination"]["total"] == PUBLISHED


async def test_published_7_history_is_not_shown(client: CheckedClient) -> None:
    document = "query ($id: ID!) { contentEntryById(id: $id) { history { version } } }"
    answer = await client.send(graphql(document, WEB_PAGE, id=HARBOUR))
    assert answer.body["data"] == {"contentEntryById": None}
    [refusal] = answer.body["errors"]
    assert refusal["extensions"] == {"status": 403}


async def test_published_3_and_5_the_past(open_workspace: OpenWorkspace) -> None:
    """What counts is whether the entry was published at that time, not whether it is now."""
    workspace = await open_workspace(("content.published",))
    path = "/v1/content/posts/one"
    document = """query ($at: DateTime) {
      contentEntry(type: "posts", slug: "one", asOf: $at) { status }
    }"""
    one = await workspace.builder.entry("one", fields=raws(body="B"))
    moments = [await _now(workspace, one)]
    for status in ("published", "archived"):
        await workspace.builder.update(one, status=status)
        moments.append(await _now(workspace, one))
    await workspace.wait_until_projected()
    assert (await workspace.get(path)).status == 404
    for at, code in zip(moments, (404, 200, 404), strict=True):
        assert (await workspace.get(f"{path}?asOf={at}")).status == code
        answer = await workspace.send(graphql(document, at=at))
        expected = {"status": "published"} if code == 200 else None
        assert answer.body["data"] == {"contentEntry": expected}


async def test_published_1_and_4_tags_follow_what_the_key_sees(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace(("content.published",))
    one = await workspace.builder.entry("one", status="published", fields=raws(body="B"))
    await workspace.wait_until_projected()
    tag = (await workspace.get("/v1/content")).headers["ETag"]
    await workspace.builder.entry("two", fields=raws(body="B"))
    await workspace.wait_until_projected()
    had = {"If-None-Match": tag}
    assert (await workspace.get("/v1/content", headers=had)).status == 304
    await workspace.builder.update(one, status="draft")
    await workspace.wait_until_projected()
    answer = await workspace.get("/v1/content", headers=had)
    assert (answer.status, answer.body["pagination"]["total"]) == (200, 0)


async def _now(workspace: Any, entry_id: str) -> str:
    """Returns the time of the entry's last change, and makes sure that the next change is later."""
    entry = await workspace.builder.repository.entry(workspace.builder.scope, entry_id)
    await asyncio.sleep(0.002)
    return str(entry.updated_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
