"""The change feed as server-sent events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from api.changes import pages
from api.changes.bodies import ChangeView
from api.changes.stream import RETRY
from api.context import Call
from read_side import change_tail
from read_side.changes import ChangePage, ChangeRecord, changes_after
from tests.integration.api.event_stream import PATIENCE, streaming
from tests.integration.api.server import Client, Server, room, serving
from tests.integration.api.test_changes import PUBLISHED, feed, life, types
from tests.integration.api.test_refusals import refused
from tests.integration.live_projector import connected, until
from tests.integration.projector.rebuilds import rebuild, rollback
from tests.integration.projector.sample_log import ContentBuilder, raws
from write_side.repository import Repository

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def posts(server: Server, acme: ContentBuilder) -> ContentBuilder:
    await acme.content_type()
    await server.key(PUBLISHED, "acme", ("content.published",))
    await server.caught_up()
    return acme


def chained(found: list[dict[str, Any]]) -> None:
    ids = [change["id"] for change in found]
    assert [change["previous"] for change in found] == [None, *ids[:-1]]


async def test_a_stream_sends_what_there_is_and_then_what_comes(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    await posts.entry("one")
    await server.caught_up()
    async with streaming(server) as stream:
        found = await stream.until_caught_up()
        assert types(found) == ["contentType.changed", "entry.created"]
        await posts.entry("two")
        await posts.entry("three")
        found += await stream.take(2)
        assert [change["entry"]["slug"] for change in found[2:]] == ["two", "three"]
    chained(found)
    assert await feed(client) == found


async def test_a_change_is_sent_when_it_can_be_read(server: Server, posts: ContentBuilder) -> None:
    client = server.client()
    async with streaming(server, "after=now") as stream:
        assert await stream.until_caught_up() == []
        for slug in "abc":
            await posts.entry(slug)
            [change] = await stream.take(1)
            assert (await client.get(f"/v1/content/posts/{slug}")).data["id"] == change["entry"][
                "id"
            ]


async def test_last_event_id_resumes_and_takes_precedence(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    await life(posts)
    await server.caught_up()
    found = await feed(client)
    async with streaming(server, "after=now", Last_Event_ID=found[3]["id"]) as stream:
        assert await stream.until_caught_up() == found[4:]
    page = await client.get("/v1/changes?after=x", headers={"Last-Event-ID": found[3]["id"]})
    assert page.body["data"] == found[4:]
    async with streaming(server, f"after={found[-1]['id']}") as stream:
        event = await stream.next()
        assert (event.type, event.id) == ("caught-up", found[-1]["id"])


async def test_a_stream_selects_as_a_page_does(server: Server, posts: ContentBuilder) -> None:
    await posts.content_type(slug="pages")
    queries = ["contentType=pages", "events=entry.deleted,entry.published", "include=entry"]
    await server.caught_up()
    for query in queries:
        for secret in ("secret-of-acme", PUBLISHED):
            async with streaming(server, query, secret) as stream:
                found = await stream.until_caught_up()
                entry_id = await life(posts)
                page = await posts.entry("page", type_slug="pages", status="published")
                await server.caught_up()
                expected = await feed(server.client(secret), query)
                found += await stream.take(len(expected) - len(found))
                # ``current`` may differ between the two reads.
                for change in (*found, *expected):
                    change.pop("current", None)
                assert found == expected
                assert {change["entry"]["id"] for change in found if change["entry"]} >= (
                    {page} if query == queries[0] else {entry_id}
                )
                await posts.delete(page)
                await server.caught_up()


async def test_current_is_read_for_all_streams_together(
    server: Server, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0
    read = ChangeView.current

    async def counted(view: ChangeView, found: Sequence[ChangeRecord]) -> Any:
        nonlocal reads
        reads += bool(found)
        return await read(view, found)

    monkeypatch.setattr(ChangeView, "current", counted)
    async with (
        streaming(server, "after=now&include=entry") as first,
        streaming(server, "after=now&include=entry", PUBLISHED) as second,
    ):
        for stream in (first, second):
            await stream.until_caught_up()
        await posts.entry("one", status="published", fields=raws(body="Hello"))
        for stream in (first, second):
            [change] = await stream.take(1)
            assert change["current"]["fields"] == {"body": "Hello"}
    assert reads == 1


async def test_entries_that_are_large_together_are_read_by_each_stream(
    server: Server, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.changes.pages.CURRENT_BYTES", 10_000)
    async with streaming(server, "after=now&include=entry") as stream:
        await stream.until_caught_up()
        await _imported(posts, [f"n{number}" for number in range(9)], "x" * 4_000)
        found = await stream.take(9)
        assert all(change["current"]["slug"] == change["entry"]["slug"] for change in found)
        assert sorted(change["entry"]["slug"] for change in found) == [f"n{n}" for n in range(9)]


async def _imported(builder: ContentBuilder, slugs: list[str], body: str = "") -> None:
    await asyncio.gather(*(builder.entry(slug, fields=raws(body=body)) for slug in sorted(slugs)))


async def test_idle_streams_cost_no_statements(server: Server, posts: ContentBuilder) -> None:
    pool, fetched = server.service.read_model, list[str]()
    fetch = pool.fetch

    async def counted(statement: str, *parameters: Any) -> Any:
        fetched.append(statement)
        return await fetch(statement, *parameters)

    async with streaming(server, "after=now") as one, streaming(server, "after=now") as two:
        for stream in (one, two):
            await stream.until_caught_up()
        await posts.entry("zero")  # what changed while the first stream joined has to be read
        for stream in (one, two):
            await stream.take(1)
        pool.fetch = counted  # type: ignore[method-assign]
        other = await server.workspace("globex")
        await other.content_type()
        await other.entry("one")
        await server.caught_up()
        await asyncio.sleep(1.2)
        assert fetched == []
        await posts.entry("one")
        for stream in (one, two):
            await stream.take(1)
        assert fetched == [], "the notice had the change"


async def test_a_change_while_a_stream_joins_is_sent_once(
    server: Server, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    join = change_tail.ChangeTail.join
    async with streaming(server, "after=now") as first:
        await first.until_caught_up()

        async def late(*args: Any) -> int:
            """Joins only after the tail has delivered a change that the second stream's page does
            not have."""
            await posts.entry("between")
            await first.take(1)
            return await join(*args)

        monkeypatch.setattr(change_tail.ChangeTail, "join", late)
        async with streaming(server, "after=now") as second:
            [between] = await second.until_caught_up()
            assert between["entry"]["slug"] == "between"
            await posts.entry("after")
            [after] = await second.take(1)
            assert after["previous"] == between["id"]


async def test_a_change_on_a_page_is_not_sent_again(
    server: Server, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow, gate = change_tail.ChangeTail._follow, asyncio.Event()

    async def late(*args: Any) -> bool:
        await gate.wait()
        return await follow(*args)

    async with streaming(server, "after=now") as first:
        await first.until_caught_up()
        monkeypatch.setattr(change_tail.ChangeTail, "_follow", late)
        await posts.entry("early")
        await server.caught_up()
        async with streaming(server, "events=entry.created") as second:
            [early] = await second.until_caught_up()
            gate.set()
            assert (await first.take(1))[0]["id"] == early["id"]
            await posts.entry("late")
            [late_one] = await second.take(1)
            assert (late_one["entry"]["slug"], late_one["previous"]) == ("late", early["id"])


async def test_a_stream_is_counted_as_one_request(server: Server, posts: ContentBuilder) -> None:
    await room()
    client = server.client()
    before = int((await client.get("/v1/locales")).headers["X-RateLimit-Remaining"])
    async with streaming(server, "after=now") as stream:
        await stream.until_caught_up()
        await posts.entry("one")
        await stream.take(1)
    after = int((await client.get("/v1/locales")).headers["X-RateLimit-Remaining"])
    assert before - after == 2


@pytest.mark.asyncio(loop_scope="function")
async def test_a_key_and_a_workspace_have_a_number_of_streams(
    database_url: str, repository: Repository
) -> None:
    async with serving(
        database_url, repository, streams_per_key=1, streams_per_workspace=2
    ) as server:
        await (await server.workspace()).content_type()
        for secret in ("second", "third"):
            await server.key(secret, "acme")
        accept = {"Accept": "text/event-stream"}
        async with streaming(server) as stream:
            await stream.until_caught_up()
            answer = await server.client().get("/v1/changes", headers=accept)
            refused(answer, 429, "This key has 1 streams already")
            assert answer.headers["Retry-After"] == "5"
            assert (await server.client().get("/v1/changes")).status == 200
            async with streaming(server, secret="second") as second:
                await second.until_caught_up()
                answer = await server.client("third").get("/v1/changes", headers=accept)
                refused(answer, 429, "This workspace has 2 streams already")
        await until(lambda: _is(len(server.service.streams._streams), 0))
        async with streaming(server) as stream:
            await stream.until_caught_up()


async def _is(one: object, other: object) -> bool:
    return one == other


async def test_refusals_are_as_for_a_page(server: Server, posts: ContentBuilder) -> None:
    accept = {"Accept": "text/event-stream"}
    for secret, query, status in (
        (None, "", 401),
        ("secret-of-acme", "?after=x", 400),
        ("secret-of-acme", "?events=x", 400),
        ("secret-of-acme", "?environment=staging", 404),
    ):
        answer = await server.client(secret).get(f"/v1/changes{query}", headers=accept)
        assert (answer.status, answer.headers["Content-Type"]) == (status, "application/json")
    answer = await server.client().ask("HEAD", "/v1/changes", headers=accept)
    assert answer.headers["Content-Type"] == "application/json"


async def test_a_revoked_key_gets_nothing_more(server: Server, posts: ContentBuilder) -> None:
    await server.key("short-lived", "acme")
    async with streaming(server, "after=now", "short-lived") as stream:
        await stream.until_caught_up()
        await posts.revoke("short-lived")
        await posts.entry("one")
        with pytest.raises(EOFError):
            await stream.next()


async def test_a_comment_is_sent_while_nothing_happens(
    server: Server, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.changes.stream.SILENCE", 0.05)
    async with streaming(server, "after=now") as stream:
        await stream.until_caught_up()
        began = time.monotonic()
        change = asyncio.create_task(stream.next())

        async def has_two_comments() -> bool:
            return stream.comments >= 2

        await until(has_two_comments)
        await posts.entry("one")
        assert (await change).type == "entry.created"
        assert stream.comments <= (time.monotonic() - began) / 0.05 + 1


async def test_a_client_that_reads_keeps_its_stream_while_many_changes_arrive_at_once(
    server: Server, client: Client, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.changes.stream.MOST_WAITING", 3)
    monkeypatch.setattr(change_tail, "AT_ONCE", 2)
    async with streaming(server, "after=now&include=entry") as stream:
        await stream.until_caught_up()
        await posts.imports({"title": f"e{number}"} for number in range(40))
        await posts.entry("last")
        found = await stream.take(41)
    assert found == (await feed(client, "include=entry"))[-41:]


@pytest.mark.slow
async def test_a_client_that_does_not_read_is_disconnected(
    server: Server, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.changes.stream.MOST_WAITING", 3)
    reader, writer = await asyncio.open_connection(*_address(server))
    writer.write(_head(server, "after=now&include=entry"))
    assert b"200 OK" in await reader.readline()
    reader._transport.pause_reading()  # type: ignore[attr-defined]
    async with streaming(server, "after=now") as healthy:
        await healthy.until_caught_up()
        number = 0
        async with asyncio.timeout(60):
            while len(server.service.streams._streams) == 2:
                await posts.entry(f"n{number}", fields=raws(body="x" * 400_000))
                await healthy.take(1)
                number += 1
    writer.close()
    assert number > 3


async def test_a_client_that_leaves_before_the_stream_begins_is_no_fault(
    server: Server, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()

    async def slow_page(call: Call, request: pages.ChangesRequest) -> ChangePage:
        asked.set()
        await until(lambda: _is(call.request.transport, None))
        return await pages.first_page(call, request)

    monkeypatch.setattr("api.changes.stream.first_page", slow_page)
    _, writer = await asyncio.open_connection(*_address(server))
    writer.write(_head(server, "after=now"))
    await asked.wait()
    with capture_logs() as lines:
        writer.transport.abort()
        await until(lambda: _is(lines[-1:] and lines[-1]["event"], "request"))
    assert [(line["event"], line["status"]) for line in lines] == [("request", 200)]
    assert not server.service.streams._streams


def _head(server: Server, query: str) -> bytes:
    return (
        f"GET /v1/changes?{query} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"
        f"Authorization: Bearer {server.secret()}\r\n\r\n"
    ).encode()


def _address(server: Server) -> tuple[str, int]:
    host, _, port = server.origin.rpartition("//")[2].partition(":")
    return host, int(port)


@pytest.mark.asyncio(loop_scope="function")
async def test_streams_end_at_once_when_the_process_stops(
    database_url: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Otherwise a stream could end with its next comment.
    monkeypatch.setattr("api.changes.stream.SILENCE", 2 * PATIENCE)
    async with serving(database_url, repository) as server:
        await (await server.workspace()).content_type()
        async with streaming(server) as stream:
            await stream.until_caught_up()
            server.service.streams.close()
            with pytest.raises(EOFError):
                await stream.next()
            accept = {"Accept": "text/event-stream"}
            assert (await server.client().get("/v1/changes", headers=accept)).status == 503


async def test_nothing_is_lost_or_repeated_across_read_models_and_lost_connections(
    server: Server, client: Client, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_tail, "AT_ONCE", 3)
    async with streaming(server) as stream:
        found = await stream.until_caught_up()
        number = 0

        async def write(n: int) -> None:
            nonlocal number
            for _ in range(n):
                await posts.entry(f"n{number}")
                number += 1

        for disturb in (rebuild, rollback, _terminate_all, rebuild):
            writing = asyncio.create_task(write(12))
            await disturb(server.url)
            await writing
            await write(1)
        await server.caught_up()
        expected = await feed(client)
        found += await stream.take(len(expected) - len(found))
        assert found == expected
    chained(found)


async def _terminate_all(url: str) -> None:
    """Terminates the sessions of readers, not those of the projector and writers."""
    async with connected(url) as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND datname = current_database() AND query LIKE '%read_model%'"
        )


async def test_a_stream_ends_when_the_log_was_restored(
    server: Server, posts: ContentBuilder
) -> None:
    async with streaming(server) as stream:
        assert len(await stream.until_caught_up()) == 1
        async with connected(server.url) as connection:
            await connection.execute(
                "UPDATE read_model.change SET at = at + interval '1 ms' "
                "WHERE kind = 'contentType.changed'"
            )
        await _terminate_all(server.url)
        await posts.entry("one")
        with pytest.raises(EOFError):
            await stream.next()


async def test_a_stream_that_joins_while_the_read_model_is_set_back_reads_at_intervals(
    server: Server, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.key("another", "acme")  # an event that no change belongs to
    await server.caught_up()
    reads: list[float] = []

    async def timed(*args: Any) -> ChangePage:
        reads.append(time.monotonic())
        return await changes_after(*args)

    async def has_read() -> bool:
        return len(reads) >= 3

    monkeypatch.setattr("api.changes.stream.changes_after", timed)
    async with streaming(server, "after=now") as first, connected(server.url) as connection:
        await first.until_caught_up()
        await connection.execute("UPDATE read_model.checkpoint SET position = position - 1")
        async with streaming(server, "after=now") as second:
            await until(has_read)
            await connection.execute("UPDATE read_model.checkpoint SET position = position + 1")
            assert await second.until_caught_up() == []
    pauses = [after - before for before, after in pairwise(reads)]
    assert min(pauses) >= RETRY
