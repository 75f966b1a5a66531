"""Our readings: the change feed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.cases import Case, Expectation, get, table, with_method
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import count, error, header, limits_shown, open_to_any_origin
from tests.conformance.magazine import EDITOR, HARBOUR, NOTES, REHEARSAL, WEB_PAGE
from tests.integration.api.server import Answer

pytestmark = pytest.mark.asyncio(loop_scope="package")

CREATED = "entry.created"
CHANGED = "contentType.changed"
POSTS = [CHANGED, *[CREATED] * 5]


def types(*expected: str) -> Expectation:
    def expect(answer: Answer) -> None:
        assert [change["type"] for change in answer.body["data"]] == list(expected)

    return expect


def slugs(*expected: str) -> Expectation:
    def expect(answer: Answer) -> None:
        assert [change["entry"]["slug"] for change in answer.body["data"]] == list(expected)

    return expect


def linked(answer: Answer) -> None:
    ids = [change["id"] for change in answer.body["data"]]
    assert [change["previous"] for change in answer.body["data"]] == [None, *ids[:-1]]
    assert answer.body["next"] == ids[-1]


def whole(answer: Answer) -> None:
    assert answer.body.keys() == {"data", "next", "caughtUp"}
    assert answer.body["caughtUp"] is True


def current(expected: dict[str, Any]) -> Expectation:
    """The entry in the last change currently has these properties."""

    def expect(answer: Answer) -> None:
        found = answer.body["data"][-1]["current"]
        assert {name: found[name] for name in expected} == expected

    return expect


def last_entry(**expected: Any) -> Expectation:
    def expect(answer: Answer) -> None:
        assert answer.body["data"][-1]["entry"] == expected

    return expect


@table(
    Case(
        "changes.1 of a type",
        get("/v1/changes?contentType=posts"),
        200,
        types(*POSTS),
        linked,
        whole,
        last_entry(
            id="018f0000-0000-7000-8000-00000000000d",
            contentType="posts",
            slug="harbour",
            language="fr-FR",
            status="published",
            version=1,
        ),
    ),
    Case("changes.1 all", get("/v1/changes?limit=500"), 200, count(NOTES + 4 + 6), linked, whole),
    Case(
        "changes.1 in staging",
        get("/v1/changes?environment=staging"),
        200,
        types(CHANGED, CREATED),
        linked,
        whole,
    ),
    Case("changes.1 from now on", get("/v1/changes?after=now"), 200, count(0), whole),
    Case(
        "changes.2 by content type and kind",
        get("/v1/changes?contentType=posts&events=entry.created,entry.deleted"),
        200,
        slugs("untouched", "harbour", "gone", "plain", "harbour"),
        linked,
    ),
    Case("changes.2 by kind", get("/v1/changes?events=entry.deleted"), 200, count(0), whole),
    Case("changes.2 an unknown type", get("/v1/changes?contentType=x"), 200, count(0), whole),
    Case("changes.2 empty is absent", get("/v1/changes?events=&contentType="), 200, count(100)),
    Case("changes.3 by default", get("/v1/changes"), 200, count(100)),
    Case("changes.3 clamped above", get("/v1/changes?limit=9999"), 200, count(NOTES + 10)),
    Case("changes.3 clamped below", get("/v1/changes?limit=0"), 200, count(1)),
    Case("changes.3 no number", get("/v1/changes?limit=many"), 200, count(100)),
    Case(
        "changes.4 the entry",
        get("/v1/changes?contentType=posts&limit=3&include=entry"),
        200,
        current({"id": HARBOUR, "slug": "harbour", "locale": "en-US"}),
    ),
    Case(
        "changes.4 in a locale",
        get("/v1/changes?contentType=posts&limit=3&include=entry&locale=es-ES"),
        200,
        current({"id": HARBOUR, "title": "El puerto", "locale": "es-ES"}),
    ),
    Case(
        "changes.4 in staging",
        get("/v1/changes?environment=staging&include=entry"),
        200,
        current({"id": REHEARSAL}),
    ),
    Case(
        "changes.5 of a type",
        get("/v1/changes?contentType=posts", key=WEB_PAGE),
        200,
        types(CHANGED, *[CREATED] * 3),
        linked,
    ),
    Case(
        "changes.5 all",
        get("/v1/changes?limit=500", key=WEB_PAGE),
        200,
        count(NOTES + 4 + 3),
        linked,
        whole,
    ),
    Case(
        "changes.6 token",
        get("/v1/changes?after=x"),
        400,
        error("Unknown after: use next or an id of this environment's changes, or now"),
    ),
    Case("changes.6 include", get("/v1/changes?include=media"), 400),
    Case("changes.6 event", get("/v1/changes?events=entry.created,entry.made"), 400),
    Case("changes.7 without a key", get("/v1/changes", key=None), 401, open_to_any_origin),
    Case("changes.7 without permission", get("/v1/changes", key=EDITOR), 403),
    Case("changes.7 an unknown environment", get("/v1/changes?environment=x&after=x"), 400),
    Case(
        "changes.7 any origin",
        get("/v1/changes?limit=1", headers={"Origin": "https://example.com"}),
        200,
        open_to_any_origin,
        limits_shown,
        header("Cache-Control", "private, no-cache"),
    ),
    Case("changes.7 HEAD", with_method("HEAD", "/v1/changes?limit=1"), 200),
    Case("changes.7 no writes", with_method("POST", "/v1/changes"), 405),
)
async def test_changes(case: Case, client: CheckedClient) -> None:
    await client.check(case)
