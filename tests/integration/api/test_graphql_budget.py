"""Costs known only during execution are limited too: list lengths, folded changes, and bytes read
and returned."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from api.graphql import cost
from tests.integration.api.graphql import counting, data, refused, run_query
from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import BODY, ContentBuilder, raws
from write_side.domain.definition import Field, Option
from write_side.domain.identity import PRODUCTION, Scope
from write_side.entry_history import HistoryRequest, histories
from write_side.repository import Repository

pytestmark = pytest.mark.asyncio(loop_scope="module")

RELATED = Field("related", "Related", "reference", multiple=True)
MANY_FIELDS = tuple(Field(f"f{n}", f"F{n}", "text") for n in range(200))
MANY_OPTIONS = tuple(Option(f"o{n}", f"O{n}") for n in range(1_000))
MANY_CHANGES = "The query reads more than 20 changes: "
LARGE = "The response has more than 10,000 bytes of values: "


def aliased(number: int, selection: str) -> str:
    return " ".join(f"a{n}: {selection}" for n in range(number))


async def costs_too_much(client: Client, document: str, **variables: Any) -> bool:
    status, message = await refused(client, document, **variables)
    return status == 400 and message.startswith("The query costs ")


async def test_references_are_charged_by_their_real_number_before_lookup(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type(BODY, RELATED)
    one = await acme.entry("one")
    many = await acme.entry("many", fields=raws(related=[one] * 1_000))
    await server.caught_up()
    query = 'query ($id: ID!) { contentEntryById(id: $id) { references(field: "related") { %s } } }'
    found = await data(client, query % "title contentType { name }", id=many)
    assert len(found["contentEntryById"]["references"]) == 1_000
    assert await costs_too_much(client, query % aliased(9, "contentType { name }"), id=many)
    with counting(monkeypatch) as statements:
        await refused(client, query % aliased(9, "contentType { name }"), id=many)
    # Two statements for the entry, which its references make large, and one for its type.
    assert len(statements) == 3


async def test_filters_and_sort_keys_that_are_checked_entry_by_entry_are_charged(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    await acme.content_type(RELATED)
    await server.caught_up()

    def lists(number: int, **arguments: Any) -> tuple[str, dict[str, Any]]:
        given = "sort: $sort, filter: $filter, search: $search"
        one = f'contentEntries(type: "posts", {given}) {{ data {{ id }} }}'
        names = "($sort: [String!], $filter: JSON, $search: String)"
        return f"query {names} {{ {aliased(number, one)} }}", arguments

    two = {"title": {"gt": "a", "lt": "z"}}
    for most, arguments in (
        (89, {"sort": ["title"]}),
        (89, {"filter": {"title": "a"}}),
        (24, {"sort": ["title", "-createdAt"]}),
        (24, {"sort": ["title"], "filter": {"title": "a"}}),
        (24, {"filter": two}),
        (24, {"filter": {"title": {"contains": "a"}}}),
        (14, {"sort": ["title"], "search": "fog"}),
        (9, {"sort": ["-title", "slug"], "filter": two}),
    ):
        document, variables = lists(most, **arguments)
        await data(client, document, **variables)
        document, variables = lists(most + 2, **arguments)
        answer = await run_query(client, document, **variables)
        assert "The query costs " in answer.text, arguments
    ordinary = {
        'sort: ["-publishedAt"]': 4,
        'sort: ["title", "-createdAt"], filter: {status: "published"}': 1,
        'search: "fog"': 3,
        "limit: 10": 2,
    }
    places = [each for each, number in ordinary.items() for _ in range(number)]
    chosen = " ".join(
        f'a{n}: contentEntries(type: "posts", {one}) {{ data {{ id title fields }} }}'
        for n, one in enumerate(places)
    )
    await data(client, "{" + chosen + "}")


async def test_types_are_charged_by_their_real_fields(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    choice = Field("choice", "Choice", "select", options=MANY_OPTIONS)
    await acme.content_type(*MANY_FIELDS, choice)
    await server.caught_up()
    [found] = (await data(client, "{ contentTypes { fields { slug options } } }"))["contentTypes"]
    assert len(found["fields"]) == 201
    assert len(found["fields"][200]["options"]) == 1_000
    for several in (
        "contentTypes { " + aliased(20, "fields { slug name type required multiple }") + " }",
        'contentType(slug: "posts") { fields { ' + aliased(90, "options") + " } }",
    ):
        assert await costs_too_much(client, f"{{ {several} }}"), several


async def test_folded_events_are_limited_except_for_one_stream(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost, "EVENTS", 20)
    await acme.content_type(BODY)
    for name in ("one", "two"):
        entry = await acme.entry(name)
        for number in range(24):
            await acme.update(entry, title=f"{name} {number}")
    await server.caught_up()
    now = datetime.now(UTC).isoformat()
    then = f'contentEntry(type: "posts", slug: "%s", asOf: "{now}") {{ version }}'
    both = (
        "query ($n: Int!) { contentEntries(limit: $n) { data { history(limit: 1) { version } } } }"
    )
    assert (await data(client, f"{{ {then % 'one'} }}"))["contentEntry"] == {"version": 25}
    assert (await data(client, both, n=1))["contentEntries"]["data"] == [
        {"history": [{"version": 25}]}
    ]
    for document in (f"{{ a: {then % 'one'} b: {then % 'two'} }}", both):
        status, message = await refused(client, document, **({"n": 2} if document == both else {}))
        assert status == 400
        assert message.startswith(MANY_CHANGES)


async def test_the_same_moment_is_looked_up_once(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type(BODY)
    await acme.entry("one")
    await server.caught_up()
    now = datetime.now(UTC).isoformat()
    then = f'contentEntry(type: "posts", slug: "one", asOf: "{now}") {{ title }}'
    with counting(monkeypatch) as statements:
        found = await data(client, f"{{ {aliased(50, then)} }}")
    assert len(found) == 50
    # Clock, appends in progress and position; then the slug's owner, the type and the entry.
    assert len(statements) == 6


@pytest.mark.asyncio(loop_scope="function")
async def test_reads_of_the_past_leave_connections_for_others(
    repository: Repository, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type()
    entries = [await acme.entry(f"e{n}") for n in range(8)]
    fetch, now, most = repository.recorder.fetch, 0, 0

    async def counted(statement: str, *parameters: Any) -> Any:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        rows = await fetch(statement, *parameters)
        now -= 1
        return rows

    monkeypatch.setattr(repository.recorder, "fetch", counted)
    for scopes, at_once in (([acme.scope], 1), ([acme.scope, Scope("rival", PRODUCTION)], 2)):
        most = 0
        found: Sequence[Any] = await asyncio.gather(
            *(
                histories(repository, scope, [HistoryRequest(entry)])
                for scope in scopes
                for entry in entries
            )
        )
        assert [len(changes) for [changes] in found[:8]] == [1] * 8
        assert most == at_once, "a workspace leaves the other turn to others"


async def test_values_that_are_read_or_shown_are_bounded(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost, "BYTES", 10_000)
    await acme.content_type(BODY)
    for name in ("one", "two", "three"):
        entry = await acme.entry(name, title="t" * 1_000, fields=raws(body="x" * 3_000))
    await server.caught_up()
    one = "query ($id: ID!) { contentEntryById(id: $id) { %s } }"
    pages = "query ($n: Int!) { contentEntries(limit: $n) { data { id } } }"
    changes = "history { fields { %s } }"
    await data(client, one % "fields", id=entry)
    await data(client, pages, n=2)
    await data(client, one % changes % "after", id=entry)
    for document, variables in (
        (one % aliased(2, "fields"), {"id": entry}),
        (one % aliased(7, "title"), {"id": entry}),
        (one % changes % aliased(2, "after"), {"id": entry}),
        (pages, {"n": 3}),
    ):
        answer = await refused(client, document, **variables)
        assert answer[0] == 400
        assert answer[1].startswith(LARGE), document
