"""Reads over GraphQL: the lists of REST with any filter, in a limited number of statements."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from typing import Any

import pytest

from read_side import entries
from tests.integration.api.graphql import counting, create, data, refused, run_query, update
from tests.integration.api.server import Client, Server
from tests.integration.projector.sample_log import BODY, STAGES, ContentBuilder, raws
from tests.store_clock import Clock, follow_clock
from write_side.domain.definition import Field, Option
from write_side.domain.events import Translation

pytestmark = pytest.mark.asyncio(loop_scope="module")

RELATED = Field("related", "Related", "reference", multiple=True)
LEAD = Field("lead", "Lead", "reference")
LIST = """
query ($type: String, $status: EntryStatus, $language: String, $limit: Int, $offset: Int) {
  contentEntries(
    type: $type, status: $status, language: $language, limit: $limit, offset: $offset
  ) { data { slug } pagination { limit offset total } }
}"""
NESTED = """query ($limit: Int) {
  contentEntries(type: "posts", limit: $limit) {
    pagination { total }
    data {
      title contentType { name }
      references(field: "related") {
        title references(field: "related") { title contentType { name } }
      }
    }
  }
}"""


async def test_long_lists_are_completed_in_slices(
    client: Client, acme: ContentBuilder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type(RELATED)
    first = await acme.entry("first")
    await acme.entry("second", fields=raws(related=[first]))
    await server.caught_up()
    sliced: list[int] = []

    async def recorded(items: Iterable[Any]) -> AsyncIterator[Any]:
        found = list(items)
        sliced.append(len(found))
        for item in found:
            yield item

    for module in ("query", "content_entry", "types"):
        monkeypatch.setattr(f"api.graphql.{module}.in_slices", recorded)
    document = """{
      contentEntries(limit: 2) {
        data { slug }
        again: data { references(field: "related") { slug } }
      }
      contentEntry(type: "posts", slug: "first") { history { fields { field } } }
      contentTypes { fields { slug } }
    }"""
    found = await data(client, document)
    page = found["contentEntries"]
    assert page["data"] == [{"slug": "second"}, {"slug": "first"}]
    assert page["again"] == [{"references": [{"slug": "first"}]}, {"references": []}]
    assert found["contentTypes"] == [{"fields": [{"slug": "related"}]}]
    [change] = found["contentEntry"]["history"]
    # The two pages, the references of two entries, the history, the types and their fields.
    assert sorted(sliced) == sorted([2, 2, 1, 0, 1, len(change["fields"]), 1, 1])


async def test_limit_and_offset_are_clamped(client: Client) -> None:
    for limit, effective in (
        ({}, (10, 0)),
        ({"limit": None, "offset": None}, (10, 0)),
        ({"limit": 0, "offset": -3}, (1, 0)),
        ({"limit": 1000}, (100, 0)),
        ({"limit": -1, "offset": 2**31 - 1}, (1, 2**31 - 1)),
    ):
        pagination = (await data(client, LIST, **limit))["contentEntries"]["pagination"]
        assert (pagination["limit"], pagination["offset"]) == effective


async def test_every_query_returns_the_same_entry_as_rest(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    await acme.content_type(BODY, Field("lead", "Lead", "text"), stages=STAGES)
    french = {"fr-FR": Translation("Bonjour", raws(lead="F"))}
    values = raws(body="B", lead="L")
    entry = await acme.entry("hello", translations=french, fields=values, status="published")
    await server.caught_up()
    shown = """
      id title slug status stage { id name } language locale publishedAt createdAt updatedAt fields
    """
    for revised in (False, True):
        if revised:  # rendered again when it is read
            await acme.revise_type(BODY, Field("lead", "Lead", "text"), Field("new", "New", "text"))
            await server.caught_up()
        for locale in ("en-US", "fr-FR", "de-DE"):
            query = f"""query ($id: ID!) {{
              a: contentEntry(type: "posts", slug: "hello", locale: "{locale}") {{ {shown} }}
              b: contentEntryById(id: $id, locale: "{locale}") {{ {shown} }}
              c: contentEntries(locale: "{locale}") {{ data {{ {shown} }} }}
            }}"""
            found = await data(client, query, id=entry)
            rest = (await client.get(f"/v1/content/posts/hello?locale={locale}")).data
            rest.pop("contentType")
            assert found == {"a": rest, "b": rest, "c": {"data": [rest]}}


async def test_content_types_are_those_of_rest(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    category = Field(
        "category", "Category", "select", options=(Option("news", "News"), Option("b", "B"))
    )
    fields = (Field("intro", "Intro", "section"), BODY, category, RELATED)
    await acme.content_type(*fields, stages=STAGES)
    await acme.content_type(slug="authors")
    await server.caught_up()
    shown = (
        """id name slug stages { id name } fields { slug name type required multiple options to }"""
    )
    query = f'{{ contentTypes {{ {shown} }} contentType(slug: "posts") {{ {shown} }} }}'
    found = await data(client, query)
    rest = (await client.get("/v1/content-types")).data
    for one, other in zip(found["contentTypes"], rest, strict=True):
        assert (one["id"], one["name"], one["slug"]) == (other["id"], other["name"], other["slug"])
        assert one["stages"] == (other["workflow"] or {"stages": []})["stages"]
        for field, of_rest in zip(one["fields"], other["fields"], strict=True):
            options = [option["value"] for option in of_rest["options"]]
            assert field == {name: of_rest[name] for name in field} | {"options": options}
    assert found["contentType"] == found["contentTypes"][1]


@pytest.mark.parametrize("change", [{"status": "draft"}, {"slug": "renamed"}])
async def test_an_entry_that_changes_after_its_id_was_found_is_not_returned(
    server: Server,
    client: Client,
    acme: ContentBuilder,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
) -> None:
    await acme.content_type(BODY)
    entry = await acme.entry("one", status="published")
    await acme.entry("other", status="published")
    await server.caught_up()
    by_ids = entries.entries_by_id

    async def after_the_change(*where: Any, **wanted: Any) -> list[entries.EntryRow]:
        await acme.update(entry, **change, fields=raws(body="secret"))
        await server.caught_up()
        return await by_ids(*where, **wanted)

    monkeypatch.setattr(entries, "entries_by_id", after_the_change)
    if "status" in change:
        page = await data(client, "{ contentEntries(status: published) { data { slug fields } } }")
        assert [one["slug"] for one in page["contentEntries"]["data"]] == ["other"]
    else:
        query = '{ contentEntry(type: "posts", slug: "one") { fields } }'
        assert await data(client, query) == {"contentEntry": None}


async def test_references_keep_their_order_and_locale_and_omit_deleted_entries(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    await acme.content_type(BODY, RELATED, LEAD)
    ids = [
        await acme.entry(f"e{n}", translations={"fr-FR": Translation(f"F{n}")}) for n in range(3)
    ]
    fields = raws(related=[ids[2], ids[0], ids[1], ids[2]], lead=ids[1])
    holder = await acme.entry("holder", fields=fields)
    await acme.delete(ids[0])
    await server.caught_up()
    query = """query ($id: ID!, $field: String!) {
      contentEntryById(id: $id, locale: "fr-FR") { references(field: $field) { title locale } }
    }"""
    for field, titles in (("related", ["F2", "F1", "F2"]), ("lead", ["F1"])):
        found = (await data(client, query, id=holder, field=field))["contentEntryById"]
        assert found["references"] == [{"title": title, "locale": "fr-FR"} for title in titles]
    for field in ("body", "nothing"):
        status, message = await refused(client, query, id=holder, field=field)
        assert (status, message) == (
            400,
            f"'{field}' is not a reference field of any content type; "
            "expected one of: related, lead",
        )


async def test_references_in_a_list_of_several_types_are_empty_where_the_type_lacks_the_field(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    async def references(at: str | None) -> dict[str, list[dict[str, str]]]:
        query = """query ($at: DateTime) {
          contentEntries(asOf: $at) { data { slug references(field: "lead") { slug } } }
        }"""
        await server.caught_up()
        page = (await data(client, query, at=at))["contentEntries"]
        return {one["slug"]: one["references"] for one in page["data"]}

    await acme.content_type(LEAD)
    await acme.content_type(BODY, slug="notes")
    first = await acme.entry("first")
    await acme.entry("second", fields=raws(lead=first))
    last = await acme.entry("third", type_slug="notes")
    expected = {"first": [], "second": [{"slug": "first"}], "third": []}
    assert await references(None) == expected
    # No type has the field now, but one had it then.
    then = (await acme.repository.entry(acme.scope, last)).created_at.isoformat()
    await acme.revise_type(BODY)
    assert await references(then) == expected


@pytest.mark.slow
async def test_a_page_of_100_with_references_of_references_costs_a_bounded_number_of_statements(
    server: Server, client: Client, acme: ContentBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type(BODY, RELATED, stages=STAGES)
    ids: list[str] = []
    for n in range(100):
        ids.append(await acme.entry(f"e{n}", fields=raws(related=ids[-5:])))
    await server.caught_up()
    await data(client, NESTED, limit=1)
    counts = {}
    for limit in (1, 10, 100):
        with counting(monkeypatch) as statements:
            page = (await data(client, NESTED, limit=limit))["contentEntries"]
        assert len(page["data"]) == limit
        counts[limit] = len(statements)
    # Page ids, page entries, their references, the references of those, and the type.
    assert max(counts.values()) <= 5
    with_history = NESTED.replace("title contentType { name }", "history(limit: 5) { action }", 1)
    with counting(monkeypatch) as statements:
        await data(client, with_history, limit=50)
    assert len(statements) <= 7


async def test_the_past_is_shown_as_it_was(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await follow_clock(server.url)
    await acme.content_type(BODY)
    entry = (await create(client, contentTypeSlug="posts", title="One", fields={"body": "1"}))[
        "entry"
    ]
    Clock.time += timedelta(seconds=1)
    await update(client, entry["id"], title="Two", slug="two")
    await acme.revise_type(BODY, Field("new", "New", "text"))
    query = """query ($at: DateTime!, $slug: String = "one") {
      contentEntry(type: "posts", slug: $slug, asOf: $at) {
        title slug version fields contentType { fields { slug } } history { version }
      }
    }"""
    assert (await data(client, query, at=entry["createdAt"]))["contentEntry"] == {
        "title": "One",
        "slug": "one",
        "version": 1,
        "fields": {"body": "1"},
        "contentType": {"fields": [{"slug": "body"}]},
        "history": [{"version": 1}],
    }
    for unused in ("two", "nothing ever had this"):
        assert await data(client, query, at=entry["createdAt"], slug=unused) == {
            "contentEntry": None
        }
    assert await refused(client, query, at="2026-01-01") == (404, "Content type not found")
    for wrong in ("yesterday", "9999-01-01T00:00:00Z", 7):
        answer = await run_query(client, query, at=wrong)
        assert answer.body["errors"][0]["extensions"]["status"] == 400


async def test_environments_and_workspaces_are_isolated(
    server: Server, client: Client, acme: ContentBuilder
) -> None:
    other = await server.workspace("other")
    staging = await acme.staging()
    ids = {}
    for builder in (acme, other, staging):
        await builder.content_type(BODY, RELATED)
        ids[builder.scope] = await builder.entry("hello")
    await server.caught_up()
    query = "query ($id: ID!) { contentEntryById(id: $id) { id } contentEntries { data { id } } }"
    clients = {
        acme.scope: (client, "production"),
        staging.scope: (client, "staging"),
        other.scope: (server.client("secret-of-other"), "production"),
    }
    for scope, (caller, environment) in clients.items():
        path = f"/graphql?environment={environment}"
        for of, entry in ids.items():
            found = await data(caller, query, path=path, id=entry)
            assert found["contentEntryById"] == ({"id": entry} if of == scope else None)
            assert found["contentEntries"]["data"] == [{"id": ids[scope]}]
