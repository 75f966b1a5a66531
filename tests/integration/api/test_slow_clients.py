"""Clients that send or read slowly do not delay other workspaces."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from tests.integration.api.dashboard import Browser, signed_in
from tests.integration.api.import_requests import accepted
from tests.integration.api.server import Server, serving, shared
from tests.integration.api.wizard import Wizard, csv
from tests.integration.live_projector import until
from tests.integration.projector.sample_log import BODY, raws

MB = 1024**2
SLOW = [f"slow-{number}" for number in range(4)]
PER_WORKSPACE = 4
"""Slow clients per workspace: more than the turns that one workspace may have."""
RIVAL = "secret-of-rival"
CONNECTIONS = 40
ARRIVED = 300_000
"""Bytes sent of each incomplete body."""
FORM = "Content-Type: multipart/form-data; boundary=b"
_PART = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n'
_FILE = _PART % (b"file", b'; filename="posts.csv"')


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(module_database_url: str) -> AsyncIterator[Server]:
    """Each workspace has an entry larger than a connection's buffers."""
    async with shared(module_database_url) as server:
        text = os.urandom(MB // 2).hex()
        for slug in (*SLOW, "rival"):
            builder = await server.workspace(slug)
            await builder.content_type(BODY)
            await builder.entry("one", status="published", fields=raws(body=text))
        await server.caught_up()
        yield server


async def session(stack: AsyncExitStack, server: Server, workspace: str) -> Browser:
    return await stack.enter_async_context(signed_in(server, f"secret-of-{workspace}"))


def cookie(browser: Browser) -> str:
    pairs = "; ".join(f"{one.key}={one.value}" for one in browser.session.cookie_jar)
    return f"Cookie: {pairs}\r\nSec-Fetch-Site: same-origin"


async def slow_client(server: Server, stack: AsyncExitStack, sent: bytes) -> socket.socket:
    """A client that sends these bytes, then neither sends nor reads by itself."""
    where = urlsplit(server.origin)
    client = stack.enter_context(socket.socket())
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((where.hostname, where.port))
    client.setblocking(False)
    await asyncio.get_running_loop().sock_sendall(client, sent)
    return client


def head(method: str, path: str, *headers: str) -> bytes:
    return "\r\n".join((f"{method} {path} HTTP/1.1", "Host: x", *headers, "", "")).encode()


async def beginning(server: Server, stack: AsyncExitStack, path: str, workspace: str) -> bytes:
    """The beginning of a large request."""
    key, length = f"Authorization: Bearer secret-of-{workspace}", f"Content-Length: {4 * MB}"
    if path == "/v1/content":
        return head("POST", path, key, length) + b"x" * ARRIVED
    if path == "/v1/imports":
        return head("POST", path, key, length, FORM) + _FILE + b"x" * ARRIVED
    browser = await session(stack, server, workspace)
    token = _PART % (b"csrf", b"") + (await browser.token()).encode() + b"\r\n"
    return head("POST", path, cookie(browser), length, FORM) + token + _FILE + b"x" * ARRIVED


@pytest.mark.parametrize("path", ["/v1/content", "/v1/imports", "/dashboard/imports"])
async def test_slow_senders_do_not_delay_other_workspaces(path: str, server: Server) -> None:
    files = server.service.large_bodies.files

    async def all_have_begun() -> bool:
        return files.used > len(SLOW) * PER_WORKSPACE * ARRIVED // 2

    async def nothing_is_held() -> bool:
        return files.used == 0

    async with AsyncExitStack() as stack:
        for workspace in SLOW:
            sent = await beginning(server, stack, path, workspace)
            for _ in range(PER_WORKSPACE):
                await slow_client(server, stack, sent)
        await until(all_have_begun)
        client = server.client(RIVAL)
        large = {"contentTypeSlug": "posts", "title": path, "fields": {"body": "x" * ARRIVED}}
        assert (await client.post(large)).status == 200
        file = csv("Title,Body", f"File of {path},A text")
        await accepted(client, file)
        browser = await session(stack, server, "rival")
        assert (await Wizard(browser).send(file)).status == 303
    await until(nothing_is_held)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
async def test_slow_readers_of_exports_do_not_delay_other_workspaces(
    kind: str, server: Server, small_buffers: None
) -> None:
    path = f"/dashboard/entries/export.{kind}?type=posts"
    async with AsyncExitStack() as stack:
        for workspace in SLOW:
            slow = await session(stack, server, workspace)
            for _ in range(PER_WORKSPACE):
                await slow_client(server, stack, head("GET", path, cookie(slow)))
        browser = await session(stack, server, "rival")
        answer = await browser.session.get(path)
        assert (answer.status, len(await answer.read()) > MB // 2) == (200, True)


async def test_slow_readers_of_responses_to_large_requests_do_not_delay_other_workspaces(
    server: Server, small_buffers: None
) -> None:
    body = b'{"contentTypeSlug": "posts", "title": "T %d", "fields": {"body": "%s"}}'
    async with AsyncExitStack() as stack:
        for workspace in SLOW:
            key = f"Authorization: Bearer secret-of-{workspace}"
            for number in range(PER_WORKSPACE):
                sent = body % (number, b"x" * MB * 2)
                length = f"Content-Length: {len(sent)}"
                whole = head("POST", "/v1/content", key, length) + sent
                await slow_client(server, stack, whole)
        answer = await server.client(RIVAL).post(body % (0, b"x" * (MB // 2)))
        assert answer.status == 200


@pytest.mark.parametrize(
    ("path", "accept"),
    [("/v1/content/posts", "application/json"), ("/v1/changes", "text/event-stream")],
    ids=["lists", "streams"],
)
async def test_a_workspace_cannot_take_all_connections(
    path: str, accept: str, server: Server, small_buffers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.http.open_connections.MOST", CONNECTIONS)
    async with AsyncExitStack() as stack:
        few = await stack.enter_async_context(serving(server.url, server.repository))
        key = "Authorization: Bearer secret-of-slow-0"
        sent = head("GET", path, key, f"Accept: {accept}")
        clients = [await slow_client(few, stack, sent) for _ in range(CONNECTIONS)]
        receive = asyncio.get_running_loop().sock_recv
        answers = [(await receive(client, 12))[-3:] for client in clients]
        assert set(answers) == {b"200", b"503"}
        async with few.session.get(
            path, headers={"Authorization": f"Bearer {RIVAL}", "Accept": accept}
        ) as response:
            assert response.status == 200
