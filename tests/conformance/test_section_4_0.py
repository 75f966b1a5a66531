"""Specification §4.0: rules for every endpoint."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.cases import Case, Expectation, Request, create, get, post, table
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    CLOSED,
    OPEN,
    all_fields,
    count,
    entry,
    error,
    every_entry,
    is_json,
    pagination,
    says,
    slugs,
)
from tests.conformance.magazine import (
    HARBOUR,
    NO_STAGING,
    NOT_SET_UP,
    NOTES,
    REHEARSAL,
    SAVED,
)

pytestmark = pytest.mark.asyncio(loop_scope="package")

READS = {
    "the list of a type": "/v1/content/posts",
    "a single entry": "/v1/content/posts/harbour",
    "the list across types": "/v1/content",
    "the content types": "/v1/content-types",
    "one content type": "/v1/content-types/posts",
}
IN_STAGING = {"X-Environment": "staging"}
TRANSLATED = [{"q": "Pourquoi ?", "votes": 3}, {"q": "How?", "votes": 5}]


def everywhere(key: str, parameters: str) -> dict[str, Request]:
    """A request to each endpoint with this key and these parameters."""
    asked = {name: get(f"{path}{parameters}", key=key) for name, path in READS.items()}
    target = f"/v1/content{parameters}"
    new = {"contentTypeSlug": "posts", "title": "Never created"}
    return {**asked, "the create": post(new, target, key=key)}


def on_each_endpoint() -> Iterator[Case]:
    refusals: tuple[tuple[str, str, str, int, Expectation], ...] = (
        (
            "4.0.8, 7.3 an unknown environment",
            NO_STAGING,
            "?environment=prod",
            400,
            says("Unknown environment", "prod", "production", "staging"),
        ),
        (
            "4.0.9, 7.14 staging that is not in the plan",
            NO_STAGING,
            "?environment=staging",
            402,
            error("The staging environment is not included in your team's plan"),
        ),
        (
            "4.0.10, 7.18 staging that is not set up",
            NOT_SET_UP,
            "?environment=staging",
            404,
            error("This team has no staging environment yet"),
        ),
        (
            "4.0.15, 7.4 an unsupported locale",
            NO_STAGING,
            "?locale=en",
            400,
            says("Unsupported locale", "'en'", "en-US", "fr-FR"),
        ),
    )
    for what, key, query, status, message in refusals:
        for endpoint, request in everywhere(key, query).items():
            headers = CLOSED if request.path == "/v1/content" else OPEN
            name = f"{what} is {status} on {endpoint}"
            yield Case(name, request, status, message, *headers)


@table(
    *(
        Case(f"4.0.1 {endpoint} answers in JSON", get(path), 200, is_json)
        for endpoint, path in READS.items()
    ),
    Case("4.0.1 a create answers in JSON", create("Answers in JSON"), 200, is_json),
    *on_each_endpoint(),
    Case(
        "4.0.4 environment is a header too",
        get("/v1/content", headers=IN_STAGING),
        200,
        entry(id=REHEARSAL),
    ),
    Case(
        "4.0.4 the header names production too",
        get("/v1/content/posts", headers={"X-Environment": "production"}),
        200,
        slugs("plain", "harbour"),
    ),
    Case(
        "4.0.7 locale is en-US by default",
        get("/v1/content/posts/harbour"),
        200,
        entry(title="Harbour", locale="en-US"),
    ),
    Case(
        "4.0.8 an unknown environment in the header is 400",
        get("/v1/content", headers={"X-Environment": "Staging"}),
        400,
        says("Unknown environment", "Staging", "production", "staging"),
    ),
    Case(
        "4.0.11 locale does not filter the list of a type",
        get("/v1/content/posts?locale=de-DE"),
        200,
        slugs("plain", "harbour"),
    ),
    Case(
        "4.0.11 locale does not filter the list across types",
        get("/v1/content?type=notes&locale=de-DE"),
        200,
        count(50),
        pagination(total=NOTES),
    ),
    Case(
        "4.0.12 locale selects translations of texts",
        get("/v1/content/posts?locale=fr-FR&offset=1"),
        200,
        entry(id=HARBOUR, title="Le port"),
        all_fields({**SAVED, "body": "La marée est basse.", "faq": TRANSLATED}),
    ),
    Case(
        "4.0.14 locale is shown as applied in the list of a type",
        get("/v1/content/posts?locale=sv-SE"),
        200,
        every_entry("locale", "sv-SE"),
    ),
    Case(
        "4.0.14 locale is shown as applied in the list across types",
        get("/v1/content?locale=sv-SE"),
        200,
        every_entry("locale", "sv-SE"),
    ),
)
async def test_parameters_common_to_every_endpoint(case: Case, client: CheckedClient) -> None:
    await client.check(case)
