"""Traces follow a request until its changes are visible (ADR 56)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from opentelemetry.trace import StatusCode

from read_side import paging
from tests.integration.api.deliveries import create_webhook, delivering
from tests.integration.api.hook_server import hook_server
from tests.integration.api.import_requests import done
from tests.integration.api.server import Client, Server, room
from tests.integration.live_projector import until
from tests.integration.projector.sample_log import ContentBuilder
from tests.spans import Spans, attribute, id_of, linked, recording, trace_of

TITLE = "A title that is nobody's business"
POST = {"contentTypeSlug": "posts", "title": TITLE}
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SENT = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
OF_A_CREATE = {
    "POST /v1/content",
    "checks",
    "decide CreateEntry",
    "append",
    "write_side.append",
    "project",
    "wait until visible",
}


@pytest.fixture
def spans() -> Iterator[Spans]:
    with recording() as spans:
        yield spans


@pytest.fixture
async def posts(server: Server, acme: ContentBuilder) -> ContentBuilder:
    await acme.content_type()
    await server.caught_up()
    return acme


async def test_a_create_is_one_trace_from_the_request_to_visible(
    server: Server, posts: ContentBuilder, client: Client, spans: Spans
) -> None:
    answer = await client.post(POST, headers={"X-Request-Id": "of-this-test", **SENT})
    assert answer.headers["X-Content-Visible"] == "true"

    async def projected() -> bool:
        return bool(spans.named("project"))

    await until(projected)
    request = spans.single("POST /v1/content")
    of_trace = [span for span in spans.ended() if trace_of(span) == int(TRACE, 16)]
    assert {span.name for span in of_trace} >= OF_A_CREATE
    assert request.parent
    assert request.parent.span_id == int(PARENT, 16)
    ids = {id_of(span) for span in of_trace}
    assert all(span.parent and span.parent.span_id in ids for span in of_trace if span != request)
    project = spans.single("project")
    assert project.parent
    assert project.parent.span_id == id_of(request)
    for span in (request, project):
        assert attribute(span, "contentlog.request_id") == "of-this-test"
    [row] = await server.repository.recorder.fetch(
        "SELECT state FROM write_side.event WHERE topic LIKE 'entry.created.%'"
    )
    event = msgspec.json.decode(row["state"])
    assert event["request_id"] == "of-this-test"
    assert event["traceparent"] == f"00-{TRACE}-{id_of(request):016x}-01"


async def test_spans_follow_the_conventions_and_have_no_content(
    posts: ContentBuilder, client: Client, spans: Spans
) -> None:
    await client.post(POST)
    await client.get(f"/v1/content/posts?filter[title]={TITLE}")
    create, listed = spans.single("POST /v1/content"), spans.single("GET /v1/content/{type}")
    assert attribute(create, "http.request.method") == "POST"
    assert attribute(create, "http.route") == "/v1/content"
    assert attribute(create, "http.response.status_code") == 200
    assert attribute(listed, "url.path") == "/v1/content/posts"
    assert attribute(create, "contentlog.workspace") == posts.scope.workspace
    call = spans.single("write_side.append")
    assert attribute(call, "db.system.name") == "postgresql"
    text = "".join(span.to_json() for span in spans.ended())
    assert "nobody" not in text
    assert "secret-of" not in text


async def test_a_list_says_whether_it_was_in_memory(
    unhurried: None, posts: ContentBuilder, client: Client, spans: Spans
) -> None:
    await room()
    await client.post(POST)
    spans.clear()

    async def is_hit() -> bool:
        await client.get("/v1/content")
        return _of_cache(spans)[-1] == "hit"

    # A response just after a write may not be cached yet.
    await until(is_hit)
    assert await is_hit(), "the shortest path"
    assert _of_cache(spans)[0] == "miss"
    lists = spans.named("GET /v1/content")
    requests = {
        trace_of(span)
        for span in spans.named("SELECT read_model")
        if attribute(span, "db.query.summary") is not None
    }
    assert [trace_of(span) in requests for span in lists] == [
        found == "miss" for found in _of_cache(spans)
    ]


def _of_cache(spans: Spans) -> list[object]:
    lists = spans.named("GET /v1/content")
    return [attribute(span, "contentlog.response_cache") for span in lists]


async def test_requests_that_share_an_append_are_linked(
    posts: ContentBuilder, client: Client, spans: Spans
) -> None:
    bodies = [{**POST, "title": f"Post {n}"} for n in range(12)]
    await asyncio.gather(*(client.post(body) for body in bodies))
    calls, appends = spans.named("write_side.append"), spans.named("append")
    assert len(appends) == len(bodies)
    shared = [call for call in calls if attribute(call, "db.operation.batch.size") != 1]
    assert shared, "all creates were appended alone"
    by_id = {id_of(call): call for call in calls}
    for append in appends:
        [sent_in] = [by_id[one] for one in linked(append)]
        is_first = sent_in.parent is not None and sent_in.parent.span_id == id_of(append)
        assert is_first or id_of(append) in linked(sent_in)


async def test_reads_that_share_a_statement_are_linked(
    posts: ContentBuilder, client: Client, spans: Spans
) -> None:
    await asyncio.gather(*(client.get(f"/v1/content/posts/post-{n}") for n in range(12)))
    waits = spans.named("share a read")
    shared = {id_of(span): span for span in spans.named("shared read")}
    assert waits
    for wait in waits:
        [sent_in] = [shared[one] for one in linked(wait)]
        is_first = sent_in.parent is not None and sent_in.parent.span_id == id_of(wait)
        assert is_first or id_of(wait) in linked(sent_in)


async def test_a_fault_sets_the_status_and_a_refusal_does_not(
    posts: ContentBuilder, client: Client, spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError(TITLE)

    monkeypatch.setattr(paging, "list_of_type", fail)
    assert (await client.get("/v1/content/posts")).status == 500
    assert (await client.post({**POST, "contentTypeSlug": "unknown"})).status == 404
    failed, refused = spans.single("GET /v1/content/{type}"), spans.single("POST /v1/content")
    assert failed.status.status_code is StatusCode.ERROR
    assert attribute(failed, "error.type") == "500"
    assert refused.status.status_code is StatusCode.UNSET
    assert attribute(spans.single("decide CreateEntry"), "error.type") == "UnknownContentType"
    assert TITLE not in "".join(span.to_json() for span in spans.ended())


async def test_a_graphql_operation_is_a_span_by_its_kind_and_name(
    posts: ContentBuilder, client: Client, spans: Spans
) -> None:
    document = 'query Mine { contentEntries(type: "posts") { data { id } } }'
    await client.post({"query": document}, "/graphql")
    operation = spans.single("query")
    assert attribute(operation, "graphql.operation.name") == "Mine"
    assert trace_of(operation) == trace_of(spans.single("POST /graphql"))


async def test_an_import_continues_the_trace_of_its_request(
    server: Server, posts: ContentBuilder, client: Client, spans: Spans
) -> None:
    await done(client, b"Title\nOne\nTwo\n", contentType="posts")
    request = spans.single("POST /v1/imports")
    for name in ("import", "decide ImportEntries", "append"):
        assert trace_of(spans.single(name)) == trace_of(request), name
    rows = await server.repository.recorder.fetch(
        "SELECT state FROM write_side.event WHERE topic LIKE 'entry.created.%'"
    )
    traces = {msgspec.json.decode(row["state"])["traceparent"][3:35] for row in rows}
    assert traces == {f"{trace_of(request):032x}"}


async def test_without_sampling_there_are_no_spans_and_no_metadata(
    server: Server, posts: ContentBuilder, client: Client
) -> None:
    with recording(ratio=0.0) as spans:
        assert (await client.post(POST, headers=SENT)).status == 200
        assert (await client.get("/v1/content/posts")).status == 200
        assert spans.ended() == []
    rows = await server.repository.recorder.fetch("SELECT state FROM write_side.event")
    assert len(rows) > 1
    assert not any("traceparent" in row["state"] for row in rows)


async def test_log_lines_name_the_span_of_their_request(
    server: Server,
    posts: ContentBuilder,
    client: Client,
    spans: Spans,
    logged: Callable[[Any], Callable[[], str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr(paging, "list_of_type", fail)
    read = logged("json")
    await client.get("/v1/content/posts", headers={"X-Request-Id": "of-this-test"})
    lines = [msgspec.json.decode(line) for line in read().splitlines()]
    of_request = [line for line in lines if line.get("request_id") == "of-this-test"]
    assert [line["event"] for line in of_request] == ["failed", "request"]
    span = spans.single("GET /v1/content/{type}")
    for line in of_request:
        assert line["trace_id"] == f"{trace_of(span):032x}"
        assert line["span_id"] == f"{id_of(span):016x}"


async def test_a_delivery_is_linked_with_the_request_that_made_the_change(
    server: Server, posts: ContentBuilder, client: Client, spans: Spans
) -> None:
    async with hook_server() as hook, delivering(server.url):
        await create_webhook(posts, hook)
        await client.post(POST)

        async def delivered() -> bool:
            return bool(spans.named("POST webhook"))

        await until(delivered)
    delivery, request = spans.single("POST webhook"), spans.single("POST /v1/content")
    assert linked(delivery) == {id_of(request)}
    assert trace_of(delivery) != trace_of(request)
    assert attribute(delivery, "http.response.status_code") == 200
