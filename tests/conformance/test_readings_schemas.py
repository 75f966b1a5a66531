"""Our readings: the schemas of a workspace's own content types."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from api.openapi.document import document
from tests.conformance.cases import Case, Expectation, get, table, with_method
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import open_to_any_origin
from tests.conformance.magazine import (
    EDITOR,
    EXPIRED,
    NO_STAGING,
    NOT_SET_UP,
    REHEARSER,
    WEB_PAGE,
)
from tests.integration.api.server import Answer

pytestmark = pytest.mark.asyncio(loop_scope="package")

DOCUMENT = "/v1/openapi.json"
SCHEMA = "/v1/content-types/posts/schema.json"


def is_generic(answer: Answer) -> None:
    assert answer.body == document()


def describes(*types: str) -> Expectation:
    def expect(answer: Answer) -> None:
        own = set(answer.body["paths"]) - set(document()["paths"])
        expected = {f"/v1/content/{slug}{rest}" for slug in types for rest in ("", "/{slug}")}
        assert expected <= own

    return expect


def has_schemas(*names: str) -> Expectation:
    def expect(answer: Answer) -> None:
        assert set(names) <= answer.body["components"]["schemas"].keys()

    return expect


def titled(title: str) -> Expectation:
    def expect(answer: Answer) -> None:
        assert answer.body["title"] == title
        assert answer.body["$schema"] == "https://json-schema.org/draft/2020-12/schema"

    return expect


def varies(answer: Answer) -> None:
    assert answer.headers["Vary"].startswith("Authorization, X-API-Key, X-Environment")


@table(
    Case("schemas.1 without a key", get(DOCUMENT, key=None), 200, is_generic),
    Case(
        "schemas.1 HTTP Basic credentials are not a key",
        get(DOCUMENT, key=None, headers={"Authorization": "Basic YTpi"}),
        200,
        is_generic,
    ),
    Case(
        "schemas.1 without a key the environment is not read",
        get(f"{DOCUMENT}?environment=x", key=None),
        200,
        is_generic,
    ),
    Case(
        "schemas.2 with a key",
        get(DOCUMENT),
        200,
        describes("posts", "authors"),
        has_schemas("Posts", "PostsFields", "ListedPosts", "NewPosts"),
    ),
    Case("schemas.2 of a HEAD", with_method("HEAD", DOCUMENT), 200),
    Case("schemas.3 an unknown key", get(DOCUMENT, key="nothing"), 401),
    Case("schemas.3 an expired key", get(DOCUMENT, key=EXPIRED), 401),
    Case("schemas.3 an empty key", get(DOCUMENT, key=None, headers={"X-API-Key": ""}), 401),
    Case("schemas.3 of one type", get(SCHEMA, key=None), 401),
    Case("schemas.4 a key that may not read", get(DOCUMENT, key=EDITOR), 403),
    Case("schemas.4 an environment", get(f"{DOCUMENT}?environment=x"), 400),
    Case(
        "schemas.4 a plan without staging",
        get(f"{DOCUMENT}?environment=staging", key=NO_STAGING),
        402,
    ),
    Case("schemas.4 no staging", get(f"{SCHEMA}?environment=staging", key=NOT_SET_UP), 404),
    Case("schemas.4 a key of staging", get(DOCUMENT, key=REHEARSER), 403),
    Case("schemas.4 a published key", get(DOCUMENT, key=WEB_PAGE), 200, describes("posts")),
    Case("schemas.4 a published key, of one type", get(SCHEMA, key=WEB_PAGE), 200, titled("Posts")),
    Case(
        "schemas.5 a query parameter",
        get(f"{DOCUMENT}?environment=staging", key=REHEARSER),
        200,
    ),
    Case(
        "schemas.5 a header",
        get(DOCUMENT, key=REHEARSER, headers={"X-Environment": "staging"}),
        200,
    ),
    Case("schemas.6 with a key", get(DOCUMENT), 200, varies),
    Case("schemas.6 without a key", get(DOCUMENT, key=None), 200, varies),
    Case("schemas.7 of one type", get(SCHEMA), 200, titled("Posts"), varies),
    Case("schemas.8 an unknown type", get("/v1/content-types/nothing/schema.json"), 404),
    Case("schemas.9 the document", get(DOCUMENT), 200, open_to_any_origin),
    Case("schemas.9 of one type", get(SCHEMA), 200, open_to_any_origin),
    Case("schemas.9 a preflight", with_method("OPTIONS", DOCUMENT, key=None), 204),
)
async def test_schemas(case: Case, client: CheckedClient) -> None:
    await client.check(case)


async def test_schemas_7_an_entry_fits_the_schema_of_its_type(client: CheckedClient) -> None:
    schema = (await client.send(get(SCHEMA))).body
    answer = await client.send(get("/v1/content/posts/harbour"))
    Draft202012Validator(schema, format_checker=FormatChecker()).validate(answer.data)


async def test_schemas_4_every_key_sees_the_same(client: CheckedClient) -> None:
    for path in (DOCUMENT, SCHEMA):
        published, all_entries = [
            await client.send(get(path, key=WEB_PAGE)),
            await client.send(get(path)),
        ]
        assert published.text == all_entries.text
