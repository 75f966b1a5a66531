"""Limits of forms, lists and headers over HTTP."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from api.dashboard.page_handlers import MAX_FORM
from api.dashboard.sign_in import MAX_FORM as MAX_SIGN_IN
from api.graphql import mutation
from api.graphql.content_entry import ContentEntry, entry_of_log
from api.rest import wire
from api.rest.ignored_members import ignored_names
from tests.integration.api.dashboard import signed_in
from tests.integration.api.graphql import create, update
from tests.integration.api.server import Client, Server, serving
from tests.integration.api.test_connections import answered, connected, is_closed
from tests.integration.projector.sample_log import ContentBuilder
from write_side.dispatch import CommandResult
from write_side.domain.definition import Field, Option
from write_side.domain.values import MAX_ITEMS
from write_side.repository import Repository

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAME_SITE = {"Sec-Fetch-Site": "same-origin"}
TAGS = Field("tags", "Tags", "select", multiple=True, options=(Option("a", "A"),))
ROWS = Field("rows", "Rows", "repeater", fields=(Field("q", "Q", "text"),))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"key=" + b"%41" * (MAX_SIGN_IN // 3), 413),
        (b"key=" + b"x" * (MAX_SIGN_IN - 4), 403),
        (b"key=%zz", 400),
        (b"key=%4", 400),
    ],
)
async def test_the_sign_in_form_is_bounded(server: Server, body: bytes, status: int) -> None:
    answer = await server.client(None).post(body, "/dashboard/sign-in", headers=SAME_SITE)
    assert answer.status == status


async def test_other_forms_are_bounded(server: Server, acme: ContentBuilder) -> None:
    async with signed_in(server) as visitor:
        for size, status in ((MAX_FORM + 1, 413), (MAX_FORM, 403)):
            body = b"x=" + b"y" * (size - 2)
            async with visitor.session.post(
                "/dashboard/sign-out", data=body, headers=SAME_SITE
            ) as answer:
                assert answer.status == status


async def test_lines_of_a_multipart_form_are_bounded(server: Server, acme: ContentBuilder) -> None:
    headers = {**SAME_SITE, "Content-Type": "multipart/form-data; boundary=b"}
    async with (
        signed_in(server) as visitor,
        visitor.session.post(
            "/dashboard/imports", data=b"\r\n" * 100_000, headers=headers
        ) as answer,
    ):
        assert answer.status == 400


@pytest.mark.parametrize(("slug", "item"), [("tags", "a"), ("rows", {})])
async def test_lists_are_bounded(
    client: Client, acme: ContentBuilder, slug: str, item: object
) -> None:
    await acme.content_type(TAGS, ROWS)
    entry = {"contentTypeSlug": "posts", "title": "T"}
    answer = await client.post({**entry, "fields": {slug: [item] * MAX_ITEMS}})
    assert answer.status == 200
    answer = await client.post({**entry, "slug": "t2", "fields": {slug: [item] * (MAX_ITEMS + 1)}})
    assert (answer.status, answer.body["error"]) == (
        400,
        f"Field '{slug}' takes an array of up to 5,000: use several fields or entries",
    )


async def test_the_response_of_a_create_with_many_values_is_made_in_a_thread(
    client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type(ROWS)
    threads: list[threading.Thread] = []
    made = wire.created_entry

    def recorded(executed: CommandResult) -> wire.CreatedEntry:
        threads.append(threading.current_thread())
        return made(executed)

    monkeypatch.setattr(wire, "created_entry", recorded)
    for title, rows in (("Few", 1), ("Many", 2_000)):
        fields = {"rows": [{"q": "x"}] * rows}
        await client.post({"contentTypeSlug": "posts", "title": title, "fields": fields})
    few, many = threads
    assert few is threading.main_thread()
    assert many is not few


async def test_the_entry_of_a_mutation_with_many_values_is_made_in_a_thread(
    client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type(ROWS)
    threads: list[tuple[str, bool]] = []

    def note(what: str) -> None:
        threads.append((what, threading.current_thread() is threading.main_thread()))

    def shown(*args: Any) -> ContentEntry:
        note("entry")
        return entry_of_log(*args)

    def named(*args: Any) -> Iterator[str]:
        note("ignored")
        yield from ignored_names(*args)

    monkeypatch.setattr(mutation, "entry_of_log", shown)
    monkeypatch.setattr(mutation, "ignored_names", named)
    for title, rows in (("Few", 1), ("Many", 2_000)):
        fields = {"rows": [{"q": "x"}] * rows}
        payload = await create(client, contentTypeSlug="posts", title=title, fields=fields)
    await update(client, payload["entry"]["id"], title="More")
    assert threads == [
        ("ignored", True),
        ("entry", True),
        ("ignored", False),
        ("entry", False),
        ("ignored", True),
        ("entry", False),
    ]


async def test_a_mutation_with_large_variables_needs_the_permission_first(
    server: Server, acme: ContentBuilder
) -> None:
    await server.key("a-viewer's", "acme", ("content.view",))
    query = """mutation ($t: [TranslationInput!]) { createContentEntry(
        input: {contentTypeSlug: "posts", title: "A", translations: $t}) { success message } }"""
    viewer = server.client("a-viewer's")
    for number, refused_early in ((1, False), (300, True), (6_000, True)):
        sent = {"query": query, "variables": {"t": [{"locale": "fr-FR"}] * number}}
        body = (await viewer.post(sent, "/graphql")).body
        if refused_early:
            [error] = body["errors"]
            assert error["extensions"] == {"status": 403}
        else:
            assert body["data"]["createContentEntry"]["success"] is False


FORM = b"--x\r\nContent-Disposition: form-data; name=contentType\r\n\r\nposts\r\n--x--\r\n"
BODIES = {
    b"/v1/content": (b'{"contentTypeSlug": "posts", "title": "A"}', b"200 OK"),
    b"/graphql": (b'{"query": "{ contentTypes { slug } }"}', b"200 OK"),
    b"/v1/imports": (FORM, b"400 Bad Request"),
}


@pytest.mark.parametrize("path", BODIES)
async def test_100_continue_is_sent_after_the_checks(
    server: Server, acme: ContentBuilder, path: bytes
) -> None:
    await acme.content_type()
    body, status = BODIES[path]
    head = (
        b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\n" % path
    )
    expects = b"Content-Length: %d\r\nExpect: 100-Continue\r\n" % len(body)
    async with asyncio.timeout(60), connected(server) as (reader, writer):
        writer.write(head + expects + f"Authorization: Bearer {server.secret()}\r\n\r\n".encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(body)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert b"Connection: close" not in answer
    async with connected(server) as streams:
        wrong = head + expects + b"Authorization: Bearer wrong\r\n\r\n"
        refused, headers, _ = await answered(streams, wrong)
        assert (refused, headers["connection"]) == (401, "close")
        assert await is_closed(streams)


async def test_a_client_that_does_not_hold_back_its_body_keeps_its_connection(
    server: Server, acme: ContentBuilder
) -> None:
    await acme.content_type()
    body, _ = BODIES[b"/v1/content"]
    head = b"POST /v1/content HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n"
    async with asyncio.timeout(60), connected(server) as streams:
        for key, expected in ((b"wrong", 401), (server.secret().encode(), 200)):
            sent = head % len(body) + b"Authorization: Bearer %b\r\n\r\n" % key + body
            status, headers, _ = await answered(streams, sent)
            assert (status, headers.get("connection")) == (expected, None)


async def test_the_server_header_names_no_version(server: Server) -> None:
    for path in ("/healthz", "/nowhere", "/dashboard/sign-in"):
        answer = await server.client(None).get(path)
        assert answer.headers["Server"] == "contentlog"
    async with connected(server) as streams:
        _, headers, _ = await answered(streams, b"nonsense\r\n\r\n")
    assert headers["server"] == "contentlog"


@pytest.mark.asyncio(loop_scope="function")
async def test_browsers_stay_on_https_behind_a_trusted_proxy(
    database_url: str, repository: Repository
) -> None:
    for proxies, strict in (("127.0.0.1", True), ("10.0.0.0/8", False)):
        async with serving(
            database_url, repository, projector=False, trusted_proxies=proxies
        ) as server:
            client = server.client(None)
            answer = await client.get("/healthz", headers={"X-Forwarded-Proto": "https"})
            assert ("Strict-Transport-Security" in answer.headers) is strict
            answer = await client.get("/healthz", headers={"X-Forwarded-Proto": "https, http"})
            assert "Strict-Transport-Security" not in answer.headers
