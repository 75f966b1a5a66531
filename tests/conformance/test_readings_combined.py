"""Our readings: the parameters of lists and entries, alone and combined, over REST and GraphQL, for
the present and the past. Responses are compared with entries that the test knows.

Larger sets of parameters are in ``test_content_oracle.py``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import pytest
import pytest_asyncio

from tests.conformance.cases import get
from tests.conformance.client import CheckedClient
from tests.conformance.gazette import (
    FRENCH,
    GAZETTE,
    GAZETTE_READER,
    NOW,
    THEN,
    AsOfTimes,
    ContentSnapshot,
    ExpectedEntry,
    write_gazette,
)
from tests.conformance.test_graphql import graphql
from tests.integration.api.server import Answer, Server

pytestmark = pytest.mark.asyncio(loop_scope="package")

KEYS = {"editor": GAZETTE, "reader": GAZETTE_READER}
SHARED = {
    "include": "include=author",
    "asOf": "asOf={now}",
    "past": "asOf={then}",
    "locale": "locale=fr-FR",
    "environment": "environment=staging",
}
LIST = {
    **SHARED,
    "filter": "filter[title][startsWith]=H",
    "sort": "sort=title",
    "order": "sort=contentType,-status,id",
    "q": "q=tide",
    "select": "select=slug,title",
    "cursor": "cursor=first",
    "total": "total=none",
    "status": "status=draft",
    "language": "language=fr-FR",
    "limit": "limit=1",
    "offset": "offset=1",
}
PARAMETERS = {
    "/v1/content/posts": LIST,
    "/v1/content": {**LIST, "type": "type=posts"},
    "/v1/content/posts/harbour": {
        **SHARED,
        "language": "language=fr-FR",
        "select": "select=title,fields.author",
    },
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "type": {"type": "posts"},
    "status": {"status": "draft"},
    "language": {"language": FRENCH},
    "locale": {"locale": FRENCH},
    "limit": {"limit": 1},
    "offset": {"offset": 1},
    "filter": {"filter": {"title": {"startsWith": "H"}}},
    "sort": {"sort": ["title"]},
    "order": {"sort": ["contentType", "-status", "id"]},
    "q": {"search": "tide"},
    "cursor": {"cursor": "first"},
    "asOf": {"asOf": "{now}"},
    "past": {"asOf": "{then}"},
}
REST_OF_ARGUMENTS = {
    **PARAMETERS["/v1/content"],
    "status": "filter[status]=draft",
    "language": "filter[language]=fr-FR",
}
"""REST parameters for GraphQL arguments. GraphQL returns any status and language by default."""
REFUSED = [{"q", "asOf"}, {"q", "past"}, {"cursor", "offset"}]
CONTRARY = [{"asOf", "past"}, {"sort", "order"}]
"""Pairs that set the same parameter to different values."""
DOCUMENT = """query ($type: String, $status: EntryStatus, $language: String, $locale: String,
    $limit: Int, $offset: Int = 0, $filter: JSON, $sort: [String!], $search: String,
    $cursor: String, $asOf: DateTime) {
  contentEntries(type: $type, status: $status, language: $language, locale: $locale, limit: $limit,
    offset: $offset, filter: $filter, sort: $sort, search: $search, cursor: $cursor, asOf: $asOf) {
    data { id title slug status locale publishedAt createdAt updatedAt stage { id name } fields }
    pagination { limit offset total next }
  } }"""
ONE = """query ($language: String, $locale: String, $asOf: DateTime) {
  contentEntry(type: "posts", slug: "harbour", language: $language, locale: $locale, asOf: $asOf) {
    title status fields } }"""
BY_ID = """query ($id: ID!, $locale: String) {
  contentEntryById(id: $id, locale: $locale) { title status fields } }"""


def cases_of(names: Iterable[str], most: int = 1) -> list[Any]:
    """Sets of up to ``most`` names for the editor key, single names for the other key."""
    return [
        pytest.param(frozenset(chosen), key, id=f"{key}:{'+'.join(chosen)}")
        for key, size in sorted({("editor", 1), ("editor", most), ("reader", 1)})
        for chosen in combinations(sorted(names), size)
        if not any(map(frozenset(chosen).issuperset, CONTRARY))
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def times(live: Server) -> AsOfTimes:
    return await write_gazette(live)


class ExpectedResult:
    """The entries that a set of parameters requests with one of the keys."""

    def __init__(self, names: frozenset[str], key: str, default_status: str | None) -> None:
        self.names = names
        self.secret = KEYS[key]
        self.is_reader = key == "reader"
        self.snapshot: ContentSnapshot = THEN if "past" in names else NOW
        self.locale = FRENCH if "locale" in names else "en-US"
        self.environment = "staging" if "environment" in names else "production"
        self.status = "draft" if "status" in names else default_status
        if self.is_reader and self.status is None:
            self.status = "published"

    def title(self, one: ExpectedEntry) -> str:
        return one.french if self.locale == FRENCH and one.french else one.title

    def all_entries(self, type_slug: str | None, language: str | None) -> list[ExpectedEntry]:
        """Returns the complete list, in order."""
        found = [
            one
            for one in self.snapshot.entries
            if type_slug in (None, one.type_slug)
            if self.status in (None, one.status)
            if language in (None, one.language)
            if one.environment == self.environment
            if "filter" not in self.names or one.title.startswith("H")
            if "q" not in self.names or (one.contains_tide and self.title(one) == one.title)
        ]
        if "order" in self.names:
            found.sort(key=lambda one: one.id)
            found.sort(key=lambda one: one.status, reverse=True)
            found.sort(key=lambda one: one.type_slug)
        return sorted(found, key=lambda one: one.title) if "sort" in self.names else found

    def included(self, page: Iterable[ExpectedEntry]) -> dict[str, str]:
        """Returns the titles, by id, of the authors that the key may read."""
        authors = [self.snapshot.entry(one.author) for one in page if one.author]
        return {
            one.id: self.title(one)
            for one in authors
            if one.status == "published" or not self.is_reader
        }

    def fields(self, one: ExpectedEntry) -> tuple[str, ...]:
        # In staging, no content type was revised.
        snapshot = THEN if one.environment == "staging" else self.snapshot
        return snapshot.fields[one.type_slug]


async def send(
    client: CheckedClient,
    path: str,
    expected_result: ExpectedResult,
    parameters: list[str],
    times: AsOfTimes,
) -> Answer:
    """Sends the request. A success has an ETag; a repeat with If-None-Match returns 304."""
    query = "&".join(parameters).format(then=times.then, now=times.now)
    target = f"{path}?{query}"
    answer = await client.send(get(target, key=expected_result.secret))
    if answer.status == 200:
        same = {"If-None-Match": answer.headers["ETag"]}
        assert (
            await client.send(get(target, key=expected_result.secret, headers=same))
        ).status == 304
    return answer


@pytest.mark.parametrize(("names", "key"), cases_of(PARAMETERS["/v1/content/posts"], most=2))
async def test_filters_17_each_parameter_of_the_list_of_a_type_combines(
    names: frozenset[str], key: str, client: CheckedClient, times: AsOfTimes
) -> None:
    expected_result = ExpectedResult(names, key, "published")
    path = "/v1/content/posts"
    answer = await send(
        client, path, expected_result, [PARAMETERS[path][name] for name in names], times
    )
    if expected_result.is_reader and "status" in names:
        assert answer.status == 403, answer.text
    else:
        language = FRENCH if "language" in names else "en-US"
        check_list(
            expected_result,
            answer,
            expected_result.all_entries("posts", language),
            default_limit=10,
        )


@pytest.mark.parametrize(("names", "key"), cases_of(PARAMETERS["/v1/content"]))
async def test_filters_17_each_parameter_of_the_list_across_types_combines(
    names: frozenset[str], key: str, client: CheckedClient, times: AsOfTimes
) -> None:
    """This list ignores the default status and language."""
    expected_result = ExpectedResult(names - {"status"}, key, None)
    path = "/v1/content"
    answer = await send(
        client, path, expected_result, [PARAMETERS[path][name] for name in names], times
    )
    all_entries = expected_result.all_entries("posts" if "type" in names else None, None)
    check_list(expected_result, answer, all_entries, default_limit=50)


def check_list(
    expected_result: ExpectedResult,
    answer: Answer,
    all_entries: list[ExpectedEntry],
    default_limit: int,
) -> None:
    names = expected_result.names
    if any(names >= one for one in REFUSED):
        assert answer.status == 400, answer.text
        return
    limit, offset = 1 if "limit" in names else default_limit, 1 if "offset" in names else 0
    page = all_entries[offset:][:limit]
    assert answer.status == 200, answer.text
    body = answer.body
    check_entries(expected_result, body["data"], page)
    check_pagination(expected_result, body["pagination"], all_entries, limit, offset)
    assert ("includes" in body) == ("include" in names)
    if "include" in names:
        found = {key: one["title"] for key, one in body["includes"]["entries"].items()}
        assert found == expected_result.included(page)


def check_entries(
    expected_result: ExpectedResult, data: list[Any], page: list[ExpectedEntry]
) -> None:
    assert [(one["id"], one["title"], one["slug"]) for one in data] == [
        (one.id, expected_result.title(one), one.slug) for one in page
    ]
    if "select" in expected_result.names:
        assert all(tuple(one) == ("id", "title", "slug") for one in data)
    else:
        assert [one["status"] for one in data] == [one.status for one in page]
        assert [tuple(one["fields"]) for one in data] == [
            expected_result.fields(one) for one in page
        ]


def check_pagination(
    expected_result: ExpectedResult,
    pagination: dict[str, Any],
    all_entries: list[ExpectedEntry],
    limit: int,
    offset: int,
) -> None:
    shown = dict(pagination)
    following = shown.pop("next", None)
    assert bool(following) == ("cursor" in expected_result.names and len(all_entries) > limit)
    total = None if "total" in expected_result.names else len(all_entries)
    expected: dict[str, Any] = {"limit": limit, "total": total}
    assert shown == (
        expected if "cursor" in expected_result.names else {**expected, "offset": offset}
    )


@pytest.mark.parametrize(
    ("names", "key"), cases_of(PARAMETERS["/v1/content/posts/harbour"], most=2)
)
async def test_filters_17_each_parameter_of_an_entry_combines(
    names: frozenset[str], key: str, client: CheckedClient, times: AsOfTimes
) -> None:
    expected_result = ExpectedResult(names, key, None)
    path = "/v1/content/posts/harbour"
    answer = await send(
        client, path, expected_result, [PARAMETERS[path][name] for name in names], times
    )
    one = harbour(expected_result)
    if one is None:
        assert answer.status == 404, answer.text
        return
    assert answer.status == 200, answer.text
    data = answer.data
    assert (data["id"], data["title"]) == (one.id, expected_result.title(one))
    if "select" in names:
        assert list(data) == ["id", "title", "fields"]
        assert data["fields"] == {"author": one.author}
    else:
        assert (data["slug"], data["status"]) == (one.slug, one.status)
        assert tuple(data["fields"]) == expected_result.fields(one)
    assert ("includes" in answer.body) == ("include" in names)
    if "include" in names:
        found = {key: each["title"] for key, each in answer.body["includes"]["entries"].items()}
        assert found == expected_result.included([one])


def harbour(expected_result: ExpectedResult) -> ExpectedEntry | None:
    language = FRENCH if "language" in expected_result.names else "en-US"
    found = [one for one in expected_result.all_entries("posts", language) if one.slug == "harbour"]
    return found[0] if found else None


@pytest.mark.parametrize(("names", "key"), cases_of(["locale", "asOf", "past", "language"]))
async def test_filters_17_each_argument_of_an_entry_combines(
    names: frozenset[str], key: str, client: CheckedClient, times: AsOfTimes
) -> None:
    expected_result = ExpectedResult(names, key, None)
    answer = await client.send(graphql(ONE, expected_result.secret, **arguments(names, times)))
    check_one(expected_result, answer.body["data"]["contentEntry"], harbour(expected_result))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("names", [frozenset(), frozenset({"locale"})], ids=["alone", "locale"])
async def test_filters_17_an_entry_by_its_id(
    names: frozenset[str], key: str, client: CheckedClient, times: AsOfTimes
) -> None:
    expected_result = ExpectedResult(names, key, None)
    for one in (*NOW.entries, *THEN.entries):
        parameters = {**arguments(names, times), "id": one.id}
        answer = await client.send(graphql(BY_ID, expected_result.secret, **parameters))
        now = [each for each in expected_result.all_entries(None, None) if each.id == one.id]
        check_one(expected_result, answer.body["data"]["contentEntryById"], now[0] if now else None)


def check_one(expected_result: ExpectedResult, found: Any, one: ExpectedEntry | None) -> None:
    """Checks an entry that GraphQL returned."""
    if one is None:
        assert found is None
        return
    assert (found["title"], found["status"]) == (expected_result.title(one), one.status)
    assert tuple(found["fields"]) == expected_result.fields(one)


def arguments(names: frozenset[str], times: AsOfTimes) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for name in names:
        parameters |= ARGUMENTS[name]
    if "asOf" in parameters:
        parameters["asOf"] = parameters["asOf"].format(then=times.then, now=times.now)
    return parameters


@pytest.mark.parametrize(("names", "key"), cases_of(ARGUMENTS))
async def test_filters_17_each_argument_of_a_list_combines(
    names: frozenset[str], key: str, client: CheckedClient, times: AsOfTimes
) -> None:
    """GraphQL returns the same entries as an equivalent REST request."""
    expected_result = ExpectedResult(names, key, None)
    answer = await client.send(graphql(DOCUMENT, expected_result.secret, **arguments(names, times)))
    refused = 400 if any(names >= one for one in REFUSED) else None
    if expected_result.is_reader and "status" in names:
        refused = 403
    if refused is not None:
        [error] = answer.body["errors"]
        assert error["extensions"]["status"] == refused, error
        return
    found = answer.body["data"]["contentEntries"]
    type_slug = "posts" if "type" in names else None
    all_entries = expected_result.all_entries(type_slug, FRENCH if "language" in names else None)
    limit, offset = 1 if "limit" in names else 10, 1 if "offset" in names else 0
    check_entries(expected_result, found["data"], all_entries[offset:][:limit])
    pagination = found["pagination"]
    if "cursor" in names:
        assert pagination.pop("offset") == 0
    check_pagination(expected_result, pagination, all_entries, limit, offset)
    parameters = [REST_OF_ARGUMENTS[name] for name in names]
    parameters += [] if "limit" in names else ["limit=10"]
    rest = await send(client, "/v1/content", expected_result, parameters, times)
    assert rest.status == 200, rest.text
    names_of_one = found["data"][0] if found["data"] else ()
    assert [{name: one[name] for name in names_of_one} for one in rest.body["data"]] == found[
        "data"
    ]
