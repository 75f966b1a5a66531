"""Cached responses have the same bytes as those from the database, and are never out of date."""

from __future__ import annotations

import gc
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from prometheus_client import REGISTRY

from api.auth.keys import Caller
from api.http.request_counts import COUNTS
from api.rest.list_query import ListQuery
from api.rest.response_cache import LARGEST, OVERHEAD, CachedResponse, Ready, ResponseCache
from read_side.freshness import Freshness
from read_side.high_water_mark import HighWaterMark
from read_side.notices import Notice
from read_side.queries.request import Filter
from read_side.stamp import stamp_of
from tests.integration.api.server import ACME, Client, Server, serving
from tests.integration.live_projector import connected, until
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side.domain.definition import Field
from write_side.domain.events import Plan
from write_side.repository import Repository

pytestmark = pytest.mark.usefixtures("unhurried")

PUBLISHED_ONLY = "secret-of-a-reader"
READS = [
    "/v1/content/posts",
    "/v1/content/posts?status=draft&limit=2&offset=1",
    "/v1/content/posts?locale=fr-FR",
    "/v1/content/posts?language=de-DE",
    "/v1/content/posts?limit=3&offset=250",
    "/v1/content/posts?filter[title][contains]=O&sort=-title&limit=2",
    "/v1/content/posts?cursor=first&total=none",
    "/v1/content?filter[status][in]=draft,published&sort=-slug&limit=1",
    "/v1/content/posts/one",
    "/v1/content/posts/one?locale=fr-FR",
    "/v1/content/posts/large",
    "/v1/content?limit=2&offset=1",
    "/v1/content?type=posts&limit=1&offset=2",
    "/v1/content-types",
    "/v1/content-types/posts",
]
LARGE = ["/v1/content", "/v1/content?type=posts&limit=1"]
"""Sent from files, and not cached."""
OF_THE_REQUEST = {"date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset"}


def count(name: str) -> float:
    COUNTS.flush()
    return REGISTRY.get_sample_value(f"contentlog_cache_{name}") or 0.0


def hits() -> float:
    return count("hits_total")


@pytest.fixture
async def server(database_url: str, repository: Repository) -> AsyncIterator[Server]:
    async with serving(database_url, repository) as server:
        builder = await server.workspace(staging=True)
        await server.key(PUBLISHED_ONLY, "acme", ("content.published",))
        await builder.content_type(Field("body", "Body", "text"))
        one = await builder.entry("one", fields=raws(body="long " * 400))
        await builder.update(one, status="published")
        await builder.translate(one, "fr-FR", title="Un")
        await builder.entry("two")
        # Too large to be compressed in the event loop.
        await builder.entry("large", fields=raws(body="x" * 70_000))
        await server.caught_up()
        await agreed(server)
        yield server


async def agreed(*servers: Server) -> None:
    """Wait until responses are cached and reused."""

    async def hit() -> bool:
        found = []
        for server in servers:
            before = hits()
            await server.client().get("/v1/content-types")
            await server.client().get("/v1/content-types")
            found.append(hits() > before)
        return all(found)

    await until(hit)


@pytest.fixture
async def uncached(server: Server) -> AsyncIterator[Server]:
    async with serving(server.url, server.repository, projector=False, cache_bytes=0) as other:
        yield other


async def raw(server: Server, method: str, path: str, **more: str) -> tuple[int, Any, bytes]:
    """Status, headers and raw body."""
    sent = {"Authorization": f"Bearer {ACME}", **more}
    async with server.session.request(
        method, path, headers=sent, auto_decompress=False
    ) as response:
        headers = {name.lower(): value for name, value in response.headers.items()}
        comparable = {name: headers[name] for name in headers.keys() - OF_THE_REQUEST}
        return response.status, comparable, await response.read()


async def test_a_cached_response_has_the_bytes_and_headers_of_one_from_the_database(
    server: Server, uncached: Server
) -> None:
    encodings = ({"Accept-Encoding": "identity"}, {"Accept-Encoding": "gzip"})
    for path in READS + LARGE:
        expected = await raw(uncached, "GET", path)
        tag = {"If-None-Match": expected[1]["etag"]}
        for headers, method in itertools.product((*encodings, tag), ("GET", "HEAD")):
            case = (path, headers, method)
            await raw(server, method, path, **headers)
            before = hits()
            found = await raw(server, method, path, **headers)
            assert hits() == before + (path not in LARGE), case
            assert found == await raw(uncached, method, path, **headers), case
            assert found[0] == (304 if headers is tag else 200), case
            assert "x-content-position" in found[1], case


async def test_responses_to_two_keys_are_cached_separately(server: Server) -> None:
    for _ in range(2):
        assert len((await server.client().get("/v1/content")).data) == 3
        assert len((await server.client(PUBLISHED_ONLY).get("/v1/content")).data) == 1
        assert (await server.client().get("/v1/content/posts/two")).status == 200
        assert (await server.client(PUBLISHED_ONLY).get("/v1/content/posts/two")).status == 404


async def test_every_check_comes_before_it(server: Server) -> None:
    assert (await server.client().get("/v1/content/posts")).status == 200
    assert (await server.client("wrong").get("/v1/content/posts")).status == 401
    for query, status in (
        ("status=live", 400),
        ("locale=xx", 400),
        ("environment=staging", 404),
    ):
        assert (await server.client().get(f"/v1/content/posts?{query}")).status == status
    draft = "/v1/content/posts?status=draft"
    assert (await server.client().get(draft)).status == 200
    assert (await server.client(PUBLISHED_ONLY).get(draft)).status == 403


async def test_a_write_shows_at_once_in_every_process(server: Server) -> None:
    """One process writes; the other has cached what it read before."""
    async with serving(server.url, server.repository, projector=False) as other:
        await agreed(server, other)
        for n in range(10):
            for one in (server, other):
                await one.client().get("/v1/content/posts?status=draft")
                await one.client().get("/v1/content")
            writer, reader = (server, other) if n % 2 else (other, server)
            created = await writer.client().post(
                {"contentTypeSlug": "posts", "title": f"Number {n}"}
            )
            assert created.headers["X-Content-Visible"] == "true"
            for path in ("/v1/content/posts?status=draft", "/v1/content"):
                [newest, *_] = (await reader.client().get(path)).data
                assert newest["title"] == f"Number {n}"


async def test_drafts_do_not_disturb_the_lists_of_what_is_published(
    server: Server, acme: Client
) -> None:
    for path in ("/v1/content/posts", "/v1/content/posts/one"):
        await acme.get(path)
    await acme.post({"contentTypeSlug": "posts", "title": "A draft"})
    before = hits()
    for path in ("/v1/content/posts", "/v1/content/posts/one"):
        await acme.get(path)
    assert hits() == before + 2


@pytest.fixture
def acme(server: Server) -> Client:
    return server.client()


async def test_a_404_raises_the_high_water_mark(server: Server, repository: Repository) -> None:
    """A 404 also reveals the checkpoint, so no other process may show an older state."""
    builder = ContentBuilder(repository)
    entry_id = (await server.client().get("/v1/content/posts/two")).data["id"]
    mark = server.service.checkpoint._mark
    await builder.delete(entry_id)
    await server.caught_up()
    assert (await server.client().get("/v1/content/posts/two")).status == 404
    at = mark.stamp
    await builder.entry("three")
    await server.caught_up()
    # The type does not exist, so no row has a stamp.
    assert (await server.client().get("/v1/content/nothing/two")).status == 404
    assert mark.stamp > at


async def test_a_change_of_the_type_changes_its_singles_and_lists(
    server: Server, acme: Client, repository: Repository
) -> None:
    paths = ("/v1/content/posts", "/v1/content/posts/one", "/v1/content-types/posts")
    for path in (*paths, "/v1/content-types"):
        await acme.get(path)
    await ContentBuilder(repository).revise_type(
        Field("body", "Body", "text"), Field("n", "N", "number")
    )
    await server.caught_up()
    assert "n" in (await acme.get("/v1/content/posts/one")).data["fields"]
    assert "n" in (await acme.get("/v1/content/posts")).data[0]["fields"]
    assert len((await acme.get("/v1/content-types/posts")).data["fields"]) == 2
    assert len((await acme.get("/v1/content-types")).data[0]["fields"]) == 2


async def test_a_read_returns_a_position_that_only_grows(acme: Client) -> None:
    """A client that always sends its last position never sees an older state, in any process."""
    first = (await acme.get("/v1/content/posts")).headers["X-Content-Position"]
    created = await acme.post({"contentTypeSlug": "posts", "title": "Later"})
    later = {"X-Content-Position": created.headers["X-Content-Position"]}
    assert later["X-Content-Position"] != first
    cached = await acme.get("/v1/content/posts")
    assert cached.headers["X-Content-Position"] == first, "nothing published has changed"
    cached = await acme.get("/v1/content/posts", headers=later)
    assert cached.headers["X-Content-Position"] == later["X-Content-Position"]
    listed = await acme.get("/v1/content", headers={"X-Content-Position": first})
    assert listed.headers["X-Content-Position"] == later["X-Content-Position"]


@pytest.fixture
def freshness(tmp_path: Any) -> Freshness:
    freshness = Freshness(HighWaterMark(tmp_path / "mark"))
    freshness.end_poll(freshness.begin_poll(), stamp_of(1, 1))
    return freshness


def response(key: tuple[object, ...], size: int) -> CachedResponse:
    return CachedResponse(key, b"x" * size, "tag", "token", stamp_of(1, 1), ())


def put(cache: ResponseCache, key: tuple[object, ...], size: int) -> CachedResponse:
    made = response(key, size)
    cache.put(made, cache.resets)
    return made


async def test_the_least_recently_used_response_makes_room(freshness: Freshness) -> None:
    cache = ResponseCache(freshness, 10 * (10_000 + OVERHEAD))
    before = count("evictions_total"), count("bytes")
    for n in range(4):
        put(cache, ("acme", str(n)), 10_000)
        put(cache, ("other", str(n)), 10_000)
    assert cache.find(("acme", "0"))
    for n in range(4, 7):
        put(cache, ("acme", str(n)), 10_000)
    assert cache.find(("acme", "1")) is None
    assert cache.find(("acme", "0")) is not None, "used since"
    assert all(cache.find(("other", str(n))) for n in range(4)), "a workspace has half at most"
    assert count("evictions_total") > before[0]
    assert 0 < count("bytes") - before[1] <= 10 * (10_000 + OVERHEAD)
    freshness.reset()
    assert cache.find(("acme", "0")) is None
    assert count("bytes") == before[1]


async def test_the_garbage_collector_does_not_visit_what_is_cached(freshness: Freshness) -> None:
    """A full collection would block the loop for 40 ms if it visited a full cache."""
    cache, number = ResponseCache(freshness, 10**8), 1_000
    caller = Caller("k", "K", "acme", frozenset(("content.view",)), Plan(), ("production",))

    def visited() -> int:
        # The first collection finds the tuples and dictionaries that need no further visits.
        gc.collect()
        gc.collect()
        return len(gc.get_objects())

    before = visited()
    for n in range(number):
        cached = put(cache, ("acme", f"entry-{n}"), 100)
        request = (caller, (f"/v1/content/posts/entry-{n}", None))
        cache.remember(cached, request, (True, False), Ready("/v1/content", b"head", cached.body))
    assert cache.size > number * 3 * OVERHEAD, "each with its head and its request"
    assert visited() - before < number / 2


async def test_compressed_bodies_count_too(freshness: Freshness) -> None:
    cache = ResponseCache(freshness, 2 * (50_000 + OVERHEAD))
    made = put(cache, ("acme", "a"), 49_500)
    before = made.size
    compressed = await cache.compressed(made)
    assert made.size == before + len(compressed)
    assert await cache.compressed(made) is compressed
    freshness.reset()
    assert cache.find(("acme", "a")) is None
    assert await cache.compressed(made) is compressed, "it may be on its way"


async def test_the_values_of_filters_count_too(freshness: Freshness) -> None:
    cache = ResponseCache(freshness, 10**6)
    sizes = []
    for length in (10, 1_000):
        filter_ = Filter("title", "eq", ("x" * length,))
        sizes.append(put(cache, ("acme", ListQuery(10, 0, filters=(filter_,))), 100).size)
    assert sizes[1] - sizes[0] == 990


async def test_large_bodies_are_not_cached(freshness: Freshness) -> None:
    cache = ResponseCache(freshness, 100 * LARGEST)
    put(cache, ("acme", "a"), LARGEST + 1)
    put(cache, ("acme", "b"), LARGEST)
    assert cache.find(("acme", "a")) is None
    assert cache.find(("acme", "b")) is not None


async def test_a_response_read_before_a_reset_is_not_cached(freshness: Freshness) -> None:
    cache = ResponseCache(freshness, 10**6)
    resets = cache.resets
    freshness.on_notice(Notice(epoch=1, after=1, position=2))
    freshness.end_poll(freshness.begin_poll(), stamp_of(1, 2))
    cache.put(response(("acme", "a"), 10), resets)
    assert cache.find(("acme", "a")) is None


async def test_a_search_is_not_cached_while_words_are_missing(
    server: Server, database_url: str
) -> None:
    """The projector adds them without moving the checkpoint."""
    client = server.client()
    of_one = "position = (SELECT position FROM entry WHERE slug = 'one') AND locale = ''"
    async with connected(database_url, search_path="read_model") as connection:
        words = await connection.fetchval(f"SELECT words::text FROM entry_search WHERE {of_one}")  # noqa: S608
        change = f"UPDATE entry_search SET words = $1::text::tsvector WHERE {of_one}"  # noqa: S608
        for q, found, total in ((None, 0, 0), (words, 1, 1)):
            await connection.execute(change, q)
            body = (await client.get("/v1/content/posts?q=one")).body
            assert (len(body["data"]), body["pagination"]["total"]) == (found, total)
