"""Our readings: query parameters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.cases import Case, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    count,
    entry,
    error,
    every_entry,
    pagination,
    says,
    slugs,
    whole_pagination,
)
from tests.conformance.magazine import HARBOUR, NOTES

pytestmark = pytest.mark.asyncio(loop_scope="package")

STAGING = {"X-Environment": "staging"}
UNLIMITED = 2**53 - 1

LIMITS = {
    "7": 7,
    "%2B7": 7,
    "007": 7,
    "5.7": 5,
    "5.": 5,
    "%2B5.9": 5,
    "0.9": 1,
    "-5": 1,
    "-0": 1,
    "-5.9": 1,
    "100.9": 100,
}
"""Texts that are numbers, with the limit that each sets."""
NO_NUMBERS = (
    "abc",
    "5x",
    "x5",
    "1e2",
    "NaN",
    "Infinity",
    "1_000",
    "1,5",
    "0x10",
    ".5",
    "5.7.1",
    "--5",
    "%2B-5",
    "+5",
    "5%20",
    "%205",
    "5%0A",
    "%2B",
    "null",
    "%D9%A3",
    "%EF%BC%95",
    "%C2%B2",
    "%00",
    "%FF",
)
"""Texts that are not numbers, including non-ASCII digits; a bare + is a space in a query."""


def numbers() -> Iterator[Case]:
    for text, limit in LIMITS.items():
        target = f"/v1/content/notes?limit={text}"
        yield Case(f"query.6 limit={text} is {limit}", get(target), 200, pagination(limit=limit))
    for text in NO_NUMBERS:
        target = f"/v1/content/notes?limit={text}&offset={text}"
        yield Case(f"query.6 {text} is no number", get(target), 200, pagination(limit=10, offset=0))
        target = f"/v1/content?limit={text}&offset={text}"
        yield Case(
            f"query.6 {text} is no number across types",
            get(target),
            200,
            pagination(limit=50, offset=0),
        )


@table(
    *numbers(),
    Case(
        "query.6 offset=5.7 is 5",
        get("/v1/content/notes?offset=5.7"),
        200,
        pagination(offset=5),
        entry(slug=f"note-{NOTES - 6}"),
    ),
    Case("query.6 offset=-5 is 0", get("/v1/content?offset=-5"), 200, pagination(offset=0)),
    Case(
        "query.7 thousands of digits are clamped",
        get(f"/v1/content/notes?limit={'9' * 5000}"),
        200,
        count(100),
        pagination(limit=100),
    ),
    Case(
        "query.7 thousands of digits below 0 are clamped",
        get(f"/v1/content/notes?limit=-{'9' * 5000}"),
        200,
        count(1),
        pagination(limit=1),
    ),
    Case(
        "query.7 thousands of zeros are 0",
        get(f"/v1/content/notes?limit={'0' * 5000}"),
        200,
        pagination(limit=1),
    ),
    Case(
        "query.7 thousands of zeros before a digit do not count",
        get(f"/v1/content/notes?limit={'0' * 5000}7"),
        200,
        pagination(limit=7),
    ),
    Case(
        "query.7 an offset of thousands of digits is past the end",
        get(f"/v1/content/notes?offset={'9' * 5000}"),
        200,
        whole_pagination(limit=10, offset=UNLIMITED, total=NOTES),
        count(0),
    ),
    Case(
        "query.8 past the end of the list of a type",
        get(f"/v1/content/notes?offset={NOTES}"),
        200,
        count(0),
        pagination(offset=NOTES, total=NOTES),
    ),
    Case(
        "query.8 past the end of the list across types",
        get("/v1/content?type=notes&offset=5000"),
        200,
        count(0),
        pagination(offset=5000, total=NOTES),
    ),
    Case(
        "query.8 across the end",
        get(f"/v1/content/notes?offset={NOTES - 2}"),
        200,
        slugs("note-1", "note-0"),
        pagination(total=NOTES),
    ),
    Case(
        "query.9 pagination shows the effective values",
        get("/v1/content/notes?limit=999&offset=x"),
        200,
        pagination(limit=100, offset=0),
    ),
)
async def test_numbers(case: Case, client: CheckedClient) -> None:
    await client.check(case)


@table(
    Case(
        "query.1 unknown parameters are ignored",
        get("/v1/content/posts?order=title&page=2&Limit=1&fields=id"),
        200,
        slugs("plain", "harbour"),
    ),
    Case(
        "query.1 on a single entry too",
        get("/v1/content/posts/harbour?limit=x&type=nothing"),
        200,
        entry(id=HARBOUR),
    ),
    Case(
        "query.2 the first of two limits counts",
        get("/v1/content/notes?limit=2&limit=3"),
        200,
        count(2),
    ),
    Case(
        "query.2 the first of two statuses counts",
        get("/v1/content/posts?status=draft&status=nonsense"),
        200,
        slugs("untouched"),
    ),
    Case(
        "query.2 the first of two locales counts",
        get("/v1/content/posts/harbour?locale=fr-FR&locale=xx"),
        200,
        entry(locale="fr-FR"),
    ),
    Case(
        "query.2 the first counts though it is empty",
        get("/v1/content?environment=&environment=staging&limit=1"),
        200,
        slugs("harbour"),
    ),
    Case(
        "query.3 empty values are absent ones in the list of a type",
        get("/v1/content/posts?limit=&offset=&status=&language=&locale=&environment="),
        200,
        slugs("plain", "harbour"),
        pagination(limit=10, offset=0),
        every_entry("locale", "en-US"),
    ),
    Case(
        "query.3 empty values are absent ones in the list across types",
        get("/v1/content?type=&limit=&locale="),
        200,
        count(50),
        pagination(limit=50, total=NOTES + 6),
    ),
    Case(
        "query.3 a parameter without = is empty",
        get("/v1/content/posts?status&locale"),
        200,
        slugs("plain", "harbour"),
    ),
    Case(
        "query.3 an empty environment leaves it to the header",
        get("/v1/content?environment=", headers=STAGING),
        200,
        slugs("rehearsal"),
    ),
    Case(
        "query.3 an empty header is an absent one",
        get("/v1/content/posts", headers={"X-Environment": ""}),
        200,
        slugs("plain", "harbour"),
    ),
    Case(
        "query.4 environment in the query beats the header",
        get("/v1/content/posts?environment=production", headers=STAGING),
        200,
        slugs("plain", "harbour"),
    ),
    Case(
        "query.4 the header is not looked at then",
        get("/v1/content?environment=staging", headers={"X-Environment": "nonsense"}),
        200,
        slugs("rehearsal"),
    ),
    Case(
        "query.5 an environment in another case is unknown",
        get("/v1/content?environment=Staging"),
        400,
        says("Staging"),
    ),
    Case(
        "query.5 a locale in another case is unsupported",
        get("/v1/content?locale=fr-fr"),
        400,
        says("fr-fr"),
    ),
    Case(
        "query.5 an environment with a space around is unknown",
        get("/v1/content?environment=staging%20"),
        400,
        says("staging "),
    ),
    Case(
        "query.10 an unknown status is 400 naming the three",
        get("/v1/content/posts?status=live"),
        400,
        says("live", "published", "draft", "archived"),
    ),
    Case(
        "query.10 a status in another case is unknown",
        get("/v1/content/posts?status=Draft"),
        400,
        says("Draft"),
    ),
    Case(
        "query.11 status is unknown on the list across types",
        get("/v1/content?type=posts&status=nonsense"),
        200,
        pagination(total=5),
    ),
    Case(
        "query.11 language is unknown on the list across types",
        get("/v1/content?type=posts&language=fr-FR"),
        200,
        pagination(total=5),
    ),
    Case(
        "query.12 type naming no type is 404",
        get("/v1/content?type=Posts"),
        404,
        error("Content type not found"),
    ),
    Case(
        "query.12 a type that is no text is unknown",
        get("/v1/content?type=a%00b"),
        404,
        error("Content type not found"),
    ),
    Case(
        "query.13 an unknown language matches nothing in a list",
        get("/v1/content/posts?language=tlh"),
        200,
        slugs(),
        pagination(total=0),
    ),
    Case(
        "query.13 an unknown language matches no single entry",
        get("/v1/content/posts/harbour?language=en"),
        404,
        error("Content entry not found"),
    ),
    Case(
        "query.13 a language that is no text matches nothing",
        get("/v1/content/posts?language=%00"),
        200,
        pagination(total=0),
    ),
)
async def test_parameters(case: Case, client: CheckedClient) -> None:
    await client.check(case)
