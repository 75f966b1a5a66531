"""No request causes a 500, a hang or a leak of another tenant's data. Every response has the
promised headers, and every error the error envelope."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import json
from multidict import CIMultiDict
from yarl import URL

from tests.contract import Contract
from tests.integration.api.arbitrary_requests import KEY, PATHS, QUERIES, Sent, bodies, requests
from tests.integration.api.server import Server, serving
from tests.integration.api.test_connections import Streams, answered, connected
from tests.integration.projector.sample_log import raws
from write_side.domain.definition import Field
from write_side.repository import Repository

pytestmark = pytest.mark.slow

Logged = Callable[[Any], Callable[[], str]]

CONTRACT = Contract()
MARK = "only-globex-may-read-this"
ENOUGH = 120  # seconds until a request counts as hanging
BATCH = 25
CLOSED = 0
REQUIRED_HEADERS = {
    "X-Request-Id",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "Cache-Control",
    "Date",
}
BOUNDED = settings(
    max_examples=25,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@asynccontextmanager
async def server_without_errors(
    url: str, repository: Repository, logged: Logged, **options: Any
) -> AsyncIterator[Server]:
    """A server with two workspaces, of which tests use only acme. Fails if an error is logged."""
    read = logged("json")
    async with serving(url, repository, max_body_bytes=50_000, **options) as server:
        for workspace, slug in (("acme", "hello"), ("globex", "hidden")):
            builder = await server.workspace(workspace, staging=True)
            fields = [Field("body", "Body", "text"), Field("views", "Views", "number")]
            await builder.content_type(*fields, Field("related", "Related", "json"))
            text = MARK if workspace == "globex" else "plain"
            await builder.entry(slug, fields=raws(body=text), status="published")
        await server.caught_up()
        yield server
    faults = [line for line in map(json.decode, read().splitlines()) if line["level"] == "error"]
    assert faults == []


@pytest.fixture
async def server(
    database_url: str, repository: Repository, logged: Logged
) -> AsyncIterator[Server]:
    async with server_without_errors(database_url, repository, logged) as server:
        yield server


@pytest.fixture
async def short_timeout_server(
    database_url: str, repository: Repository, logged: Logged
) -> AsyncIterator[Server]:
    """A server that soon closes connections of clients that do not finish their requests."""
    async with server_without_errors(
        database_url, repository, logged, client_timeout=0.5
    ) as server:
        yield server


@pytest.fixture
def statuses() -> Iterator[Counter[int]]:
    """Counts the statuses of all responses of a test. Guards against a server that passes by
    closing every connection or refusing every request."""
    counted: Counter[int] = Counter()
    yield counted
    assert min(counted[200], counted[400]) > 0, counted
    assert counted[CLOSED] < counted.total() / 2, counted


@BOUNDED
@given(several=st.lists(requests(), min_size=BATCH, max_size=BATCH))
async def test_arbitrary_bytes_are_answered(
    short_timeout_server: Server, statuses: Counter[int], several: list[Sent]
) -> None:
    async with asyncio.timeout(ENOUGH):
        statuses.update(
            await asyncio.gather(
                *(status_of_checked_response(short_timeout_server, sent) for sent in several)
            )
        )


@BOUNDED
@given(several=st.lists(st.tuples(PATHS, QUERIES), min_size=BATCH, max_size=BATCH))
async def test_any_path_and_query(
    server: Server, statuses: Counter[int], several: list[tuple[str, str]]
) -> None:
    client = server.client()
    for path, query in several:
        url: Any = URL(f"{path}?{query}", encoded=True)
        answer = await client.get(url)
        assert answer.status in (200, 400, 402, 404), (path, query)
        statuses[answer.status] += 1
        CONTRACT.check("GET", path, answer.status, answer.headers, answer.text)
        assert MARK not in answer.text


@BOUNDED
@given(several=st.lists(bodies(), min_size=BATCH, max_size=BATCH))
async def test_any_body(server: Server, statuses: Counter[int], several: list[bytes]) -> None:
    client = server.client()
    for body in several:
        answer = await client.post(body)
        assert answer.status in (200, 400, 404, 409), body
        statuses[answer.status] += 1
        CONTRACT.check("POST", "/v1/content", answer.status, answer.headers, answer.text)


async def test_a_client_that_disconnects_is_no_fault(server: Server) -> None:
    """The client disconnects at any byte of a create. A create that was sent completely is
    executed, a partial one is not."""
    whole = create("Cut")
    for end in (*range(0, len(whole), 25), len(whole) - 1):
        async with connected(server) as streams:
            streams[1].write(whole[:end])
            await asyncio.sleep(0)
    async with connected(server) as streams:
        status, _, body = await answered(streams, whole)
    assert (status, list(body)) == (200, ["data", "message"]), "nobody had that slug"
    for n in range(10):
        async with connected(server) as (_, writer):
            writer.write(create(f"Gone {n}"))
            writer.close()  # unlike abort(), sends what was written
            await writer.wait_closed()
    client = server.client()
    async with asyncio.timeout(ENOUGH):
        for n in range(10):
            path = f"/v1/content/posts/gone-{n}"
            while (await client.get(path)).status != 200:  # noqa: ASYNC110 - nobody waits for it
                await asyncio.sleep(0.05)


def create(title: str) -> bytes:
    new = json.encode({"contentTypeSlug": "posts", "title": title, "fields": {"body": "x" * 999}})
    head = b"POST /v1/content HTTP/1.1\r\nHost: x\r\nAuthorization: " + KEY
    return b"%b\r\nContent-Length: %d\r\n\r\n%b" % (head, len(new), new)


async def status_of_checked_response(server: Server, sent: Sent) -> int:
    """The status, or CLOSED if the server closed the connection without a response, as it does for
    an incomplete request."""
    cut, status = b"", CLOSED
    async with connected(server) as streams:
        streams[1].write(sent.raw)
        try:
            status = await check_answer(sent, streams)
        except asyncio.IncompleteReadError as end:
            cut = end.partial
        except ConnectionError:
            pass
    assert cut == b"", sent
    return status


async def check_answer(sent: Sent, streams: Streams) -> int:
    head = await head_of(streams)
    line, *lines = head.strip().split("\r\n")
    headers = CIMultiDict(re.findall(r"^([^:]+): (.*)$", "\n".join(lines), re.M))
    status = int(line.split()[1])
    assert status < 500 or status == 501, (sent, head)
    assert headers.keys() >= REQUIRED_HEADERS, (sent, head)
    body = await rest(sent, headers, streams)
    assert MARK.encode() not in body, sent
    if status >= 400 and body:
        assert list(json.decode(body)) == ["error"], sent
    return status


async def head_of(streams: Streams) -> str:
    """The head of the final response, after an optional 100 Continue."""
    head = await streams[0].readuntil(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 100"):
        head = await streams[0].readuntil(b"\r\n\r\n")
    return head.decode()


async def rest(sent: Sent, headers: Mapping[str, str], streams: Streams) -> bytes:
    """The body, of the length in Content-Length. Nothing follows the last response on a
    connection."""
    reader, writer = streams
    size = int(headers.get("Content-Length", 0))
    if headers.get("Connection") == "keep-alive":
        return await reader.readexactly(0 if sent.asks_for_no_body else size)
    # If the request is malformed, its method is unknown, so even a HEAD gets a body.
    body = b"" if sent.asks_for_no_body else await reader.readexactly(size)
    writer.write_eof()
    left = await reader.read()
    assert left == b"" or (sent.asks_for_no_body and len(left) == size), (sent, left)
    return body + left
