"""Our readings: CORS."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from tests.conformance.cases import Case, get, post, table, with_method
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    error,
    open_to_any_origin,
    without_cors,
)
from tests.conformance.isolated_workspace import NewAddress, OpenWorkspace
from tests.conformance.magazine import EDITOR, NO_STAGING
from tests.conformance.windows import in_one_window, statuses
from tests.integration.api.server import Answer, Server

pytestmark = pytest.mark.asyncio(loop_scope="package")

ORIGIN = {"Origin": "https://example.com"}
OPEN = (
    "/v1/content/posts",
    "/v1/content/posts/harbour",
    "/v1/content-types",
    "/v1/content-types/posts",
)
SLASHES = (
    "/v1/content/",
    "/v1/content/posts/",
    "/v1/content/posts/harbour/",
    "/v1/content-types/",
    "/v1/content-types/posts/",
    "/v1//content",
)


def on_every_status() -> Iterator[Case]:
    """The rows of §4.0, §5 and §7 check the other statuses."""
    for path in OPEN:
        for name, request, status in (
            ("cors.1, cors.2 204", with_method("OPTIONS", path, key=None), 204),
            ("cors.1, cors.2 403", get(path, key=EDITOR), 403),
            ("1.3, cors.1, cors.2 405", with_method("DELETE", path), 405),
        ):
            yield Case(f"{name} on {path}", request, status, open_to_any_origin)


def never_across_types() -> Iterator[Case]:
    headers = {
        200: get("/v1/content", headers=ORIGIN),
        400: post(b"{", headers=ORIGIN),
        401: get("/v1/content", key=None, headers=ORIGIN),
        402: get("/v1/content?environment=staging", key=NO_STAGING, headers=ORIGIN),
        403: get("/v1/content", key=EDITOR, headers=ORIGIN),
        404: get("/v1/content?type=nothing", headers=ORIGIN),
    }
    for status, request in headers.items():
        yield Case(f"4.3.17, 4.4.22, 5.16, cors.3 none on {status}", request, status, without_cors)
    for method, key in product(("OPTIONS", "DELETE", "PATCH"), (None, NO_STAGING)):
        who = "nobody" if key is None else "somebody"
        yield Case(
            f"cors.3 none on {method} by {who}",
            with_method(method, "/v1/content", key=key, headers=ORIGIN),
            405,
            without_cors,
        )


def on_graphql() -> Iterator[Case]:
    """GraphQL returns 200 except for an invalid key, a rate limit or a wrong method."""
    headers = {
        "an error": (post({"query": "{ nothing }"}, "/graphql"), 200),
        "a body that is no JSON": (post(b"{", "/graphql"), 200),
        "a bad key": (post({"query": "{ __typename }"}, "/graphql", key="nobody's"), 401),
        "a wrong method": (with_method("DELETE", "/graphql"), 405),
    }
    for what, (request, status) in headers.items():
        yield Case(f"cors.1, cors.2 {what} on /graphql", request, status, open_to_any_origin)


@table(
    *on_every_status(),
    *on_graphql(),
    *never_across_types(),
    *(Case(f"cors.4 {path} is 404", get(path), 404, error("Not found")) for path in SLASHES),
)
async def test_cors(case: Case, client: CheckedClient) -> None:
    await client.check(case)


def fails(*_: object, **__: object) -> None:
    raise RuntimeError("out of cheese")


async def test_cors_1_a_500_can_be_read_by_any_origin(
    client: CheckedClient, live: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.forget()
    monkeypatch.setattr("api.rest.content.paging.list_of_type", fails)
    monkeypatch.setattr("api.rest.content.entries.entry_of_slug", fails)
    monkeypatch.setattr("api.rest.lookups.content_types.content_types", fails)
    monkeypatch.setattr("api.rest.lookups.content_types.content_type", fails)
    for path in OPEN:
        answer = await client.send(get(path))
        assert answer.status == 500
        open_to_any_origin(answer)


async def test_cors_1_a_429_can_be_read_by_any_origin(open_workspace: OpenWorkspace) -> None:
    async def once_too_often() -> list[Answer]:
        workspace = await open_workspace(requests_per_minute=1)
        return [await workspace.get(path) for path in OPEN]

    answers = await in_one_window(once_too_often)
    assert statuses(answers)[1:] == [429, 429, 429]
    for answer in answers:
        open_to_any_origin(answer)


async def test_cors_1_a_429_of_an_address_can_be_read_by_any_origin(
    limited_client: CheckedClient, address: NewAddress
) -> None:
    async def once_too_often() -> list[Answer]:
        headers = address()
        return [await limited_client.send(get(path, key=None, headers=headers)) for path in OPEN]

    answers = await in_one_window(once_too_often)
    assert statuses(answers) == [401, 401, 401, 429]
    for answer in answers:
        open_to_any_origin(answer)


async def test_cors_1_a_304_can_be_read_by_any_origin(client: CheckedClient) -> None:
    for path in OPEN:
        tag = (await client.send(get(path))).headers["ETag"]
        answer = await client.send(get(path, headers={"If-None-Match": tag}))
        assert answer.status == 304
        open_to_any_origin(answer)
