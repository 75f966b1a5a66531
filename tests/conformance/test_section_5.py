"""Specification §5: authentication and CORS."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from tests.conformance.cases import Case, Expectation, create, get, post, table, with_method
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    CLOSED,
    OPEN,
    error,
    header,
    no_header,
    open_to_any_origin,
    says,
    without_cors,
)
from tests.conformance.magazine import EDITOR, KEY, REVOKED, VIEWER
from tests.integration.api.server import Answer

pytestmark = pytest.mark.asyncio(loop_scope="package")

TYPES = ("/v1/content-types", "/v1/content-types/posts")
READS = (
    "/v1/content/posts",
    "/v1/content/posts/harbour",
    "/v1/content",
    *TYPES,
)
OPEN_PATHS = {
    "5.11": "/v1/content-types",
    "5.12": "/v1/content-types/posts",
    "5.13": "/v1/content/posts",
    "5.14": "/v1/content/posts/harbour",
}
BAD_KEYS = {"unknown": "nobody's", "revoked": REVOKED, "of another case": KEY.upper()}
UNAUTHORIZED = "Unauthorized - Invalid or missing API key"
ORIGIN = {"Origin": "https://example.com"}
PREFLIGHT = {
    **ORIGIN,
    "Access-Control-Request-Method": "GET",
    "Access-Control-Request-Headers": "authorization,x-environment",
}
NEW = {"contentTypeSlug": "posts", "title": "Never created"}


def unauthorized(path: str) -> tuple[Expectation, ...]:
    headers = CLOSED if path == "/v1/content" else OPEN
    return (error(UNAUTHORIZED), header("WWW-Authenticate", "Bearer"), *headers)


def on_each_read() -> Iterator[Case]:
    for path in READS:
        name = f"4.0.2, 5.3, 7.10, keys.4 a missing key on {path}"
        yield Case(name, get(path, key=None), 401, *unauthorized(path))
    for what, key in (("4.0.2, 5.3 a missing key", None), ("5.4, 7.10 an unknown key", "nobody's")):
        yield Case(f"{what} on a create", create("A", key=key), 401, *unauthorized("/v1/content"))
    for path in TYPES:
        yield Case(f"5.6 content.view lets read {path}", get(path, key=VIEWER), 200)
        yield Case(
            f"5.6 content.edit does not let read {path}",
            get(path, key=EDITOR),
            403,
            says("content.view"),
        )
    for path, (kind, key) in product(READS, BAD_KEYS.items()):
        name = f"5.4, 7.10 a key that is {kind} on {path}"
        yield Case(name, get(path, key=key), 401, *unauthorized(path))


@table(
    Case(
        "5.1 the key is in Authorization: Bearer",
        get("/v1/content", key=None, headers={"Authorization": f"Bearer {KEY}"}),
        200,
    ),
    Case(
        "5.1 a key in another scheme is none",
        get("/v1/content", key=None, headers={"Authorization": f"Basic {KEY}"}),
        401,
    ),
    Case(
        "5.1 a key in the query is none",
        get(f"/v1/content?api_key={KEY}", key=None),
        401,
    ),
    Case(
        "5.2 X-API-Key is accepted",
        get("/v1/content", key=None, headers={"X-API-Key": KEY}),
        200,
    ),
    *on_each_read(),
    Case("5.7 content.edit is for creation", create("A", type_slug="nothing", key=EDITOR), 404),
    Case(
        "5.9 a bad key with a bad environment is 401",
        get("/v1/content/posts?environment=prod", key="nobody's"),
        401,
        error(UNAUTHORIZED),
    ),
)
async def test_keys(case: Case, client: CheckedClient) -> None:
    await client.check(case)


def allows_what_browsers_ask(answer: Answer) -> None:
    """The response allows exactly the four headers of §5, and the method GET."""
    allowed = answer.headers["Access-Control-Allow-Headers"].split(", ")
    assert sorted(allowed) == ["Authorization", "Content-Type", "X-API-Key", "X-Environment"]
    assert "GET" in answer.headers["Access-Control-Allow-Methods"].split(", ")
    assert int(answer.headers["Access-Control-Max-Age"]) > 0


def on_each_open_path() -> Iterator[Case]:
    for number, path in OPEN_PATHS.items():
        yield Case(
            f"{number} GET {path}, with a key but no cookies",
            get(path, headers=ORIGIN),
            200,
            open_to_any_origin,
            no_header("Access-Control-Allow-Credentials"),
        )
        yield Case(
            f"{number} a refusal on {path}",
            get(path, key=None, headers=ORIGIN),
            401,
            open_to_any_origin,
        )
        yield Case(
            f"5.18 the allowed request headers on {path}",
            with_method("OPTIONS", path, key=None, headers=PREFLIGHT),
            204,
            open_to_any_origin,
            allows_what_browsers_ask,
        )


@table(
    *on_each_open_path(),
    Case("5.16 POST /v1/content", post(NEW, key=None, headers=ORIGIN), 401, without_cors),
    Case(
        "5.16 a preflight of /v1/content",
        with_method("OPTIONS", "/v1/content", key=None, headers=PREFLIGHT),
        405,
        without_cors,
        header("Content-Type", "application/json"),
    ),
)
async def test_cors(case: Case, client: CheckedClient) -> None:
    await client.check(case)


@table(
    *(
        Case(
            f"5.15 POST /graphql with the key {key}",
            post({"query": "{ __typename }"}, "/graphql", key=key, headers=ORIGIN),
            200 if key else 401,
            open_to_any_origin,
        )
        for key in (KEY, None)
    ),
    Case(
        "5.18 the allowed request headers on /graphql",
        with_method("OPTIONS", "/graphql", key=None, headers=PREFLIGHT),
        204,
        open_to_any_origin,
        allows_what_browsers_ask,
        header("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS, POST"),
    ),
)
async def test_cors_of_graphql(case: Case, client: CheckedClient) -> None:
    await client.check(case)
