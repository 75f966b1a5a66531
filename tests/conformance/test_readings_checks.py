"""Our readings: the order of checks. Each request fails several checks; the first one decides."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.conformance.cases import Case, Request, create, get, post, table, with_method
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import error, header, limits_shown, no_header, says
from tests.conformance.isolated_workspace import NewAddress, OpenWorkspace
from tests.conformance.magazine import DESK, KEY, NO_STAGING, NOT_SET_UP, VIEWER
from tests.conformance.windows import in_one_window, limit, remaining, statuses
from tests.integration.api.server import Answer
from write_side.domain.refusals import in_words

pytestmark = pytest.mark.asyncio(loop_scope="package")

NOT_JSON = error("Request body must be valid JSON")
MISSING = error("Missing required fields: contentTypeSlug and title")
PATHS = ("/", "/v1", "/v1/", "/v2/content", "/v1/contents", "/v1/content/a/b/c", "/content")
OPEN = "GET,HEAD,OPTIONS"
METHODS = {
    ("DELETE", "/v1/content"): "GET,HEAD,POST",
    ("PUT", "/v1/content"): "GET,HEAD,POST",
    ("OPTIONS", "/v1/content"): "GET,HEAD,POST",
    ("POST", "/v1/content/posts"): OPEN,
    ("PUT", "/v1/content/posts/harbour"): OPEN,
    ("PATCH", "/v1/content/posts/harbour"): OPEN,
    ("DELETE", "/v1/content/posts/harbour"): OPEN,
    ("POST", "/v1/content-types"): OPEN,
    ("DELETE", "/v1/content-types/posts"): OPEN,
}
"""Methods that a path does not support, with those that it supports."""


def at_the_route() -> Iterator[Case]:
    for path in PATHS:
        for key in (KEY, None):
            who = "somebody" if key else "nobody"
            request = get(f"{path}?environment=x", key=key)
            yield Case(f"checks.1 {path} for {who} is 404", request, 404, error("Not found"))
    for (method, path), allowed in METHODS.items():
        yield Case(
            f"checks.1 {method} {path} is 405",
            with_method(method, path, key=None),
            405,
            error(f"Method not allowed: use {in_words(allowed.split(','))}"),
            header("Allow", allowed),
        )


def wrong_everywhere(key: str | None) -> Request:
    """Environment, locale and body are all invalid; the key decides which check fails first."""
    return post(b"{", "/v1/content?environment=x&locale=x&status=x", key=key)


@table(
    *at_the_route(),
    Case(
        "checks.2 a preflight is 204 without a key",
        with_method("OPTIONS", "/v1/content/posts?environment=x&locale=x", key=None),
        204,
        limits_shown,
        no_header("Content-Type"),
    ),
    Case(
        "checks.2 with a bad key too",
        with_method("OPTIONS", "/v1/content/posts/harbour", key="nobody's"),
        204,
        limits_shown,
    ),
    Case(
        "5.8, checks.4 the key comes before all that is in the request",
        wrong_everywhere("nobody's"),
        401,
        error("Unauthorized - Invalid or missing API key"),
    ),
    Case(
        "5.8, checks.6 the permission comes before the environment, and is named",
        wrong_everywhere(VIEWER),
        403,
        says("content.edit"),
    ),
    Case(
        "5.8, checks.7 an unknown environment comes before parameters and body",
        wrong_everywhere(DESK),
        400,
        says("environment", "'x'"),
    ),
    Case(
        "5.8, checks.7 then what is not in the plan",
        post(b"{", "/v1/content?environment=staging&locale=x", key=NO_STAGING),
        402,
    ),
    Case(
        "checks.7 then what is not set up",
        post(b"{", "/v1/content?environment=staging&locale=x", key=NOT_SET_UP),
        404,
        error("This team has no staging environment yet"),
    ),
    Case(
        "checks.8 the locale comes before the body",
        post(b"{", "/v1/content?locale=x"),
        400,
        says("locale", "'x'"),
    ),
    Case(
        "checks.8 the locale comes before what is named",
        get("/v1/content/nothing?locale=x"),
        400,
        says("locale", "'x'"),
    ),
    Case(
        "checks.8 the status comes before what is named",
        get("/v1/content/nothing?status=x"),
        400,
        says("status", "'x'"),
    ),
    Case(
        "checks.9 nor in another encoding", post('{"title":"ä"}'.encode("latin-1")), 400, NOT_JSON
    ),
    Case("checks.9 two documents are none", post(b"{}{}"), 400, NOT_JSON),
    Case("checks.9 NaN is none", post(b'{"title":NaN}'), 400, NOT_JSON),
    Case("checks.9 an array", post([]), 400, MISSING),
    Case("checks.9 a text", post("text"), 400, MISSING),
    Case("checks.9 null", post(None), 400, MISSING),
    Case("checks.9 an object without anything", post({}), 400, MISSING),
    Case(
        "checks.9 a title that is a number",
        post({"contentTypeSlug": "posts", "title": 7}),
        400,
        MISSING,
    ),
    Case(
        "checks.9 a title that is null",
        post({"contentTypeSlug": "posts", "title": None}),
        400,
        MISSING,
    ),
    Case(
        "checks.9 a contentTypeSlug that is an array",
        post({"contentTypeSlug": ["posts"], "title": "A"}),
        400,
        MISSING,
    ),
    Case("4.4.15, checks.9 an empty title", create(""), 400, MISSING),
    Case(
        "checks.9 required fields come before the slug",
        post({"title": "A", "slug": 7, "fields": []}),
        400,
        MISSING,
    ),
    Case(
        "checks.9 the slug comes before fields",
        create("A", slug=7, fields=[]),
        400,
        says("slug must be a string"),
    ),
    Case(
        "checks.9 fields come before what is named",
        create("A", type_slug="nothing", fields=[]),
        400,
        says("fields must be an object"),
    ),
    Case("checks.9 fields that are null", create("A", fields=None), 400, says("fields")),
    Case(
        "checks.10 an unknown type comes before its values",
        create("A", type_slug="nothing", fields={"views": "x"}),
        404,
        error("Content type not found"),
    ),
    Case(
        "checks.10 values come before the slug",
        create("Taken", fields={"views": "x"}),
        400,
        says("'views'"),
    ),
    Case(
        "checks.10 references come before the slug",
        create("Taken", fields={"author": "x"}),
        400,
        says("'author'"),
    ),
)
async def test_the_order(case: Case, client: CheckedClient) -> None:
    await client.check(case)


async def test_checks_10_the_slug_comes_before_the_plan(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace(entries=1)
    await workspace.create("Taken")
    values = await workspace.create("Taken", fields={"views": "x"})
    answers = [values, await workspace.create("Taken"), await workspace.create("Another")]
    assert statuses(answers) == [400, 409, 402]


async def test_checks_2_a_preflight_is_not_counted(
    limited_client: CheckedClient, address: NewAddress
) -> None:
    async def between_two() -> list[Answer]:
        headers = address()
        first = get("/v1/content/posts", key=None, headers=headers)
        preflight = with_method("OPTIONS", "/v1/content/posts", key=None, headers=headers)
        return [await limited_client.send(request) for request in (first, *[preflight] * 5, first)]

    answers = await in_one_window(between_two)
    assert statuses(answers) == [401, *[204] * 5, 401]
    assert [remaining(answer) for answer in answers] == [2, *[2] * 5, 1]


async def test_checks_1_and_2_come_before_the_limit_of_the_address(
    limited_client: CheckedClient, address: NewAddress
) -> None:
    async def over_it() -> list[Answer]:
        headers = address()
        counted = get("/v1/content", key=None, headers=headers)
        others = [
            get("/v1/nothing", key=None, headers=headers),
            with_method("DELETE", "/v1/content", key=None, headers=headers),
            with_method("OPTIONS", "/v1/content/posts", key=None, headers=headers),
        ]
        return [await limited_client.send(request) for request in (*[counted] * 4, *others)]

    answers = await in_one_window(over_it)
    assert statuses(answers) == [401, 401, 401, 429, 404, 405, 204]
    assert [remaining(answer) for answer in answers[4:]] == [0, 0, 0]


async def test_checks_3_the_address_comes_before_the_key(
    limited_client: CheckedClient, address: NewAddress, open_workspace: OpenWorkspace
) -> None:
    """A flood of invalid keys exhausts the address's limit and leaves every key's limit
    untouched."""

    async def flood() -> list[Answer]:
        workspace, headers = await open_workspace(requests_per_minute=2), address()
        bad = get("/v1/content", key="nobody's", headers=headers)
        good = get("/v1/content", key=workspace.key, headers=headers)
        elsewhere = get("/v1/content", key=workspace.key, headers=address())
        return [await limited_client.send(request) for request in (*[bad] * 4, good, elsewhere)]

    answers = await in_one_window(flood)
    assert statuses(answers) == [401, 401, 401, 429, 429, 200]
    assert (limit(answers[4]), remaining(answers[4])) == (3, 0)
    assert (limit(answers[5]), remaining(answers[5])) == (2, 1)


async def test_checks_5_the_limit_of_the_key_comes_before_the_permission(
    open_workspace: OpenWorkspace,
) -> None:
    async def twice() -> list[Answer]:
        workspace = await open_workspace(("content.view",), requests_per_minute=1)
        return [await workspace.create("A"), await workspace.create("A")]

    assert statuses(await in_one_window(twice)) == [403, 429]


async def test_checks_11_one_of_parallel_creates_of_a_slug_succeeds(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    answers = await asyncio.gather(*(workspace.create("Same") for _ in range(20)))
    assert sorted(statuses(answers)) == [200, *[409] * 19]
    assert len(await workspace.read("/v1/content")) == 1


async def test_checks_11_parallel_creates_never_pass_the_limit(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace(entries=3)
    answers = await asyncio.gather(*(workspace.create(f"Entry {n}") for n in range(20)))
    assert sorted(statuses(answers)) == [*[200] * 3, *[402] * 17]
    assert len(await workspace.read("/v1/content")) == 3
