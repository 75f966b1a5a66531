"""POST /graphql over HTTP: keys, limits, positions, origins and retries; and GraphiQL."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from api.http.loop_turns import FEW, PARSE_GRAPHQL, WAITING
from tests.integration.api.graphql import create, data, run_query
from tests.integration.api.server import Answer, Client, Server, serving
from tests.integration.live_projector import projecting, until
from tests.integration.projector.sample_log import ContentBuilder
from write_side.dispatch import execute
from write_side.domain.definition import Field
from write_side.domain.text import minified
from write_side.repository import Repository

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASK = "{ contentEntries { data { title } pagination { total } } }"
NEW = """mutation ($title: String!) {
  createContentEntry(input: {contentTypeSlug: "posts", title: $title}) {
    success message entry { id title }
  }
}"""
UPDATE = """mutation ($id: ID!, $fields: JSON!) {
  updateContentEntry(id: $id, input: {fields: $fields}) { success message }
}"""
DEEP = "{" * 3_000 + "}" * 3_000


@pytest_asyncio.fixture(loop_scope="module")
async def posts(acme: ContentBuilder) -> ContentBuilder:
    await acme.content_type()
    return acme


def error_of(answer: Answer) -> tuple[int, str]:
    assert answer.status == 200, answer.text
    [error] = answer.body["errors"]
    return error["extensions"]["status"], error["message"]


@pytest.mark.asyncio(loop_scope="function")
async def test_a_body_that_is_too_large_is_an_error_in_the_response(
    database_url: str, repository: Repository
) -> None:
    async with serving(database_url, repository, max_body_bytes=2048) as server:
        await server.workspace()
        answer = await server.client().post(b" " * 2049, "/graphql")
        assert error_of(answer) == (
            413,
            "Request body is too large: the limit is 2,048 bytes; send several smaller requests",
        )


async def test_a_mutation_returns_its_position_and_a_query_waits_for_it(
    client: Client, posts: ContentBuilder, server: Server
) -> None:
    answer = await run_query(client, NEW, title="A")
    position = answer.headers["X-Content-Position"]
    assert answer.headers["X-Content-Visible"] == "true"
    rest = await client.post({"contentTypeSlug": "posts", "title": "B"})
    for token in (position, rest.headers["X-Content-Position"]):
        found = await data(client, ASK, headers={"X-Content-Position": token})
        assert found["contentEntries"]["pagination"]["total"] == 2
        assert (await client.get("/v1/content", headers={"X-Content-Position": token})).data
    wrong = await run_query(client, ASK, headers={"X-Content-Position": "x"})
    assert error_of(wrong) == (
        400,
        "Unknown X-Content-Position: send one that this workspace returned, or read without it",
    )
    beyond = server.service.positions.token(posts.scope.workspace, 10**6)
    wrong = await run_query(client, ASK, headers={"X-Content-Position": beyond})
    assert error_of(wrong) == (400, "X-Content-Position is beyond the log: read without it")
    assert "X-Content-Position" not in (await run_query(client, ASK)).headers


async def test_ignored_members_of_all_mutations_are_named(
    client: Client, posts: ContentBuilder
) -> None:
    document = """mutation {
      a: createContentEntry(input: {
        contentTypeSlug: "posts", title: "A", fields: {bdoy: 1}
        translations: [{locale: "fr-FR", title: "B", fields: {bdoy: 1}}]
      }) { success }
      b: createContentEntry(input: {contentTypeSlug: "posts", title: "B", fields: {bdy: 1}}) {
        success
      }
      refused: createContentEntry(input: {contentTypeSlug: "x", title: "B", fields: {c: 1}}) {
        success
      }
    }"""
    answer = await run_query(client, document)
    assert answer.headers["X-Content-Ignored"] == "bdoy, translations.fr-FR.bdoy, bdy"
    assert "X-Content-Ignored" in answer.headers["Access-Control-Expose-Headers"]
    assert "X-Content-Ignored" not in (await run_query(client, NEW, title="C")).headers


async def test_an_update_of_a_misspelt_field_changes_nothing_and_names_it(
    client: Client, posts: ContentBuilder
) -> None:
    made = await data(client, NEW, title="A")
    entry_id = made["createContentEntry"]["entry"]["id"]
    answer = await run_query(client, UPDATE, id=entry_id, fields={"bdoy": "x"})
    assert answer.body["data"]["updateContentEntry"]["message"] == "No changes"
    assert answer.headers["X-Content-Ignored"] == "bdoy"


@pytest.mark.asyncio(loop_scope="function")
async def test_an_invisible_position_is_503_in_the_response_and_waited_for_once(
    database_url: str, repository: Repository
) -> None:
    async with serving(database_url, repository, projector=False, read_your_writes=0.2) as server:
        await (await server.workspace()).content_type()
        client = server.client()
        answer = await run_query(client, NEW, title="A")
        assert answer.body["data"]["createContentEntry"]["success"]
        assert answer.headers["X-Content-Visible"] == "false"
        token = {"X-Content-Position": answer.headers["X-Content-Position"]}
        many = "{" + " ".join(f"a{n}: contentTypes {{ id }}" for n in range(50)) + "}"
        refused = await run_query(client, many, headers=token)
        assert {e["extensions"]["status"] for e in refused.body["errors"]} == {503}
        assert "data" in (await run_query(client, ASK)).body


async def test_a_repeated_mutation_is_executed_once(
    server: Server, client: Client, posts: ContentBuilder
) -> None:
    again = {"Idempotency-Key": "one"}
    first = await run_query(client, NEW, title="A", headers=again)
    assert (await run_query(client, NEW, title="A", headers=again)).body == first.body
    other = (await run_query(client, NEW, title="B", headers=again)).body["data"][
        "createContentEntry"
    ]
    assert other["message"].startswith("This idempotency key was used for a different request")
    rest = {"contentTypeSlug": "posts", "title": "A"}
    assert (await client.post(rest, headers=again)).status == 422
    assert (await data(client, ASK))["contentEntries"]["pagination"]["total"] == 1
    wrong = await run_query(client, NEW, title="C", headers={"Idempotency-Key": "\t"})
    assert wrong.body["data"]["createContentEntry"]["message"].startswith("Idempotency-Key takes")


async def test_each_mutation_of_a_repeated_document_is_executed_once(
    client: Client, posts: ContentBuilder
) -> None:
    document = """mutation ($id: ID!) {
      a: createContentEntry(input: {contentTypeSlug: "posts", title: "A"}) { success entry { id } }
      b: updateContentEntry(id: $id, input: {title: "B"}) { success entry { version title } }
      c: updateContentEntry(id: $id, input: {title: "C"}) { success entry { version title } }
      d: deleteContentEntry(id: $id) { success message }
    }"""
    entry = (await create(client, contentTypeSlug="posts", title="X"))["entry"]
    again = {"Idempotency-Key": "one"}
    first = await run_query(client, document, id=entry["id"], headers=again)
    assert [p["success"] for p in first.body["data"].values()] == [True] * 4
    assert first.body["data"]["b"]["entry"] == {"version": 2, "title": "B"}
    assert (await run_query(client, document, id=entry["id"], headers=again)).body == first.body


async def test_a_second_request_with_the_key_is_refused_while_the_first_is_in_progress(
    client: Client, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slowly(*args: Any) -> Any:
        if not begun.is_set():
            begun.set()
            await go.wait()
        return await execute(*args)

    monkeypatch.setattr("api.graphql.mutation.execute", slowly)
    again = {"Idempotency-Key": "one"}
    first = asyncio.create_task(run_query(client, NEW, title="A", headers=again))
    await begun.wait()
    second = (await run_query(client, NEW, title="A", headers=again)).body["data"]
    assert second["createContentEntry"] == {
        "success": False,
        "message": "A request with this Idempotency-Key is still in progress: "
        "retry when it is done",
        "entry": None,
    }
    go.set()
    answered = (await first).body
    assert (await run_query(client, NEW, title="A", headers=again)).body == answered
    assert (await data(client, ASK))["contentEntries"]["pagination"]["total"] == 1


@pytest.mark.asyncio(loop_scope="function")
async def test_a_mutation_waits_until_its_references_can_be_read(
    database_url: str, repository: Repository
) -> None:
    async with serving(database_url, repository, projector=False, read_your_writes=30) as server:
        acme = await server.workspace()
        await acme.content_type(Field("related", "Related", "reference", multiple=True))
        target = await acme.entry("target")
        document = """mutation ($target: ID!, $input: CreateContentEntryInput!) {
          updateContentEntry(id: $target, input: {title: "New"}) { success }
          createContentEntry(input: $input) { entry { references(field: "related") { title } } }
        }"""
        new = {"contentTypeSlug": "posts", "title": "A", "fields": {"related": [target]}}
        mutation = asyncio.create_task(data(server.client(), document, target=target, input=new))
        await until(lambda: _has_waiting(server))
        async with projecting(database_url):
            entry = (await mutation)["createContentEntry"]["entry"]
        assert entry == {"references": [{"title": "New"}]}


async def _has_waiting(server: Server) -> bool:
    return bool(server.service.checkpoint._waiting)


async def test_of_several_operations_the_named_one_is_executed(
    client: Client, posts: ContentBuilder
) -> None:
    document = "query A { __typename } mutation B { __typename }"
    for name, expected in (("A", "Query"), ("B", "Mutation")):
        answer = await client.post({"query": document, "operationName": name}, "/graphql")
        assert answer.body == {"data": {"__typename": expected}}


@pytest.mark.parametrize(
    ("document", "name", "reason"),
    [
        ("query A { __typename } query B { __typename }", "C", "Unknown operation 'C': name one"),
        ("query A { __typename }", "", None),
        (
            "query A { __typename } query B { __typename }",
            "",
            "The document has 2 operations: name",
        ),
        ("fragment F on Query { __typename }", "", "The document has no operation: add a query"),
        ("fragment F on Query { __typename }", "F", "Unknown operation 'F'"),
    ],
)
async def test_the_operation_to_execute_must_be_clear(
    client: Client, posts: ContentBuilder, document: str, name: str, reason: str | None
) -> None:
    answer = await client.post({"query": document, "operationName": name}, "/graphql")
    if reason is None:
        assert answer.body == {"data": {"__typename": "Query"}}
    else:
        status, message = error_of(answer)
        assert (status, message[: len(reason)]) == (400, reason)


HOSTILE: dict[str, str] = {
    "10,000 aliases": "{" + " ".join(f"a{n}: contentTypes {{ id }}" for n in range(10_000)) + "}",
    "101 aliases": "{" + " ".join(f"a{n}: contentTypes {{ id }}" for n in range(101)) + "}",
    "one field 200,000 times": "{ contentTypes { " + "id " * 200_000 + "} }",
    "one field 501 times": "{ contentTypes { " + "id " * 500 + "} }",
    "3,000 levels": DEEP,
    "2,400 levels of lists": "{ contentType(slug: " + "[" * 2_400 + "]" * 2_400 + ") { id } }",
    "11 levels": '{ contentEntryById(id: "x") '
    + '{ references(field: "x") ' * 10
    + "{ id"
    + "}" * 12,
    "a fragment of itself": "{ ...A } fragment A on Query { ...A }",
    "fragments in a circle": (
        "{ ...A } fragment A on Query { ...B } fragment B on Query { contentTypes { id } ...A }"
    ),
    "a chain of 600 fragments": "{ ...F0 }"
    + "".join(f" fragment F{n} on Query {{ ...F{n + 1} }}" for n in range(600)),
    "fragments that double 100 times": "{ ...F0 }"
    + "".join(f" fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(100))
    + " fragment F100 on Query { __typename }",
    "fragments that spread all others": "{ ...F0 }"
    + "".join(
        f" fragment F{n} on Query {{ {' '.join(f'...F{m}' for m in range(40) if m != n)} }}"
        for n in range(40)
    ),
    "an unknown fragment": "{ ...A }",
    "an unknown fragment in a fragment": "{ ...A } fragment A on Query { ...B }",
    "no fields": "{ contentTypes { } }",
    "pages inside of lists": (
        "{ contentEntries(limit: 100) { data { references(field: 1) { history(limit: 100) "
        "{ version } } } } }"
    ),
    "introspection in circles": (
        "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } "
        "} } } } } } }"
    ),
    "90 introspections": "{"
    + " ".join(f"a{n}: __schema {{ types {{ fields {{ name }} }} }}" for n in range(90))
    + "}",
    "types of fields of types": "{ __schema { types {"
    + " ".join(f"a{n}: fields {{ type {{ ...F ofType {{ ...F }} }} }}" for n in range(15))
    + "} } } fragment F on __Type {"
    + " ".join(f"b{n}: fields {{ name description }}" for n in range(15))
    + "}",
    "directives": "{ __typename " + "@skip(if: false) " * 2_000 + "}",
    "no operation": "fragment A on Query { __typename }",
    "a type": "type A { b: C }",
    "a subscription": "subscription { a }",
    "nothing": " ",
}


async def test_expensive_queries_are_refused_before_any_lookup(
    client: Client, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def looked_up(*_: Any) -> None:
        raise AssertionError("something was looked up")

    monkeypatch.setattr("read_side.pool.Pool.fetch", looked_up)
    statuses = {
        name: error_statuses(await run_query(client, query)) for name, query in HOSTILE.items()
    }
    assert {name: found for name, found in statuses.items() if found != {400}} == {}


def error_statuses(answer: Answer) -> set[int]:
    assert answer.status == 200
    return {error["extensions"]["status"] for error in answer.body.get("errors", [])}


async def test_the_page_is_for_browsers_and_queries_go_by_post(server: Server) -> None:
    anonymous = server.client(None)
    page = await anonymous.get("/graphql", headers={"Accept": "text/html,*/*;q=0.8"})
    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    for path in ("/graphql", "/graphql?query={__typename}"):
        answer = await anonymous.get(path, headers={"Accept": "application/json"})
        assert (answer.status, answer.headers["Allow"]) == (405, "OPTIONS,POST")
    assert (await anonymous.get("/graphql/nothing.js")).status == 404
    assert (await anonymous.ask("PUT", "/graphql")).status == 405
    script = await anonymous.get("/graphql/start.js")
    assert script.headers["X-Content-Type-Options"] == "nosniff"


async def test_large_values_of_a_mutation_are_read_in_a_turn(
    server: Server, posts: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    del posts
    turns, in_turn = server.service.loop_turns._large, list[bool]()

    def read(document: bytes) -> bytes:
        in_turn.append(turns._free == 0)
        return minified(document)

    monkeypatch.setattr("api.graphql.mutation.minified", read)
    client, fields = server.client(), {"y": " " * 70_000}
    assert (await create(client, contentTypeSlug="posts", title="x", fields=fields))["success"]
    assert in_turn == [True]


async def test_a_workspace_that_waits_for_too_many_turns_is_refused(
    server: Server, posts: ContentBuilder
) -> None:
    turns, large = server.service.loop_turns, " " * 70_000
    turn = partial(turns.turn, posts.scope.workspace, PARSE_GRAPHQL, FEW + 1)
    async with turn():
        waiting = [asyncio.create_task(turn().__aenter__()) for _ in range(WAITING)]
        await asyncio.sleep(0)
        client = server.client()
        over_rest = await client.post({"contentTypeSlug": "posts", "title": "x", "y": large})
        assert (over_rest.status, over_rest.headers["Retry-After"]) == (503, "1")
        for query in (ASK + large, ASK + large[:5_000]):
            assert error_of(await run_query(client, query)) == (503, over_rest.body["error"])
        assert await data(client, ASK)
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    assert await data(server.client(), ASK + large)
