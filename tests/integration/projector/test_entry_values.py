"""The keys of entries in ``entry_value``, and how a change of a content type updates them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from projector import background, entry_values
from projector.rebuild.operations import ReadModelMismatch
from tests.integration.live_projector import dump, project_all
from tests.integration.projector.rebuilds import rebuild
from tests.integration.projector.sample_log import SCOPE, STAGES, ContentBuilder, raws, rows
from write_side import commands as c
from write_side.domain.definition import Field, Option
from write_side.domain.keys import INCOMPARABLE, MISSING, list_id, number_key, time_key

PRICE = Field("price", "Price", "number", indexed=True)
PLAIN = Field("price", "Price", "number")
TAGS = Field(
    "tags", "Tags", "select", options=(Option("a", "A"), Option("b", "B")), multiple=True,
    indexed=True,
)  # fmt: skip
BUILT_IN = ["createdAt", "id", "publishedAt", "slug", "stage", "title", "updatedAt"]


async def keys_of(url: str, entry_id: str, *paths: str) -> dict[str, list[bytes]]:
    """The keys of an entry in its lists, by path. All rows of the entry must be in these lists."""
    [entry] = await rows(
        url,
        "SELECT content_type_id::text, status, language, position FROM entry WHERE id = $1::uuid",
        entry_id,
    )
    type_id, status, language, position = entry
    lists = {
        str(list_id(SCOPE, type_id, status, language, path)): path for path in (*BUILT_IN, *paths)
    }
    sql = "SELECT list::text, key FROM entry_value WHERE position = $1 ORDER BY key"
    found: dict[str, list[bytes]] = {}
    for list_, key in await rows(url, sql, position):
        found.setdefault(lists[list_], []).append(key)
    assert found.keys() == set(lists.values())
    return found


async def numbers(url: str) -> list[int]:
    """The number of rows, and the number of rows whose entry exists."""
    sql = (
        "SELECT count(*), count(e.id) FROM entry_value v "
        "LEFT JOIN entry e USING (workspace, environment, position)"
    )
    return list((await rows(url, sql))[0])


async def test_an_entry_has_its_keys(builder: ContentBuilder, database_url: str) -> None:
    await builder.workspace()
    await builder.content_type(PRICE, TAGS, stages=STAGES)
    one = await builder.entry(
        "one", title="Tide", status="published", fields=raws(price=1.5, tags=["b", "a"])
    )
    two = await builder.entry("two", fields=raws(tags=[]))
    await project_all(database_url, database_url)
    found = await keys_of(database_url, one, "fields.price", "fields.tags")
    [(created,)] = await rows(database_url, "SELECT created_at FROM entry WHERE id::text = $1", one)
    assert found == {
        "id": [one.encode()],
        "title": [b"Tide"],
        "slug": [b"one"],
        "stage": [b"writing"],
        "createdAt": [time_key(created)],
        "updatedAt": [time_key(created)],
        "publishedAt": [time_key(created)],
        "fields.price": [number_key(b"1.5")],
        "fields.tags": [b"a", b"b"],
    }
    found = await keys_of(database_url, two, "fields.price", "fields.tags")
    assert (found["fields.price"], found["fields.tags"]) == ([MISSING], [b""])
    assert found["publishedAt"] == [MISSING]


@pytest.mark.parametrize("copy_from", [1, 100])
async def test_changes_of_an_entry(
    copy_from: int, builder: ContentBuilder, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projector.writer.COPY_FROM", copy_from)
    await builder.workspace()
    await builder.content_type(PRICE, TAGS)
    one = await builder.entry("one", fields=raws(price=1, tags=["a", "b"]))
    await project_all(database_url, database_url)
    await builder.update(one, title="New", fields=raws(price=None, tags=["b"]))
    await project_all(database_url, database_url)
    found = await keys_of(database_url, one, "fields.price", "fields.tags")
    assert found["title"] == [b"New"]
    assert (found["fields.price"], found["fields.tags"]) == ([MISSING], [b"b"])
    await builder.update(one, status="published")
    await project_all(database_url, database_url)
    found = await keys_of(database_url, one, "fields.price", "fields.tags")
    assert (found["title"], found["fields.tags"]) == ([b"New"], [b"b"])
    assert found["publishedAt"] == found["updatedAt"] != found["createdAt"]
    await builder.delete(one)
    await project_all(database_url, database_url)
    assert await numbers(database_url) == [0, 0]


async def test_no_value_stops_the_projector(builder: ContentBuilder, database_url: str) -> None:
    text = Field("text", "Text", "text", indexed=True)
    await builder.workspace()
    await builder.content_type(PRICE, text)
    values = [
        raws(text="x" * 10_000),
        {"price": Raw(b"1e-20000")},
        {"price": Raw(b"-" + b"3" * 300 + b"." + b"3" * 3_600)},
    ]
    ids = [await builder.entry(f"e{n}", fields=fields) for n, fields in enumerate(values)]
    await builder.entry("long", title="ü" * 5_000)
    await project_all(database_url, database_url)
    found = [await keys_of(database_url, one, "fields.price", "fields.text") for one in ids]
    assert [keys["fields.text"] for keys in found] == [[INCOMPARABLE], [MISSING], [MISSING]]
    assert [keys["fields.price"] for keys in found] == [[MISSING], [INCOMPARABLE], [INCOMPARABLE]]


class TestIndexing:
    """Paths that a change of a type makes incomplete are filled in the background."""

    @pytest.fixture(autouse=True)
    def _one_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(background, "CHUNK", 1)
        monkeypatch.setattr(entry_values, "AT_ONCE", 2)

    async def test_a_field_becomes_indexed(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.workspace()
        type_id = await builder.content_type(PLAIN)
        ids = [await builder.entry(f"e{n}", fields=raws(price=n)) for n in range(3)]
        await project_all(database_url, database_url)
        await builder.revise_type(PRICE)
        await project_all(database_url, database_url, renderings=2)
        assert await incomplete(database_url) == [(type_id, ["fields.price"])]
        assert await numbers(database_url) == [23, 23]
        new = await builder.entry("new", fields=raws(price=7))
        await builder.update(ids[0], fields=raws(price=8))
        await builder.update(ids[1], status="published")
        await builder.delete(ids[2])
        await project_all(database_url, database_url)
        assert await incomplete(database_url) == []
        for one, price in ((new, b"7"), (ids[0], b"8"), (ids[1], b"1")):
            found = await keys_of(database_url, one, "fields.price")
            assert found["fields.price"] == [number_key(price)]
        assert await numbers(database_url) == [24, 24]

    async def test_rows_of_a_field_that_is_no_longer_indexed_go(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.workspace()
        await builder.content_type(PRICE, TAGS)
        ids = [await builder.entry(f"e{n}", fields=raws(price=n)) for n in range(4)]
        await project_all(database_url, database_url)
        await builder.revise_type(PLAIN)
        await builder.update(ids[0], status="archived")
        await builder.update(ids[1], fields=raws(price=5, tags=["a"]))
        await builder.delete(ids[3])
        await project_all(database_url, database_url)
        for one in ids[:3]:
            await keys_of(database_url, one)
        assert await numbers(database_url) == [21, 21]

    async def test_a_revision_meanwhile_adds_its_paths(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.workspace()
        type_id = await builder.content_type(PLAIN)
        ids = [await builder.entry(f"e{n}", fields=raws(price=n)) for n in range(3)]
        await project_all(database_url, database_url)
        await builder.revise_type(PRICE)
        await project_all(database_url, database_url, renderings=2)
        await builder.revise_type(PRICE, TAGS)
        await project_all(database_url, database_url, renderings=1)
        assert await incomplete(database_url) == [(type_id, ["fields.price", "fields.tags"])]
        await project_all(database_url, database_url)
        for number, one in enumerate(ids):
            found = await keys_of(database_url, one, "fields.price", "fields.tags")
            assert found["fields.price"] == [number_key(b"%d" % number)]
            assert found["fields.tags"] == [MISSING]
        assert await numbers(database_url) == [27, 27]

    async def test_stages_are_filled_again(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.workspace()
        await builder.content_type(PRICE, stages=STAGES)
        one = await builder.entry("one")
        await project_all(database_url, database_url)
        assert (await keys_of(database_url, one, "fields.price"))["stage"] == [b"writing"]
        for stages, stage in ((STAGES[1:], b"review"), ((), MISSING)):
            await builder.revise_type(PRICE, stages=stages)
            await project_all(database_url, database_url)
            assert (await keys_of(database_url, one, "fields.price"))["stage"] == [stage]

    async def test_a_type_without_entries_is_complete_at_once(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.workspace()
        await builder.content_type(PLAIN)
        await project_all(database_url, database_url)
        await builder.revise_type(PRICE)
        await project_all(database_url, database_url, renderings=0)
        assert await incomplete(database_url) == []

    async def test_a_removed_type_has_nothing_to_fill(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.workspace()
        await builder.content_type(PLAIN)
        one = await builder.entry("one")
        two = await builder.entry("two")
        await project_all(database_url, database_url)
        await builder.revise_type(PRICE)
        await project_all(database_url, database_url, renderings=1)
        await builder.delete(one)
        await builder.delete(two)
        await builder.execute(c.RemoveContentType, scope=SCOPE, slug="posts")
        await project_all(database_url, database_url, renderings=0)
        assert await incomplete(database_url) == []

    @pytest.mark.slow
    async def test_incomplete_paths_are_no_difference_and_other_rows_are(
        self, builder: ContentBuilder, database_url: str
    ) -> None:
        await builder.workspace()
        await builder.content_type(PLAIN, TAGS)
        for n in range(3):
            await builder.entry(f"e{n}", fields=raws(price=n))
        await project_all(database_url, database_url)
        await builder.revise_type(PRICE, TAGS)
        await project_all(database_url, database_url, renderings=1)
        assert (await rebuild(database_url)).differences == []
        complete = await dump(database_url)
        assert complete["indexing"] == []
        await rows(database_url, "DELETE FROM entry_value WHERE key = 'e1'::bytea")
        with pytest.raises(ReadModelMismatch) as refused:
            await rebuild(database_url)
        assert [one.relation for one in refused.value.differences] == ["entry_value"]


async def incomplete(url: str) -> list[tuple[Any, ...]]:
    return await rows(url, "SELECT content_type_id::text, paths FROM indexing")
