"""Specification §4.2: one entry."""

from __future__ import annotations

import pytest

from tests.conformance.cases import Case, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import entry, envelope, error, says, success
from tests.conformance.magazine import (
    EDITOR,
    HARBOUR,
    HARBOUR_IN_FRENCH,
    REHEARSAL,
    VIEWER,
)

pytestmark = pytest.mark.asyncio(loop_scope="package")

PATH = "/v1/content/posts/harbour"


@table(
    Case("4.2.1 type and entry are named by their slugs", get(PATH), 200, entry(id=HARBOUR)),
    Case("4.2.2, 5.6 content.view is enough", get(PATH, key=VIEWER), 200, entry(id=HARBOUR)),
    Case(
        "4.2.2, 5.6 content.edit does not stand for content.view",
        get(PATH, key=EDITOR),
        403,
        says("content.view"),
    ),
    Case(
        "4.2.3 a request body changes nothing",
        get(PATH, body=b'{"language": "fr-FR"}'),
        200,
        entry(id=HARBOUR),
    ),
    Case("4.2.4 language is en-US by default", get(PATH), 200, entry(language="en-US")),
    Case(
        "4.2.5, 4.7.6 language selects the version",
        get(f"{PATH}?language=fr-FR"),
        200,
        entry(id=HARBOUR_IN_FRENCH, language="fr-FR"),
    ),
    Case(
        "4.2.5 there is no version in another language",
        get("/v1/content/posts/plain?language=fr-FR"),
        404,
        error("Content entry not found"),
    ),
    Case(
        "4.0.6, 4.2.6 locale selects the translation",
        get(f"{PATH}?locale=fr-FR"),
        200,
        entry(id=HARBOUR, title="Le port", locale="fr-FR", language="en-US"),
    ),
    Case(
        "4.2.7 environment selects the entry of one",
        get("/v1/content/posts/rehearsal?environment=staging"),
        200,
        entry(id=REHEARSAL),
    ),
    Case(
        "4.2.7 what is in staging is not in production",
        get("/v1/content/posts/rehearsal"),
        404,
        error("Content entry not found"),
    ),
    Case(
        "2.3.2, 4.2.8 the answer is success and the entry with contentType",
        get(PATH),
        200,
        envelope("success", "data"),
        success,
        lambda answer: is_of(answer.data["contentType"], "posts", "Posts"),
    ),
    Case("4.2.9 a published one", get(PATH), 200, entry(status="published")),
    Case(
        "4.2.10 status filters nothing",
        get(f"{PATH}?status=draft"),
        200,
        entry(id=HARBOUR, status="published"),
    ),
    Case(
        "4.2.10 nor does one that does not exist",
        get(f"{PATH}?status=nonsense"),
        200,
        entry(id=HARBOUR),
    ),
    Case(
        "4.2.12 an entry of another type is unknown",
        get("/v1/content/authors/harbour"),
        404,
        error("Content entry not found"),
    ),
)
async def test_one_entry(case: Case, client: CheckedClient) -> None:
    await client.check(case)


def is_of(shown: dict[str, str], slug: str, name: str) -> None:
    assert (shown["slug"], shown["name"]) == (slug, name)
