"""Specification §2: entries, pagination and envelopes in the responses of the endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.cases import Case, Request, create, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    all_fields,
    entry,
    every_entry,
    is_object_of_texts,
    is_text,
    is_time,
    is_time_or_null,
    pagination,
    properties,
    whole_pagination,
)
from tests.conformance.magazine import ADA, HARBOUR, NOTES, NOTHING, SAVED

pytestmark = pytest.mark.asyncio(loop_scope="package")

ENDPOINTS: dict[str, Request] = {
    "the list of a type": get("/v1/content/posts"),
    "a single entry": get("/v1/content/posts/harbour"),
    "the list across types": get("/v1/content?type=posts"),
    "the answer to a create": create("Section 2.1", fields={"views": 1}),
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


def each_endpoint() -> Iterator[Case]:
    """Each endpoint shows exactly the properties of the table."""
    numbers = ", ".join(number for number, *_ in PROPERTIES)
    for column, (endpoint, request) in enumerate(ENDPOINTS.items()):
        expected = {name: fits for _, name, fits, shown in PROPERTIES if shown[column]}
        yield Case(
            f"2.1.1, {numbers} the properties of {endpoint}",
            request,
            200,
            properties(expected),
            *(every_entry(name, fits) for name, fits in expected.items()),
        )


@table(
    *each_endpoint(),
    Case(
        "2.1.5, 4.4.3 a created entry is always a draft",
        create("A draft", status="published"),
        200,
        entry(status="draft"),
    ),
    Case(
        "2.1.9, 4.2.9 publishedAt is null when never published",
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
        "2.1.16, 4.2.9, 4.7.3, entries.8 stage is null when the entry is archived",
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
        "2.1.18, 2.1.19, 2.1.20, 2.1.21 an entry with nothing saved has the same shape",
        get("/v1/content/posts/untouched"),
        200,
        all_fields(NOTHING),
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
