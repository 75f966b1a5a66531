"""Specification §4.3: the list across types."""

from __future__ import annotations

import pytest

from tests.conformance.cases import Case, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    count,
    envelope,
    every_entry,
    is_object_of_texts,
    newest_first,
    none_has,
    pagination,
    says,
    slugs,
    values_of,
)
from tests.conformance.magazine import EDITOR, NOTES, VIEWER

pytestmark = pytest.mark.asyncio(loop_scope="package")

OTHERS = ("harbour", "plain", "gone", "harbour", "untouched", "ada")
"""The entries newer than the notes, newest first."""


@table(
    Case(
        "4.3.1 entries of every type",
        get("/v1/content?limit=7"),
        200,
        slugs(*OTHERS, f"note-{NOTES - 1}"),
        pagination(total=len(OTHERS) + NOTES),
    ),
    Case("4.3.2, 5.6 content.view is enough", get("/v1/content", key=VIEWER), 200, count(50)),
    Case(
        "4.3.2, 5.6 content.edit does not stand for content.view",
        get("/v1/content", key=EDITOR),
        403,
        says("content.view"),
    ),
    Case(
        "4.3.3 a request body changes nothing",
        get("/v1/content", body=b'{"type": "authors"}'),
        200,
        pagination(total=len(OTHERS) + NOTES),
    ),
    Case(
        "4.3.4 type selects entries of one",
        get("/v1/content?type=authors"),
        200,
        slugs("ada"),
        pagination(total=1),
    ),
    Case(
        "4.3.5 type is none by default",
        get("/v1/content?limit=7"),
        200,
        lambda answer: is_of_types(answer.data, {"posts", "authors", "notes"}),
    ),
    Case(
        "4.3.6, 8.1 limit is 50 by default",
        get("/v1/content"),
        200,
        count(50),
        pagination(limit=50),
    ),
    Case(
        "4.3.7, 8.1 limit above 100 is clamped",
        get("/v1/content?limit=101"),
        200,
        count(100),
        pagination(limit=100),
    ),
    Case(
        "4.3.7 limit of 0 is clamped",
        get("/v1/content?limit=0"),
        200,
        count(1),
        pagination(limit=1),
    ),
    Case(
        "4.3.8 a non-numeric limit is 50",
        get("/v1/content?limit=ten"),
        200,
        count(50),
        pagination(limit=50),
    ),
    Case(
        "4.3.9 offset skips entries",
        get("/v1/content?limit=2&offset=1"),
        200,
        slugs(*OTHERS[1:3]),
        pagination(offset=1),
    ),
    Case(
        "4.3.10 offset is never below 0",
        get("/v1/content?limit=1&offset=-9"),
        200,
        slugs(OTHERS[0]),
        pagination(offset=0),
    ),
    Case(
        "4.3.11 locale selects translations",
        get("/v1/content?limit=4&locale=fr-FR"),
        200,
        values_of("title", "Harbour", "Plain", "Gone", "Le port"),
        every_entry("locale", "fr-FR"),
    ),
    Case(
        "4.0.3, 4.3.12 environment selects the entries of one",
        get("/v1/content?environment=staging"),
        200,
        slugs("rehearsal"),
        pagination(total=1),
    ),
    Case(
        "2.3.3, 4.3.13 the answer is data, each with contentType, and pagination",
        get("/v1/content"),
        200,
        envelope("data", "pagination"),
        every_entry("contentType", is_object_of_texts("id", "name", "slug")),
        none_has("language"),
    ),
    Case("4.3.14, entries.3 newest created first", get("/v1/content?limit=100"), 200, newest_first),
    Case(
        "4.3.15, 4.7.4 every status is returned",
        get("/v1/content?type=posts"),
        200,
        values_of("status", "published", "published", "archived", "published", "draft"),
    ),
    Case(
        "4.3.16 there is no status parameter",
        get("/v1/content?type=posts&status=draft"),
        200,
        pagination(total=5),
    ),
)
async def test_the_list_across_types(case: Case, client: CheckedClient) -> None:
    await client.check(case)


def is_of_types(entries: list[dict[str, dict[str, str]]], expected: set[str]) -> None:
    assert {entry["contentType"]["slug"] for entry in entries} == expected
