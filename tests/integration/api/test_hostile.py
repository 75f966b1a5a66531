"""Hostile texts in paths, queries, headers and values never cause a 500, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from msgspec import json
from yarl import URL

from api.errors import NO_HTTP
from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import ContentBuilder

pytestmark = pytest.mark.asyncio(loop_scope="module")

Logged = Callable[[Any], Callable[[], str]]

SEGMENTS = [
    "%00",
    "a%00b",
    "%FF",
    "%C3%28",
    "%ED%A0%80",
    "%ED%BF%BF%00",
    "%F0%9F%98%80",
    "%E2%80%AE",
    "%2F",
    "%2E%2E",
    "..%2F..%2Fetc",
    "%25",
    "%25%30%30",
    "%",
    "%zz",
    "'%3B--",
    "%22%7B%7D",
    "%0A%0D",
    "%F4%90%80%80",
    "x" * 5000,
    "%F0%9F%98%80" * 500,
]
RAW = [
    b"\xff",
    b"\xed\xa0\x80",
    b"caf\xc3\xa9",
    b"{}",
    b"<>|^`",
    b"\\",
    b"%00\xff",
    b"?x=\xff",
    b"?locale=\xff",
    b"?environment=\xed\xa0\x80",
    b"?status=%ED%A0%80",
    b"?type=\xff&language=\xff",
    b"#fragment",
    b"//",
    b"..",
]

TEXTS = [
    "😀" * 1000,
    "\x01\x1f\x7f",
    "\u2028\u2029",
    '"\\</script>',
    "\ufeff",
    "\uffff",
    "x" * 100_000,
]


@pytest.fixture(autouse=True)
def logs_as_in_production(logged: Logged) -> Iterator[None]:
    """Every log record must be a single line of JSON, and none may report an error."""
    read = logged("json")
    yield
    for line in map(json.decode, read().splitlines()):
        assert line["level"] in ("info", "warning"), line


async def test_any_path_is_answered(client: Client, acme: ContentBuilder) -> None:
    await acme.content_type()
    places = ("/v1/content/{}", "/v1/content/posts/{}", "/{}")
    for place, text in product(places, SEGMENTS):
        answer = await client.get(URL(place.format(text), encoded=True))  # type: ignore[arg-type]
        assert answer.status in (400, 404), text
        if len(text) < 5000:
            assert list(answer.body) == ["error"], text


async def test_any_query_is_answered(server: Server, client: Client, acme: ContentBuilder) -> None:
    await acme.content_type()
    await server.caught_up()
    names = ("status", "language", "locale", "environment", "type", "limit", "offset", "asOf", "x")
    for name in names:
        for path in ("/v1/content", "/v1/content/posts", "/v1/content/posts/a"):
            for text in SEGMENTS:
                url: Any = URL(f"{path}?{name}={text}", encoded=True)
                answer = await client.get(url)
                assert answer.status in (200, 400, 404), (name, path, text)


async def test_bytes_that_no_client_library_sends_are_answered(
    server: Server, acme: ContentBuilder
) -> None:
    await acme.content_type()
    await server.caught_up()
    starts = (b"/v1/content/", b"/v1/content/posts/", b"/v1/content")
    for start, text in product(starts, RAW):
        status, body = await sent(server, b"GET " + start + text + b" HTTP/1.1\r\n")
        assert status in (200, 400, 404), (text, body)


async def test_invalid_headers_are_answered(server: Server) -> None:
    await server.workspace()
    names = (b"X-Environment", b"X-API-Key", b"Authorization", b"X-Request-Id")
    values = (b"\xff", b"\xed\xa0\x80", b"Bearer \xff\xfe", b"x" * 6000)
    for name, value in product(names, values):
        header = name + b": " + value + b"\r\n"
        status, body = await sent(server, b"GET /v1/content HTTP/1.1\r\n" + header)
        assert status in (200, 400, 401), (value, body)
        assert list(json.decode(body)) in (["error"], ["data", "pagination"])


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (b"GET /v1/content/a b HTTP/1.1\r\n", "; in a URL, percent-encode spaces"),
        (b"GET /v1/content/\xc3\xa9 HTTP/1.1\r\n", "; in a URL, percent-encode spaces"),
        (b"GET /v1/content HTTP/1.1\r\nBad Name: x\r\n", ": Invalid header token"),
        (b"GET /v1/content HTTP/1.1\r\nX: a\0b\r\n", ": Invalid header value char"),
        (b"GET /v1/content HTTP/1.1\r\nHost: a\r\n", ": Duplicate 'Host' header found"),
        (b"\x16\x03\x01\x02\0\x01\0\r\n", ": Received HTTPS traffic on an HTTP port"),
    ],
)
async def test_invalid_http_is_refused_with_the_reason(
    request_: bytes, reason: str, server: Server
) -> None:
    status, body = await sent(server, request_)
    error = json.decode(body)["error"]
    assert (status, error.startswith(NO_HTTP + reason)) == (400, True), error


async def sent(server: Server, request: bytes) -> tuple[int, bytes]:
    """Send exactly these bytes, plus the key; return the status and the body."""
    port = server.session._base_url.port  # type: ignore[union-attr]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    header = f"Authorization: Bearer {server.secret()}\r\n".encode()
    key = b"" if b"Authorization" in request else header
    writer.write(request + b"Host: x\r\nConnection: close\r\n" + key + b"\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


async def test_any_storable_text_is_returned_unchanged(
    client: Client, acme: ContentBuilder
) -> None:
    await acme.content_type()
    for n, text in enumerate(TEXTS):
        new = {
            "contentTypeSlug": "posts",
            "title": f"a{text}",
            "slug": str(n),
            "fields": {"body": text},
        }
        assert (await client.post(new)).data["title"] == f"a{text}"
        entry = (await client.get(f"/v1/content/posts/{n}")).data
        assert (entry["title"], entry["fields"]["body"]) == (f"a{text}", text)
