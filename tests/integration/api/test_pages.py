"""Pages of lists: newest first, in a total order, and complete."""

from __future__ import annotations

from itertools import product

import pytest
import pytest_asyncio

from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import ContentBuilder

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENTRIES = 23
EFFECTIVE: list[tuple[str, dict[str, int]]] = [
    ("", {"limit": 10, "offset": 0}),
    ("limit=0", {"limit": 1, "offset": 0}),
    ("limit=500&offset=-3", {"limit": 100, "offset": 0}),
    ("limit=5.7&offset=2.9", {"limit": 5, "offset": 2}),
    ("limit=abc&offset=1e2", {"limit": 10, "offset": 0}),
    ("limit=" + "9" * 5000, {"limit": 100, "offset": 0}),
    ("offset=" + "9" * 5000, {"limit": 10, "offset": 2**53 - 1}),
    ("limit=3&limit=4", {"limit": 3, "offset": 0}),
    ("page=3&unknown", {"limit": 10, "offset": 0}),
]
PATHS = ["/v1/content/posts?status=draft&", "/v1/content?", "/v1/content?type=posts&"]


@pytest_asyncio.fixture(loop_scope="module")
async def newest_first(server: Server, acme: ContentBuilder) -> list[str]:
    """Create entries, many in the same millisecond; return their slugs, newest first."""
    await acme.content_type()
    slugs = [f"entry-{n}" for n in range(ENTRIES)]
    await acme.imports({"title": slug, "slug": slug} for slug in slugs)
    await server.caught_up()
    return slugs[::-1]


async def test_of_the_same_millisecond_the_later_in_the_log_comes_first(
    client: Client, newest_first: list[str]
) -> None:
    for path in PATHS:
        entries = (await client.get(f"{path}limit=100")).data
        assert [entry["slug"] for entry in entries] == newest_first
        times = [entry["createdAt"] for entry in entries]
        assert times == sorted(times, reverse=True)
        assert len(set(times)) < ENTRIES, "some are of one millisecond"


async def test_pages_partition_the_list(client: Client, newest_first: list[str]) -> None:
    for path, limit in product(PATHS, [1, 2, 7, 22, 23, 24, 100]):
        found: list[str] = []
        for offset in range(0, ENTRIES + limit, limit):
            answer = await client.get(f"{path}limit={limit}&offset={offset}")
            assert answer.body["pagination"] == {
                "limit": limit,
                "offset": offset,
                "total": ENTRIES,
            }
            assert len(answer.data) <= limit
            found += [entry["slug"] for entry in answer.data]
        assert found == newest_first


async def test_pages_of_a_locale_are_in_the_same_order(
    client: Client, newest_first: list[str]
) -> None:
    answer = await client.get("/v1/content/posts?status=draft&locale=fr-FR&limit=5&offset=3")
    assert [entry["slug"] for entry in answer.data] == newest_first[3:8]


async def test_the_effective_values_are_shown_and_the_total_is_true(
    client: Client, newest_first: list[str]
) -> None:
    for query, shown in EFFECTIVE:
        answer = await client.get(f"/v1/content/posts?status=draft&{query}")
        assert answer.body["pagination"] == {**shown, "total": ENTRIES}
        expected = newest_first[shown["offset"] :][: shown["limit"]]
        assert [entry["slug"] for entry in answer.data] == expected


async def test_an_offset_past_the_end_is_an_empty_page_with_the_true_total(
    client: Client, newest_first: list[str]
) -> None:
    for path in PATHS:
        answer = await client.get(f"{path}offset={ENTRIES}")
        assert answer.data == []
        assert answer.body["pagination"]["total"] == ENTRIES
