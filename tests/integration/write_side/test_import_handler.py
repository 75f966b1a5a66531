"""An import appends all of its rows or none, and once for each import id (behaviour.md §4.6)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integration.projector.sample_log import raws
from tests.integration.write_side.append_locks import holding
from tests.integration.write_side.handler_fixtures import (
    OTHER,
    POSTS,
    SCOPE,
    STAGE,
    HandlerContext,
    magazine,
)
from tests.integration.write_side.sample_commands import ACTOR
from write_side import commands as c
from write_side.dispatch import CommandResult, execute
from write_side.domain.events import EntryCreated, ImportRecorded, Plan
from write_side.domain.identity import Actor, Scope, derived_id, new_id
from write_side.domain.refusals import (
    EntryIdTaken,
    ImportIdTaken,
    InvalidEntry,
    InvalidField,
    InvalidText,
    MissingFields,
    PlanLimitReached,
    SlugTaken,
    UnknownContentType,
    UnknownReference,
)
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

BY = Actor("import", "spring", "ann")


@pytest.fixture
async def context(repository: Repository) -> HandlerContext:
    return await magazine(repository)


def row(slug: str, scope: Scope = SCOPE, **properties: Any) -> c.CreateEntry:
    made = {"content_type_slug": "posts", "title": slug, "slug": slug, **properties}
    return c.CreateEntry(actor=BY, scope=scope, **made)


def spring(*rows: c.CreateEntry, scope: Scope = SCOPE, **properties: Any) -> c.ImportEntries:
    made = {
        "content_type_slug": "posts",
        "import_id": "spring",
        "file_name": "spring.csv",
        **properties,
    }
    return c.ImportEntries(actor=BY, request_id="r", scope=scope, entries=rows, **made)


async def run(context: HandlerContext, *rows: c.CreateEntry, **properties: Any) -> CommandResult:
    return await execute(spring(*rows, **properties), context.repository)


def slugs(executed: CommandResult) -> list[str]:
    return [each.event.slug for each in executed.events if isinstance(each.event, EntryCreated)]


async def test_an_import_is_recorded_with_all_its_rows(context: HandlerContext) -> None:
    before = await context.head()
    executed = await run(context, row("a"), row("b", status="archived"), skipped=3)
    recorded = executed.events[0].event
    assert isinstance(recorded, ImportRecorded)
    assert (recorded.import_id, recorded.file_name) == ("spring", "spring.csv")
    assert (recorded.created, recorded.updated, recorded.skipped) == (2, 0, 3)
    assert (recorded.actor, recorded.request_id) == (BY, "r")
    assert slugs(executed) == ["a", "b"]
    assert executed.position == before + 3 == await context.head()
    assert await context.used(SCOPE, "entries") == 2


@pytest.mark.parametrize("key", ["the same", "another"])
async def test_the_same_import_id_has_no_effect_the_second_time(
    context: HandlerContext, key: str
) -> None:
    first = await run(context, row("a"), row("b"), command_key="the same")
    async with context.assert_appended():
        again = await run(context, row("a"), row("b"), command_key=key)
    assert again.replayed
    assert (again.events, again.position) == (first.events, first.position)
    assert again.content_type is not None


async def test_the_second_time_the_rows_do_not_matter(context: HandlerContext) -> None:
    first = await run(context, row("a"), row("b"))
    await context.entry("later")
    for rows in ((), (row("c"),), (row("later"), row("x", fields=raws(body=1)))):
        async with context.assert_appended():
            assert (await run(context, *rows)).events == first.events


async def test_an_import_remains_imported_after_its_entries_are_deleted(
    context: HandlerContext,
) -> None:
    first = await run(context, row("a"))
    gone = first.events[1].event
    assert isinstance(gone, EntryCreated)
    await context.execute(c.DeleteEntry, scope=SCOPE, entry_id=gone.entry_id)
    async with context.assert_appended():
        assert (await run(context, row("a"))).events == first.events


async def test_an_import_sent_twice_at_once_takes_effect_once(
    context: HandlerContext, database_url: str
) -> None:
    rows = [row(f"p{n}", entry_id=derived_id("import", "spring", str(n))) for n in range(3)]
    before = await context.head()
    async with open_recorder(database_url) as another, holding(database_url) as hold:
        stores = [context.repository, Repository(another, EventMapper())]
        sent = [asyncio.create_task(execute(spring(*rows), store)) for store in stores]
        await hold.until_blocked(2)
        await hold.release()
        first, second = await asyncio.gather(*sent)
    assert await context.head() == before + 4
    assert (first.events, first.position) == (second.events, second.position)
    assert sorted([first.replayed, second.replayed]) == [False, True]


async def test_two_simultaneous_imports_of_one_id_return_the_same_result(
    context: HandlerContext, database_url: str
) -> None:
    async with open_recorder(database_url) as another, holding(database_url) as hold:
        store = Repository(another, EventMapper())
        early = asyncio.create_task(run(context, row("a"), row("b")))
        await hold.until_blocked(1)
        late = asyncio.create_task(execute(spring(row("c")), store))
        await hold.until_blocked(2)
        await hold.release()
        first, second = await asyncio.gather(early, late)
    assert slugs(first) == slugs(second) == ["a", "b"]


async def test_an_import_id_of_another_scope_is_refused_even_simultaneously(
    context: HandlerContext, database_url: str
) -> None:
    async with open_recorder(database_url) as another, holding(database_url) as hold:
        early = asyncio.create_task(run(context, row("a")))
        await hold.until_blocked(1)
        elsewhere = spring(row("c", content_type_slug="authors"), content_type_slug="authors")
        late = asyncio.create_task(execute(elsewhere, Repository(another, EventMapper())))
        await hold.until_blocked(2)
        await hold.release()
        assert slugs(await early) == ["a"]
        with pytest.raises(ImportIdTaken):
            await late


async def test_an_import_id_of_another_scope_is_refused_without_details(
    context: HandlerContext,
) -> None:
    await context.workspace("rival")
    await context.content_type("posts", POSTS, OTHER)
    await run(context, row("a"))
    async with context.assert_refused(
        ImportIdTaken, "The import id 'spring' was used for a different import"
    ):
        await run(context, row("a", OTHER), scope=OTHER)
    async with context.assert_refused(ImportIdTaken, "choose another id"):
        await run(context, row("a", content_type_slug="authors"), content_type_slug="authors")


async def test_another_import_id_is_another_import(context: HandlerContext) -> None:
    await run(context, row("a"))
    async with context.assert_appended(ImportRecorded, EntryCreated):
        await run(context, row("b"), import_id="summer")
    async with context.assert_refused(SlugTaken, "slug 'b'"):
        await run(context, row("c"), row("b"), import_id="autumn")


async def test_rows_refer_to_one_another_in_any_order_and_in_cycles(
    context: HandlerContext,
) -> None:
    ids = [derived_id("import", "spring", slug) for slug in "abc"]
    rows = [
        row(slug, entry_id=ids[n], fields=raws(related=[ids[n - 1], ids[n]]))
        for n, slug in enumerate("abc")
    ]
    assert slugs(await run(context, *rows)) == ["a", "b", "c"]


async def test_a_row_refers_to_a_row_only_where_its_type_is_allowed(
    context: HandlerContext,
) -> None:
    entry_id = new_id()
    async with context.assert_refused(
        UnknownReference, "an entry of type posts, but takes authors"
    ):
        await run(context, row("a", entry_id=entry_id), row("b", fields=raws(author=entry_id)))


async def test_one_invalid_row_refuses_all(context: HandlerContext) -> None:
    taken = await context.entry("taken")
    cases: list[tuple[c.CreateEntry, type[Any], str]] = [
        (row("b", fields=raws(body=1)), InvalidField, "Field 'body' takes a string"),
        (row("b", fields=raws(author=new_id())), UnknownReference, "which is not in"),
        (row("b", fields=raws(cover="none")), UnknownReference, "not in the media library"),
        (row("b", status="published"), MissingFields, "body"),
        (row("b", language="english"), InvalidEntry, "Unsupported language"),
        (row("taken"), SlugTaken, "slug 'taken'"),
        (row("a"), SlugTaken, "slug 'a'"),
        (row("b", entry_id=taken), EntryIdTaken, taken),
    ]
    for bad, refusal, text in cases:
        async with context.assert_refused(refusal, text):
            await run(context, row("a"), bad)
    assert await context.used(SCOPE, "entries") == 1
    assert len((await run(context, row("a"), row("b"))).events) == 3


async def test_the_same_slug_in_two_languages_is_no_repetition(context: HandlerContext) -> None:
    assert slugs(await run(context, row("a"), row("a", language="fr-FR"))) == ["a", "a"]


async def test_an_id_given_twice_is_refused(context: HandlerContext) -> None:
    entry_id = new_id()
    async with context.assert_refused(EntryIdTaken, entry_id):
        await run(context, row("a", entry_id=entry_id), row("b", entry_id=entry_id))


async def test_the_plan_limits_an_import_as_a_whole(context: HandlerContext) -> None:
    await context.execute(c.ChangePlan, workspace="acme", plan=Plan(entries=2))
    async with context.assert_refused(
        PlanLimitReached, "Your plan's limit of 2 entries is reached"
    ):
        await run(context, row("a"), row("b"), row("c"))
    await run(context, row("a"), row("b"))
    assert await context.used(SCOPE, "entries") == 2


@pytest.mark.parametrize(
    ("properties", "refusal", "text"),
    [
        ({"import_id": ""}, InvalidEntry, "An import id has 1 to 200 characters"),
        ({"import_id": "x" * 201}, InvalidEntry, "An import id has 1 to 200 characters"),
        ({"import_id": "\x00"}, InvalidText, "The import id contains a NUL"),
        ({"file_name": "a\udcff.csv"}, InvalidText, "The name of the file contains half"),
        ({"content_type_slug": "none"}, UnknownContentType, "Content type not found"),
        ({"scope": STAGE}, UnknownContentType, "Content type not found"),
    ],
)
async def test_an_invalid_import_is_refused(
    context: HandlerContext, properties: dict[str, Any], refusal: type[Any], text: str
) -> None:
    async with context.assert_refused(refusal, text):
        await run(context, **properties)


async def test_2000_rows_with_references_take_two_queries_and_well_under_a_second(
    context: HandlerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    author = await context.entry("ann", "authors")
    await context.repository.content_type(SCOPE, "posts")
    names: list[str] = []
    fetch = context.repository.recorder.fetch

    async def counted(statement: str, *parameters: Any) -> Any:
        names.append(statement)
        return await fetch(statement, *parameters)

    monkeypatch.setattr(context.repository.recorder, "fetch", counted)
    ids = [derived_id("import", "spring", str(n)) for n in range(2000)]
    rows = [
        row(f"p{n}", entry_id=ids[n], fields=raws(body="b", author=author, related=[ids[-n]]))
        for n in range(2000)
    ]
    executed = await run(context, *rows)
    assert len(executed.events) == 2001
    assert len(names) == 2  # the import id, and all targets


async def test_every_row_has_the_imports_actor(context: HandlerContext) -> None:
    executed = await run(context, row("a"))
    assert [each.event.actor for each in executed.events] == [BY, BY]
    assert BY != ACTOR
