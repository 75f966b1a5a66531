"""Endpoints beyond the specification: the media library and locales."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.cases import Case, Expectation, get, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    count,
    error,
    open_to_any_origin,
    success,
    whole_pagination,
)
from tests.conformance.magazine import NOTES, WEB_PAGE
from tests.integration.api.server import Answer

pytestmark = pytest.mark.asyncio(loop_scope="package")

HERO = {
    "id": "hero",
    "url": "https://cdn.example.com/hero.png",
    "name": "hero.png",
    "contentType": "image/png",
}


def data(expected: Any) -> Expectation:
    def expect(answer: Answer) -> None:
        assert answer.body == {"success": True, "data": expected}

    return expect


def languages(american: int, french: int) -> Expectation:
    def expect(answer: Answer) -> None:
        assert answer.body["data"]["languages"] == [
            {"code": "en-US", "name": "English (United States)", "entries": american},
            {"code": "fr-FR", "name": "French (France)", "entries": french},
        ]

    return expect


def locales(*expected: tuple[str, str, int]) -> Expectation:
    def expect(answer: Answer) -> None:
        assert answer.body["data"]["locales"] == [
            {"code": code, "name": name, "translations": n} for code, name, n in expected
        ]

    return expect


TRANSLATED = (
    ("de-DE", "German (Germany)", 1),
    ("es-ES", "Spanish (Spain)", 1),
    ("fr-FR", "French (France)", 1),
)


@table(
    Case(
        "media.1 the library",
        get("/v1/media"),
        200,
        success,
        count(2),
        whole_pagination(50, 0, 2),
        open_to_any_origin,
    ),
    Case("media.1 a page", get("/v1/media?limit=1&offset=1"), 200, whole_pagination(1, 1, 2)),
    Case("media.2 a file", get("/v1/media/hero"), 200, data(HERO), open_to_any_origin),
    Case("media.3 an unknown one", get("/v1/media/x"), 404, error("Media file not found")),
    Case(
        "locales.1 languages", get("/v1/locales"), 200, languages(NOTES + 5, 1), open_to_any_origin
    ),
    Case("locales.2 locales", get("/v1/locales"), 200, success, locales(*TRANSLATED)),
    Case(
        "locales.3 in staging",
        get("/v1/locales?environment=staging"),
        200,
        data(
            {
                "languages": [{"code": "en-US", "name": "English (United States)", "entries": 1}],
                "locales": [],
            }
        ),
    ),
    Case(
        "locales.4 published",
        get("/v1/locales", key=WEB_PAGE),
        200,
        languages(NOTES + 2, 1),
        locales(*TRANSLATED),
    ),
)
async def test_added(case: Case, client: CheckedClient) -> None:
    await client.check(case)
