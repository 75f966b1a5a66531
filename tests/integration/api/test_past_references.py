"""``references`` of an entry that is read with ``asOf``: as of the same time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from api.graphql import cost
from tests.integration.api.graphql import counting, data, refused
from tests.integration.api.server import Client, Server
from tests.integration.api.test_point_in_time import clock, tick
from tests.integration.projector.sample_log import BODY, LEAD, ContentBuilder, raws
from tests.store_clock import Clock
from write_side.domain.definition import Field
from write_side.domain.events import Translation

AUTHOR = Field("author", "Author", "reference")
RELATED = Field("related", "Related", "reference", multiple=True)
SINGLE = """query ($at: DateTime!, $locale: String, $field: String = "author") {
  contentEntry(type: "posts", slug: "holder", locale: $locale, asOf: $at) {
    references(field: $field) { title status }
  }
}"""
NESTED = """query ($at: DateTime!, $limit: Int = 10) {
  contentEntries(type: "posts", status: published, limit: $limit, asOf: $at) { data {
    slug
    references(field: "related") {
      title version history { version } contentType { fields { slug } }
      references(field: "author") { title status }
    }
  } }
}"""
__all__ = ["clock"]


async def authors(client: Client, at: datetime, **more: Any) -> list[tuple[str, str]]:
    """The title and status of each entry that the holder refers to."""
    found = await data(client, SINGLE, at=at.isoformat(), **more)
    return [(one["title"], one["status"]) for one in found["contentEntry"]["references"]]


async def test_references_are_as_they_were_at_the_time_of_the_entry(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type(BODY, AUTHOR, RELATED)
    texts = {"fr-FR": Translation("Anne, alors")}
    anna = await acme.entry("anna", title="Anna", translations=texts)
    gone = await acme.entry("gone", title="Gone")
    await acme.entry("holder", fields=raws(author=anna, related=[gone, anna, gone]))
    drafted = tick()
    await acme.update(anna, title="Anna Two", status="published")
    await acme.delete(gone)
    published = tick()
    await acme.update(anna, title="Anna Three", status="archived")
    await server.caught_up()
    assert await authors(client, drafted) == [("Anna", "draft")]
    assert await authors(client, published) == [("Anna Two", "published")]
    assert await authors(client, Clock.time) == [("Anna Three", "archived")]
    assert await authors(client, drafted, locale="fr-FR") == [("Anne, alors", "draft")]
    both = [("Gone", "draft"), ("Anna", "draft"), ("Gone", "draft")]
    assert await authors(client, drafted, field="related") == both
    assert await authors(client, published, field="related") == [("Anna Two", "published")]


async def test_several_times_in_one_request(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type(BODY, AUTHOR)
    anna = await acme.entry("anna", title="Anna")
    holder = await acme.entry("holder", fields=raws(author=anna))
    first = tick()
    await acme.update(anna, title="Anna Two")
    second = tick()
    await acme.update(anna, title="Anna Three")
    await server.caught_up()
    then = """contentEntry(type: "posts", slug: "holder", asOf: "%s") {
      references(field: "author") { title }
    }"""
    now = f'c: contentEntryById(id: "{holder}") {{ references(field: "author") {{ title }} }}'
    parts = [f"a: {then % first.isoformat()}", f"b: {then % second.isoformat()}", now]
    found = await data(client, f"{{ {' '.join(parts)} }}")
    titles = {name: one["references"][0]["title"] for name, one in found.items()}
    assert titles == {"a": "Anna", "b": "Anna Two", "c": "Anna Three"}


async def test_references_of_references_are_of_the_same_time(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await acme.content_type(BODY, AUTHOR, RELATED)
    anna = await acme.entry("anna", title="Anna")
    middle = await acme.entry("middle", title="Middle", fields=raws(author=anna))
    await acme.entry("holder", status="published", fields=raws(related=[middle]))
    then = tick()
    await acme.update(anna, title="Changed")
    await acme.update(middle, title="Changed", fields=raws(author=None))
    await acme.revise_type(BODY, AUTHOR, RELATED, LEAD)
    await server.caught_up()
    [holder] = (await data(client, NESTED, at=then.isoformat()))["contentEntries"]["data"]
    expected = {
        "title": "Middle",
        "version": 1,
        "history": [{"version": 1}],
        "contentType": {"fields": [{"slug": one} for one in ("body", "author", "related")]},
        "references": [{"title": "Anna", "status": "draft"}],
    }
    assert holder == {"slug": "holder", "references": [expected]}


async def test_a_key_for_published_entries_reads_references_published_then(
    client: Client, acme: ContentBuilder, server: Server
) -> None:
    await server.key("reader", "acme", ("content.published",))
    reader = server.client("reader")
    await acme.content_type(BODY, AUTHOR)
    anna = await acme.entry("anna", title="Anna")
    await acme.entry("holder", status="published", fields=raws(author=anna))
    drafted = tick()
    await acme.update(anna, status="published")
    published = tick()
    await acme.update(anna, status="archived")
    await server.caught_up()
    assert await authors(reader, drafted) == []
    assert await authors(reader, published) == [("Anna", "published")]
    assert await authors(reader, Clock.time) == []
    assert await authors(client, drafted) == [("Anna", "draft")]


async def test_a_page_reads_all_its_references_at_once(
    client: Client, acme: ContentBuilder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await acme.content_type(BODY, AUTHOR, RELATED)
    ids: list[str] = []
    for n in range(20):
        author = raws(author=ids[-1]) if ids else {}
        fields = author | raws(related=ids[-3:])
        ids.append(await acme.entry(f"e{n}", status="published", fields=fields))
    then = tick()
    await server.caught_up()
    query = NESTED.replace("history { version }", "")
    counts = {}
    for limit in (2, 20):
        await data(client, query, at=then.isoformat(), limit=limit)
        with counting(monkeypatch) as statements:
            page = await data(client, query, at=then.isoformat(), limit=limit)
        assert len(page["contentEntries"]["data"]) == limit
        counts[limit] = len(statements)
    # Statements: position, page, its types and entries, types and entries of two levels.
    assert max(counts.values()) <= 8


async def test_references_of_the_past_are_charged(
    client: Client, acme: ContentBuilder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each referenced entry is charged once, and the number of changes read is limited."""
    await acme.content_type(BODY, RELATED)
    ids = [await acme.entry(f"e{n}") for n in range(3)]
    await acme.entry("holder", fields=raws(related=[*ids, *ids]))
    then = tick()
    await server.caught_up()
    variables = {"at": then.isoformat(), "field": "related"}
    monkeypatch.setattr(cost, "COST", cost.AS_OF + 2 * cost.FOLDED + 100)
    status, message = await refused(client, SINGLE, **variables)
    assert (status, message[:16]) == (400, "The query costs ")
    monkeypatch.setattr(cost, "COST", cost.AS_OF + 3 * cost.FOLDED + 100)
    assert len(await authors(client, then, field="related")) == 6
    monkeypatch.setattr(cost, "EVENTS", 3)
    status, message = await refused(client, SINGLE, **variables)
    assert (status, message[:32]) == (400, "The query reads more than 3 chan")
