"""ETags and 304, HEAD, gzip and cache headers."""

from __future__ import annotations

import gzip
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.integration.api.server import Answer, Client, Server
from tests.integration.projector.sample_log import ContentBuilder, raws

PATHS = [
    "/v1/content",
    "/v1/content/posts?status=draft",
    "/v1/content/posts/a",
    "/v1/content-types",
]
# Different in every response.
CHANGING = {"date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset"}

pytestmark = [pytest.mark.usefixtures("posts"), pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture
def server(shared_server: Server) -> Server:
    return shared_server


@pytest.fixture
def client(shared_server: Server) -> Client:
    return shared_server.client()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def posts(shared_server: Server) -> ContentBuilder:
    server = shared_server
    acme = await server.workspace(staging=True)
    await acme.content_type()
    await acme.entry("a", fields=raws(body="text " * 1000))
    await server.caught_up()
    return acme


def lasting(answer: Answer) -> dict[str, str]:
    return {
        name.lower(): value
        for name, value in answer.headers.items()
        if name.lower() not in CHANGING
    }


async def plain(client: Client, path: str, **headers: str) -> Answer:
    return await client.get(path, headers={"Accept-Encoding": "identity", **headers})


async def raw(server: Server, path: str, accept: str, method: str = "GET") -> tuple[Any, bytes]:
    """The headers and the raw body."""
    headers = {"Authorization": "Bearer secret-of-acme", "Accept-Encoding": accept}
    async with (
        aiohttp.ClientSession(server.origin, auto_decompress=False) as session,
        session.request(method, path, headers=headers) as response,
    ):
        return response.headers, await response.read()


class TestEtags:
    async def test_an_unchanged_response_is_not_sent_again(self, client: Client) -> None:
        for path in PATHS:
            first = await plain(client, path)
            tag = first.headers["ETag"]
            bare = tag.removeprefix("W/")
            for tags in (tag, bare, f'"x", {tag}', f'W/"x",{bare} , "y"', "*"):
                again = await plain(client, path, **{"If-None-Match": tags})
                assert (again.status, again.text) == (304, ""), (path, tags)
                kept = lasting(again)
                assert kept == {k: v for k, v in lasting(first).items() if k in kept}
                assert {"etag", "cache-control", "vary"} <= set(kept)
                assert "content-type" not in kept
            for tags in ('"x"', "", "x", tag[:-2] + '"', bare.strip('"')):
                again = await plain(client, path, **{"If-None-Match": tags})
                assert (again.status, again.text) == (200, first.text), (path, tags)

    async def test_a_change_changes_the_tag(
        self, server: Server, client: Client, posts: ContentBuilder
    ) -> None:
        tag = (await client.get("/v1/content")).headers["ETag"]
        await posts.entry("b")
        await server.caught_up()
        answer = await client.get("/v1/content", headers={"If-None-Match": tag})
        assert answer.status == 200
        assert answer.headers["ETag"] != tag

    async def test_a_304_needs_a_key(self, server: Server) -> None:
        nobody = server.client(None)
        assert (await nobody.get("/v1/content", headers={"If-None-Match": "*"})).status == 401

    async def test_a_post_and_a_refusal_have_none(self, client: Client) -> None:
        post = {"contentTypeSlug": "posts", "title": "Without a tag"}
        for answer in (
            await client.post(post, headers={"If-None-Match": "*"}),
            await client.get("/v1/content/nothing", headers={"If-None-Match": "*"}),
        ):
            assert answer.status in (200, 404)
            assert "ETag" not in answer.headers
            assert answer.headers["Cache-Control"] == "no-store"


class TestHead:
    async def test_head_is_a_get_without_the_body(self, client: Client) -> None:
        paths = (*PATHS, "/v1/content/posts/nothing", "/nowhere", "/v1/content?locale=xx")
        for path in paths:
            for headers in ({"Accept-Encoding": "identity"}, {"If-None-Match": "*"}):
                get = await client.get(path, headers=headers)
                head = await client.ask("HEAD", path, headers=headers)
                assert (head.status, head.text) == (get.status, "")
                assert lasting(head) == lasting(get), path

    async def test_a_compressed_head_has_the_length_of_the_compressed_body(
        self, server: Server
    ) -> None:
        path = "/v1/content/posts/a"
        headers, body = await raw(server, path, "gzip")
        empty_headers, empty = await raw(server, path, "gzip", "HEAD")
        assert empty == b""
        assert int(headers["Content-Length"]) == len(body)
        assert empty_headers["Content-Length"] == headers["Content-Length"]
        assert empty_headers["Content-Encoding"] == "gzip"


class TestGzip:
    async def test_a_large_body_is_compressed_if_the_client_accepts_it(
        self, server: Server
    ) -> None:
        path = "/v1/content/posts/a"
        headers, body = await raw(server, path, "identity")
        packed_headers, packed = await raw(server, path, "br, gzip;q=0.5")
        assert "Content-Encoding" not in headers
        assert packed_headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed) == body
        assert len(packed) < len(body) / 5
        assert packed_headers["ETag"] == headers["ETag"]
        assert packed_headers["Vary"] == headers["Vary"]
        assert "Accept-Encoding" in headers["Vary"]

    async def test_a_small_body_is_not_compressed(self, server: Server) -> None:
        headers, body = await raw(server, "/v1/content/posts", "gzip")
        assert "Content-Encoding" not in headers
        assert body.startswith(b'{"success":true')

    async def test_the_response_to_a_post_is_compressed_too(self, client: Client) -> None:
        post = {"contentTypeSlug": "posts", "title": "Compressed", "fields": {"body": "b" * 2000}}
        answer = await client.post(post, headers={"Accept-Encoding": "gzip"})
        assert answer.headers["Content-Encoding"] == "gzip"
        assert answer.data["fields"]["body"] == "b" * 2000


async def test_only_the_clients_own_cache_may_keep_responses(client: Client) -> None:
    for path in PATHS:
        answer = await client.get(path)
        assert answer.headers["Cache-Control"] == "private, no-cache"
        assert {"Authorization", "X-API-Key", "X-Environment"} <= set(
            answer.headers["Vary"].split(", ")
        )
    for path in ("/v1/content/posts/nothing", "/nowhere", "/healthz", "/v1/content?locale=x"):
        assert (await client.get(path)).headers["Cache-Control"] == "no-store"
