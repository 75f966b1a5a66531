"""The shortest path for reads sends the same responses as the ordinary path."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import closing

import pytest
from aiohttp import web
from msgspec import Struct, field

from api.http.large_bodies import ByteBudget
from api.rest.repeated_read import OF_EACH_REQUEST, RepeatedReads
from api.rest.response_cache import REPEATED
from tests.integration.api.large_responses import sent, slow_reader
from tests.integration.api.server import ACME, Answer, Server, serving
from tests.integration.projector.sample_log import BODY, ContentBuilder, raws
from write_side.repository import Repository

pytestmark = pytest.mark.usefixtures("unhurried", "long_window")

LARGE = "/v1/content/pages?status=draft&limit=20"
"""Over 64 kB, with gzip too."""
PATHS = (
    "/v1/content/posts",
    LARGE,
    "/v1/content/posts?limit=1&offset=1",
    "/v1/content/posts?status=draft",
    "/v1/content/posts/one",
    "/v1/content/posts/one?locale=fr-FR",
    "/v1/content?environment=production",
    "/v1/content-types",
    "/v1/content-types/posts",
)
HEADERS: tuple[dict[str, str], ...] = (
    {"Accept-Encoding": "identity"},
    {"Accept-Encoding": "gzip"},
    {"Origin": "https://pages.example", "Accept-Encoding": "br, gzip;q=0.5"},
    {"X-Forwarded-Proto": "https"},
    {"X-Environment": "production"},
    {"User-Agent": "another", "Accept": "text/html", "Range": "bytes=0-1"},
    {"Connection": "close"},
)
OTHERS: tuple[dict[str, str], ...] = (
    {"If-None-Match": "*"},
    {"If-None-Match": 'W/"another"'},
    {"Authorization": "Bearer unknown"},
    {"X-Environment": "unknown"},
    {"X-Environment": "staging"},
    {"X-Content-Position": "unknown"},
    {"X-API-Key": ACME, "Authorization": "Basic x"},
)


class Paths(Struct):
    """Which path each request took; True is the shortest path."""

    repeated_allowed: bool = True
    taken: list[bool] = field(default_factory=list)


@pytest.fixture
def paths(monkeypatch: pytest.MonkeyPatch) -> Paths:
    paths, answer = Paths(), RepeatedReads.answer

    def watched(reads: RepeatedReads, request: web.Request) -> web.StreamResponse | None:
        response = answer(reads, request) if paths.repeated_allowed else None
        paths.taken.append(response is not None)
        return response

    monkeypatch.setattr(RepeatedReads, "answer", watched)
    return paths


@pytest.fixture
async def server(database_url: str, repository: Repository, paths: Paths) -> AsyncIterator[Server]:
    async with serving(
        database_url, repository, trusted_proxies="127.0.0.1", key_rate_limit=10_000
    ) as server:
        builder = await server.workspace(staging=True)
        await filled(builder)
        await server.caught_up()
        await both_agree(server, paths)
        yield server


async def filled(builder: ContentBuilder) -> None:
    await builder.content_type(BODY)
    one = await builder.entry("one", fields=raws(body="long " * 400))
    await builder.update(one, status="published")
    await builder.translate(one, "fr-FR", title="Un")
    await builder.entry("two")
    await builder.content_type(BODY, slug="pages")
    for number in range(20):
        text = random.Random(number).randbytes(4_000).hex()
        await builder.entry(f"page-{number}", type_slug="pages", fields=raws(body=text))


async def both_agree(server: Server, paths: Paths) -> None:
    """Wait until requests take the shortest path: responses are cached and leases exist."""
    async with asyncio.timeout(60):
        while not any(paths.taken):
            await server.client().get(PATHS[0])
            await asyncio.sleep(0.05)
    paths.taken.clear()


def what_is_the_same(answer: Answer) -> tuple[int, str, dict[str, list[str]]]:
    """The response without the values that differ from request to request."""
    names = {name.title() for name in answer.headers}
    of_each = {name.title() for name in OF_EACH_REQUEST - {"X-RateLimit-Limit"}}
    values = {name: answer.headers.getall(name) for name in names - of_each}
    return answer.status, answer.text, values | {name: [] for name in names & of_each}


async def test_both_paths_send_the_same(server: Server, paths: Paths) -> None:
    client = server.client()
    for headers in HEADERS:
        paths.taken.clear()
        for path in PATHS:
            paths.repeated_allowed = False
            ordinary = await client.get(path, headers=headers)
            paths.repeated_allowed = True
            async with asyncio.timeout(60):
                while ordinary.status == 200 and "Connection" not in headers:
                    repeated = await client.get(path, headers=headers)
                    if paths.taken[-1]:
                        break
            repeated = await client.get(path, headers=headers)
            assert what_is_the_same(repeated) == what_is_the_same(ordinary), (headers, path)
        is_repeated = "Connection" not in headers and ordinary.status == 200
        assert any(paths.taken) == is_repeated, headers


async def test_other_requests_are_not_answered_as_if_they_were_the_same(
    server: Server, paths: Paths
) -> None:
    for headers, path in itertools.product(OTHERS, PATHS):
        await server.client().get(path)
        paths.repeated_allowed = False
        ordinary = await server.client().get(path, headers=headers)
        paths.repeated_allowed = True
        for _ in range(2):
            repeated = await server.client().get(path, headers=headers)
            assert what_is_the_same(repeated) == what_is_the_same(ordinary), (headers, path)


async def test_a_response_is_prepared_when_it_is_repeated(server: Server, paths: Paths) -> None:
    async with asyncio.timeout(60):
        while not any(paths.taken):
            await server.client().get("/v1/content/posts?limit=7")
    assert paths.taken[:2] == [False, False]


@pytest.mark.usefixtures("small_buffers")
async def test_a_large_response_is_counted_until_it_is_read(
    server: Server, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = server.client()
    identity = {"Accept-Encoding": "identity"}
    async with asyncio.timeout(60):
        while not paths.taken or not paths.taken[-1]:
            ordinary = await client.get(LARGE, headers=identity)
    bodies = server.service.large_bodies
    monkeypatch.setattr(bodies, "memory", ByteBudget(3 * len(ordinary.text)))
    with closing(slow_reader(server, LARGE)):
        async with asyncio.timeout(60):
            while not bodies.memory.used:  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(0.01)
        assert paths.taken[-1]
        assert len(ordinary.text) == bodies.memory.used
        # The workspace's half of the memory is full, so this response is sent from a file.
        assert (await client.get(LARGE, headers=identity)).text == ordinary.text
        assert not paths.taken[-1]
    await sent(server)
    assert (await client.get(LARGE, headers=identity)).text == ordinary.text
    assert paths.taken[-1]


async def test_own_request_id_is_returned(server: Server, paths: Paths) -> None:
    for request_id in ("first", "second"):
        answer = await server.client().get(PATHS[0], headers={"X-Request-Id": request_id})
        assert answer.headers["X-Request-Id"] == request_id
    assert paths.taken[-1]


async def test_each_read_is_counted_once(server: Server, paths: Paths) -> None:
    remaining = []
    for _ in range(20):
        answer = await server.client().get(PATHS[0])
        remaining.append(int(answer.headers["X-RateLimit-Remaining"]))
    differences = {before - after for before, after in itertools.pairwise(remaining)}
    assert any(paths.taken)
    assert differences == {1}


async def test_keys_of_a_workspace_have_their_own_permissions(server: Server, paths: Paths) -> None:
    keys = {f"key-{n}": ("content.view",) for n in range(REPEATED + 2)}
    keys |= {"of-a-reader": ("content.published",), "of-an-editor": ("content.edit",)}
    for secret, permissions in keys.items():
        await server.key(secret, "acme", permissions)
    for _ in range(4):
        for secret, permissions in keys.items():
            drafts = await server.client(secret).get("/v1/content/posts?status=draft")
            assert drafts.status == (200 if permissions == ("content.view",) else 403)
            entry = await server.client(secret).get("/v1/content/posts/one")
            assert entry.status == (403 if permissions == ("content.edit",) else 200)
    assert any(paths.taken)


async def test_change_is_seen(server: Server, paths: Paths) -> None:
    client = server.client()
    for n in range(5):
        await client.get("/v1/content?limit=1")
        await client.get("/v1/content?limit=1")
        created = await client.post({"contentTypeSlug": "posts", "title": f"New {n}"})
        assert created.headers["X-Content-Visible"] == "true"
        answer = await client.get("/v1/content?limit=1")
        assert answer.data[0]["title"] == f"New {n}"
    assert any(paths.taken)
