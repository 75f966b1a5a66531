"""Specification §7: every error with its status, body and headers."""

from __future__ import annotations

from typing import Any

import pytest

from api.errors import error_response
from tests.conformance.cases import Case, create, get, post, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    CLOSED,
    OPEN,
    error,
    no_header,
    says,
    success,
)
from tests.conformance.isolated_workspace import OpenWorkspace
from tests.conformance.magazine import (
    FULL,
    KEY,
    NOBODY,
    VIEWER,
)
from tests.conformance.windows import in_one_window, statuses
from tests.integration.api.server import Answer, Server
from write_side import commands as c
from write_side.domain.events import Plan
from write_side.domain.refusals import PlanLimitReached

pytestmark = pytest.mark.asyncio(loop_scope="package")

ORIGIN = {"Origin": "https://example.com"}
MISSING = error("Missing required fields: contentTypeSlug and title")
NOT_JSON = error("Request body must be valid JSON")
TYPE_NOT_FOUND = error("Content type not found")
ENTRY_NOT_FOUND = error("Content entry not found")
FAULT = error("Internal server error")


@table(
    Case("7.2 success", get("/v1/content/posts"), 200, success, *OPEN),
    Case("7.2 success across types", get("/v1/content"), 200, *CLOSED),
    Case("4.4.22, 7.2 success of a create", create("A success"), 200, *CLOSED),
    Case("4.4.14, 7.5 create without contentTypeSlug", post({"title": "A"}), 400, MISSING, *CLOSED),
    Case(
        "4.4.15, 7.5 create without title",
        post({"contentTypeSlug": "posts"}),
        400,
        MISSING,
        *CLOSED,
    ),
    Case(
        "7.6, checks.9 create body that is no JSON", post(b"{'title': 1}"), 400, NOT_JSON, *CLOSED
    ),
    Case("4.4.16, 7.7 non-string slug", create("A", slug=7), 400, says("slug", "string"), *CLOSED),
    Case("7.8 non-object fields", create("A", fields=[1]), 400, says("fields"), *CLOSED),
    Case(
        "4.4.18, 7.9 bad reference",
        create("A", fields={"author": NOBODY}),
        400,
        says("'author'", NOBODY),
        *CLOSED,
    ),
    Case(
        "5.5, 7.11 key lacks permission",
        create("A", key=VIEWER),
        403,
        says("Forbidden - this API key needs the ", "content.edit"),
        *CLOSED,
    ),
    Case(
        "4.4.21, 7.12, 8.8 plan limit of entries",
        create("One too many", key=FULL),
        402,
        says("plan", "limit of 1 entry"),
        *CLOSED,
    ),
    Case(
        "2.3.5, 4.0.1, 4.1.17, 7.1, 7.16 unknown content type",
        get("/v1/content/nothing"),
        404,
        TYPE_NOT_FOUND,
        *OPEN,
    ),
    Case(
        "4.2.11, 7.16 unknown content type of an entry",
        get("/v1/content/nothing/harbour"),
        404,
        TYPE_NOT_FOUND,
        *OPEN,
    ),
    Case(
        "4.3.4, 7.16 unknown content type across types",
        get("/v1/content?type=nothing"),
        404,
        TYPE_NOT_FOUND,
        *CLOSED,
    ),
    Case(
        "4.4.20, 7.16 unknown content type of a create",
        create("A", type_slug="nothing"),
        404,
        TYPE_NOT_FOUND,
        *CLOSED,
    ),
    Case(
        "7.16 unknown content type by its own path",
        get("/v1/content-types/nothing"),
        404,
        TYPE_NOT_FOUND,
        *OPEN,
    ),
    Case(
        "4.2.12, 7.17 unknown entry", get("/v1/content/posts/nothing"), 404, ENTRY_NOT_FOUND, *OPEN
    ),
)
async def test_errors(case: Case, client: CheckedClient) -> None:
    await client.check(case)


async def test_7_13_plan_limit_of_content_types(open_workspace: OpenWorkspace) -> None:
    """No REST endpoint creates a content type, so the test maps the write side's refusal to its
    HTTP response."""
    full = await open_workspace(content_types=2)
    with pytest.raises(PlanLimitReached) as refused:
        await full.builder.content_type(slug="third")
    response = error_response(refused.value)
    assert response.status == 402
    assert "limit of 2 content types" in (response.text or "")
    assert len(await full.read("/v1/content-types")) == 2


async def test_7_15_a_402_removes_nothing_and_applies_until_upgrade_or_deletion(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace(entries=2)
    first = (await workspace.create("One")).data
    await workspace.create("Two")
    assert statuses([await workspace.create("Three"), await workspace.create("Three")]) == [
        402,
        402,
    ]
    assert [entry["slug"] for entry in await workspace.read("/v1/content")] == ["two", "one"]
    await workspace.builder.delete(first["id"])
    assert statuses([await workspace.create("Three"), await workspace.create("Four")]) == [200, 402]
    await workspace.builder.execute(c.ChangePlan, workspace=workspace.slug, plan=Plan(entries=3))
    assert statuses([await workspace.create("Four"), await workspace.create("Five")]) == [200, 402]


async def test_7_14_staging_opens_when_the_plan_has_it(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    target = "/v1/content?environment=staging"
    assert (await workspace.get(target)).status == 402
    await workspace.builder.execute(c.ChangePlan, workspace=workspace.slug, plan=Plan(staging=True))
    await workspace.until(target, 404)


@pytest.mark.parametrize(
    ("target", "expected"), [("/v1/content/posts", OPEN), ("/v1/content", CLOSED)]
)
async def test_7_19_rate_limit_exceeded(
    target: str, expected: tuple[Any, ...], open_workspace: OpenWorkspace
) -> None:
    async def once_too_often() -> list[Answer]:
        workspace = await open_workspace(requests_per_minute=1)
        return [
            await workspace.get("/v1/content-types"),
            await workspace.get(target, headers=ORIGIN),
        ]

    [passed, refused] = await in_one_window(once_too_often)
    assert (passed.status, refused.status) == (200, 429)
    wait = int(refused.headers["Retry-After"])
    for expectation in (*expected, says("Rate limit exceeded", f" {wait} seconds")):
        expectation(refused)
    assert 1 <= wait <= 60
    assert refused.headers["X-RateLimit-Remaining"] == "0"


def fails(*_: object, **__: object) -> None:
    raise RuntimeError("the password is hunter2")


@pytest.mark.parametrize(
    ("target", "expected"), [("/v1/content/posts", OPEN), ("/v1/content", CLOSED)]
)
async def test_7_20_server_failure(
    target: str,
    expected: tuple[Any, ...],
    client: CheckedClient,
    live: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    live.forget()
    monkeypatch.setattr("api.rest.content.paging.list_of_type", fails)
    monkeypatch.setattr("api.rest.content.paging.list_across_types", fails)
    answer = await client.send(get(target, headers=ORIGIN))
    assert answer.status == 500
    for expectation in (*expected, FAULT, no_header("ETag")):
        expectation(answer)
    assert "hunter2" not in answer.text + str(answer.headers)


async def test_7_21_a_read_that_failed_can_be_repeated(
    client: CheckedClient, live: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.forget()
    with monkeypatch.context() as patch:
        patch.setattr("api.rest.content.paging.list_across_types", fails)
        assert (await client.send(get("/v1/content"))).status == 500
    assert (await client.send(get("/v1/content", key=KEY))).status == 200


async def test_7_21_a_create_that_failed_before_it_was_written_can_be_repeated(
    open_workspace: OpenWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = await open_workspace()
    with monkeypatch.context() as patch:
        patch.setattr("api.rest.content.execute", fails)
        assert (await workspace.create("Once")).status == 500
    assert (await workspace.create("Once")).status == 200
    assert len(await workspace.read("/v1/content")) == 1


async def test_7_21_a_create_that_failed_after_it_was_written_creates_no_second_entry(
    open_workspace: OpenWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = await open_workspace()
    with monkeypatch.context() as patch:
        patch.setattr("api.rest.content.wire.created_entry", fails)
        assert (await workspace.create("Once")).status == 500
    again = await workspace.create("Once")
    assert again.status == 409
    says("'once'")(again)
    assert len(await workspace.read("/v1/content")) == 1
