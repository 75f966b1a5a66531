"""Specification §2: entries, pagination and envelopes in the responses of the endpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conformance.cases import Case, Request, create, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    all_fields,
    entry,
    envelope,
    every_entry,
    field_slugs,
    fields,
    is_object_of_texts,
    is_text,
    is_time,
    is_time_or_null,
    none_has,
    pagination,
    properties,
    success,
    whole_pagination,
)
from tests.conformance.magazine import ADA, AT_DESK, HARBOUR, NOTES, NOTHING, SAVED

pytestmark = pytest.mark.asyncio(loop_scope="package")

ENDPOINTS: dict[str, Callable[[str], Request]] = {
    "the list of a type": lambda _: get("/v1/content/posts"),
    "a single entry": lambda _: get("/v1/content/posts/harbour"),
    "the list across types": lambda _: get("/v1/content?type=posts"),
    "the answer to a create": lambda name: create(f"Section 2.1 {name}", fields={"views": 1}),
}
"""The columns of the table in §2.1, with a request for each."""

YES, NO = True, False
PROPERTIES: tuple[tuple[str, str, Any, tuple[bool, bool, bool, bool]], ...] = (
    ("2.1.2", "id", is_text, (YES, YES, YES, YES)),
    ("2.1.3", "title", is_text, (YES, YES, YES, YES)),
    ("2.1.4", "slug", is_text, (YES, YES, YES, YES)),
    (
        "2.1.5",
        "status",
        {"draft", "published", "archived"}.__contains__,
        (YES, YES, YES, YES),
    ),
    (
        "2.1.6",
        "stage",
        lambda stage: stage is None or is_object_of_texts("id", "name")(stage),
        (YES, YES, YES, NO),
    ),
    ("2.1.7", "language", {"en-US", "fr-FR"}.__contains__, (YES, YES, NO, NO)),
    ("2.1.8", "locale", "en-US", (YES, YES, YES, NO)),
    ("2.1.9", "publishedAt", is_time_or_null, (YES, YES, YES, NO)),
    ("2.1.10", "createdAt", is_time, (YES, YES, YES, YES)),
    ("2.1.11", "updatedAt", is_time, (YES, YES, YES, YES)),
    ("2.1.12", "contentType", is_object_of_texts("id", "name", "slug"), (NO, YES, YES, YES)),
    ("2.1.13", "fields", lambda shown: set(shown) == set(NOTHING), (YES, YES, YES, YES)),
)
"""The rows of the table in §2.1: a property, what fits it, and which endpoints show it."""


def each_property() -> Iterator[Case]:
    for number, name, fits, columns in PROPERTIES:
        for (endpoint, request), shown in zip(ENDPOINTS.items(), columns, strict=True):
            verb = "is in" if shown else "is not in"
            expected = every_entry(name, fits) if shown else none_has(name)
            yield Case(f"{number} {name} {verb} {endpoint}", request(name), 200, expected)


def each_shape() -> Iterator[Case]:
    """Each endpoint shows exactly the properties of the table."""
    for column, (endpoint, request) in enumerate(ENDPOINTS.items()):
        expected = {name for _, name, _, shown in PROPERTIES if shown[column]}
        yield Case(
            f"2.1.1 the properties are those of {endpoint}",
            request("shape"),
            200,
            properties(expected),
        )


@table(
    *each_shape(),
    *each_property(),
    Case(
        "2.1.5 a created entry is always a draft",
        create("A draft", status="published"),
        200,
        entry(status="draft"),
    ),
    Case(
        "2.1.9 publishedAt is null when never published",
        get("/v1/content/posts/untouched"),
        200,
        entry(publishedAt=None, status="draft"),
    ),
    Case(
        "2.1.14 stage is the workflow stage of the entry",
        get("/v1/content/posts/harbour"),
        200,
        entry(stage={"id": "writing", "name": "Writing"}),
    ),
    Case(
        "2.1.15 stage is null where the type has no workflow",
        get("/v1/content/authors/ada"),
        200,
        entry(stage=None),
    ),
    Case(
        "2.1.16 stage is null when the entry is archived",
        get("/v1/content/posts/gone"),
        200,
        entry(stage=None, status="archived"),
    ),
    Case(
        "2.1.17 fields are every field of the type, in its order",
        get("/v1/content/posts/harbour"),
        200,
        all_fields(SAVED),
    ),
    Case(
        "2.1.18 all entries of a type have the same shape",
        get("/v1/content/posts/untouched"),
        200,
        field_slugs(SAVED),
    ),
    Case(
        "2.1.19 a field with nothing saved is null",
        get("/v1/content/posts/untouched"),
        200,
        fields(body=None, views=None, author=None, cover=None, meta=None, tags=None, gallery=None),
    ),
    Case(
        "2.1.20 a repeater with nothing saved is an empty array",
        get("/v1/content/posts/untouched"),
        200,
        fields(faq=[]),
    ),
    Case(
        "2.1.21 a reference to many with nothing saved is an empty array",
        get("/v1/content/posts/untouched"),
        200,
        fields(related=[]),
    ),
    Case(
        "2.1.22 a section is never in fields of a single entry",
        get("/v1/content/posts/harbour"),
        200,
        every_entry("fields", lambda shown: not {"intro", "layout"} & set(shown)),
    ),
    Case(
        "2.1.22 a section is never in fields of a list",
        get("/v1/content?limit=100"),
        200,
        every_entry("fields", lambda shown: not {"intro", "layout"} & set(shown)),
    ),
    Case(
        "2.1.22 a section is never in fields of a created entry",
        create("No sections", fields={"intro": "x"}),
        200,
        all_fields(NOTHING),
    ),
    Case(
        "2.1.23 a list shows field values keyed by field slug",
        get("/v1/content/posts?offset=1"),
        200,
        entry(id=HARBOUR),
        all_fields(SAVED),
    ),
    Case(
        "2.1.24 references take ids of entries on creation",
        create("Refers", fields={"author": AT_DESK.format("aa")}),
        200,
        fields(author=AT_DESK.format("aa")),
    ),
    Case(
        "2.1.25 a content type record is id, name and slug",
        get("/v1/content/authors/ada"),
        200,
        entry(id=ADA),
        every_entry("contentType", is_object_of_texts("id", "name", "slug")),
        every_entry(
            "contentType", lambda type_: (type_["name"], type_["slug"]) == ("Authors", "authors")
        ),
    ),
)
async def test_entries(case: Case, client: CheckedClient) -> None:
    await client.check(case)


@table(
    Case(
        "2.2.1 pagination is limit, offset and total in the list of a type",
        get("/v1/content/posts"),
        200,
        whole_pagination(limit=10, offset=0, total=2),
    ),
    Case(
        "2.2.1 pagination is limit, offset and total in the list across types",
        get("/v1/content?type=authors"),
        200,
        whole_pagination(limit=50, offset=0, total=1),
    ),
    Case(
        "2.2.2 limit and offset are the values applied",
        get("/v1/content/notes?limit=1000&offset=-7"),
        200,
        pagination(limit=100, offset=0),
    ),
    Case(
        "2.2.3 total counts the entries that match the status",
        get("/v1/content/posts?status=draft"),
        200,
        pagination(total=1),
    ),
    Case(
        "2.2.3 total counts the entries that match the language",
        get("/v1/content/posts?language=fr-FR"),
        200,
        pagination(total=1),
    ),
    Case(
        "2.2.3 total counts the entries that match the type",
        get("/v1/content?type=notes"),
        200,
        pagination(total=NOTES),
    ),
    Case(
        "2.2.3 total does not depend on the page",
        get("/v1/content/notes?limit=3&offset=7"),
        200,
        pagination(total=NOTES),
    ),
)
async def test_pagination(case: Case, client: CheckedClient) -> None:
    await client.check(case)


@table(
    Case(
        "2.3.1 the list of a type is success, data and pagination",
        get("/v1/content/posts"),
        200,
        envelope("success", "data", "pagination"),
        success,
    ),
    Case(
        "2.3.2 a single entry is success and data",
        get("/v1/content/posts/harbour"),
        200,
        envelope("success", "data"),
        success,
    ),
    Case(
        "2.3.3 the list across types is data and pagination",
        get("/v1/content"),
        200,
        envelope("data", "pagination"),
    ),
    Case(
        "2.3.4 the answer to a create is data and message",
        create("An envelope"),
        200,
        envelope("data", "message"),
        lambda answer: is_message(answer.body["message"]),
    ),
    Case(
        "2.3.5 an error is its message alone",
        get("/v1/content/nothing"),
        404,
        envelope("error"),
        lambda answer: is_message(answer.body["error"]),
    ),
)
async def test_envelopes(case: Case, client: CheckedClient) -> None:
    await client.check(case)


def is_message(value: Any) -> None:
    assert is_text(value)
