"""Specification §4.5 and §4.7: the other endpoints, and the status that each shows by default."""

from __future__ import annotations

import pytest

from tests.conformance.cases import Case, get, post, table, with_method
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    entry,
    every_entry,
    pagination,
    slugs,
    success,
)
from tests.conformance.isolated_workspace import OpenWorkspace
from tests.conformance.magazine import KEY

pytestmark = pytest.mark.asyncio(loop_scope="package")


@table(
    Case(
        "4.5.1 GET /v1/content-types exists",
        get("/v1/content-types"),
        200,
        success,
        slugs("authors", "empty", "notes", "posts"),
    ),
    Case(
        "4.5.2 GET /v1/content-types/:slug exists",
        get("/v1/content-types/posts"),
        200,
        success,
        entry(slug="posts", name="Posts"),
    ),
    Case(
        "4.1.9, 4.7.1 the list of a type is of published entries",
        get("/v1/content/posts"),
        200,
        every_entry("status", "published"),
        pagination(total=2),
    ),
    Case(
        "4.7.6 the list across types shows every language",
        get("/v1/content?type=posts"),
        200,
        slugs("harbour", "plain", "gone", "harbour", "untouched"),
    ),
)
async def test_other_endpoints_and_statuses(case: Case, client: CheckedClient) -> None:
    await client.check(case)


async def test_4_7_5_an_entry_is_in_the_base_language_by_default(
    open_workspace: OpenWorkspace,
) -> None:
    workplace = await open_workspace()
    await workplace.create("Default")
    await workplace.builder.entry("french", language="fr-FR")
    assert (await workplace.read("/v1/content/posts/default"))["language"] == "en-US"
    french = await workplace.read("/v1/content/posts/french?language=fr-FR")
    assert french["language"] == "fr-FR"


async def test_4_5_3_graphql_exists(client: CheckedClient) -> None:
    answer = await client.send(post({"query": "{ __typename }"}, "/graphql", key=KEY))
    assert answer.status == 200
    assert answer.body == {"data": {"__typename": "Query"}}


async def test_4_5_1_content_types_cannot_be_written_by_pages(client: CheckedClient) -> None:
    answer = await client.send(with_method("POST", "/v1/content-types"))
    assert answer.status == 405
