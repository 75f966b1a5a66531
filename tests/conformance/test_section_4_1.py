"""Specification §4.1: the list of a type."""

from __future__ import annotations

import pytest

from tests.conformance.cases import Case, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    count,
    entry,
    envelope,
    error,
    every_entry,
    newest_first,
    pagination,
    says,
    slugs,
    success,
    values_of,
    whole_pagination,
)
from tests.conformance.magazine import EDITOR, HARBOUR, HARBOUR_IN_FRENCH, NOTES, VIEWER

pytestmark = pytest.mark.asyncio(loop_scope="package")

NEWEST = NOTES - 1
BODY = b'{"limit": 1, "status": "draft"}'


@table(
    Case(
        "4.0.5, 4.1.1 the type is named by its slug, in production by default",
        get("/v1/content/posts"),
        200,
        slugs("plain", "harbour"),
    ),
    Case("4.1.2, 5.6 content.view is enough", get("/v1/content/posts", key=VIEWER), 200, count(2)),
    Case(
        "4.1.2, 5.6 content.edit does not stand for content.view",
        get("/v1/content/posts", key=EDITOR),
        403,
        says("content.view"),
    ),
    Case(
        "4.1.3 a request body changes nothing",
        get("/v1/content/posts", body=BODY, headers={"Content-Type": "application/json"}),
        200,
        slugs("plain", "harbour"),
        pagination(limit=10),
    ),
    Case(
        "4.1.4, 8.1 limit is 10 by default",
        get("/v1/content/notes"),
        200,
        count(10),
        pagination(limit=10),
    ),
    Case(
        "4.1.4 limit is the number of entries to return",
        get("/v1/content/notes?limit=25"),
        200,
        count(25),
        pagination(limit=25),
    ),
    Case(
        "4.1.5, 8.1 limit above 100 is clamped",
        get("/v1/content/notes?limit=500"),
        200,
        count(100),
        pagination(limit=100),
    ),
    Case(
        "4.1.5 limit of 100 is allowed",
        get("/v1/content/notes?limit=100"),
        200,
        count(100),
        pagination(limit=100),
    ),
    Case(
        "4.1.5, query.6 limit of 101 is clamped",
        get("/v1/content/notes?limit=101"),
        200,
        count(100),
        pagination(limit=100),
    ),
    Case(
        "4.1.5, query.6 limit of 0 is clamped",
        get("/v1/content/notes?limit=0"),
        200,
        count(1),
        pagination(limit=1),
    ),
    Case(
        "4.1.5, 8.1 limit below 0 is clamped",
        get("/v1/content/notes?limit=-3"),
        200,
        count(1),
        pagination(limit=1),
    ),
    Case(
        "4.1.6 a non-numeric limit is 10",
        get("/v1/content/notes?limit=many"),
        200,
        count(10),
        pagination(limit=10),
    ),
    Case(
        "4.1.7 offset is 0 by default",
        get("/v1/content/notes?limit=2"),
        200,
        slugs(f"note-{NEWEST}", f"note-{NEWEST - 1}"),
        pagination(offset=0),
    ),
    Case(
        "4.1.7 offset skips entries",
        get("/v1/content/notes?limit=2&offset=3"),
        200,
        slugs(f"note-{NEWEST - 3}", f"note-{NEWEST - 4}"),
        pagination(offset=3),
    ),
    Case(
        "4.1.8, 8.2 offset is never below 0",
        get("/v1/content/notes?limit=1&offset=-5"),
        200,
        slugs(f"note-{NEWEST}"),
        pagination(offset=0),
    ),
    Case(
        "4.1.10 status=published",
        get("/v1/content/posts?status=published"),
        200,
        slugs("plain", "harbour"),
    ),
    Case(
        "2.2.3, 4.1.10, 4.7.2 status=draft",
        get("/v1/content/posts?status=draft"),
        200,
        slugs("untouched"),
        pagination(total=1),
    ),
    Case(
        "4.1.10, 4.7.2 status=archived",
        get("/v1/content/posts?status=archived"),
        200,
        slugs("gone"),
    ),
    Case(
        "4.1.11, 4.7.6 language is en-US by default",
        get("/v1/content/posts"),
        200,
        values_of("language", "en-US", "en-US"),
    ),
    Case(
        "2.2.3, 4.1.12, 4.7.6 language selects entries written in it",
        get("/v1/content/posts?language=fr-FR"),
        200,
        values_of("id", HARBOUR_IN_FRENCH),
        every_entry("language", "fr-FR"),
        pagination(total=1),
    ),
    Case(
        "4.1.13, entries.14 locale selects translations",
        get("/v1/content/posts?locale=fr-FR"),
        200,
        values_of("title", "Plain", "Le port"),
        every_entry("locale", "fr-FR"),
    ),
    Case(
        "4.1.14 environment selects the entries of one",
        get("/v1/content/posts?environment=staging"),
        200,
        slugs("rehearsal"),
    ),
    Case(
        "2.3.1, 4.1.15 the answer is success, data and pagination",
        get("/v1/content/posts"),
        200,
        envelope("success", "data", "pagination"),
        success,
    ),
    Case("4.1.16 newest created first", get("/v1/content/posts"), 200, newest_first),
    Case(
        "4.1.17 a slug in another case is unknown",
        get("/v1/content/Posts"),
        404,
        error("Content type not found"),
    ),
    Case(
        "4.1.17 a type without entries is an empty list",
        get("/v1/content/empty"),
        200,
        slugs(),
        whole_pagination(limit=10, offset=0, total=0),
    ),
    Case(
        "4.1.18 limit, offset, status, language and locale combine",
        get("/v1/content/posts?limit=1&offset=1&status=published&language=en-US&locale=fr-FR"),
        200,
        entry(id=HARBOUR, title="Le port", locale="fr-FR", language="en-US"),
        whole_pagination(limit=1, offset=1, total=2),
    ),
    Case(
        "4.1.18 status and language combine",
        get("/v1/content/posts?status=draft&language=fr-FR"),
        200,
        slugs(),
        pagination(total=0),
    ),
    Case(
        "4.1.18 environment and status combine",
        get("/v1/content/posts?environment=staging&status=draft"),
        200,
        slugs(),
        pagination(total=0),
    ),
)
async def test_the_list_of_a_type(case: Case, client: CheckedClient) -> None:
    await client.check(case)
