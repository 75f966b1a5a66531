"""Commands on entries against the real store. A refused command appends nothing."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from tests.integration.projector.sample_log import raws
from tests.integration.write_side.handler_fixtures import (
    AUTHORS,
    OTHER,
    SCOPE,
    STAGE,
    HandlerContext,
    magazine,
)
from write_side import commands as c
from write_side.domain.definition import Field, Option
from write_side.domain.events import EntryCreated, EntryDeleted, EntryUpdated, Plan, Translation
from write_side.domain.identity import new_id
from write_side.domain.refusals import (
    InvalidField,
    SlugTaken,
    UnknownContentType,
    UnknownEntry,
    UnknownReference,
)
from write_side.fair_queue import WAITING
from write_side.repository import Repository
from write_side.waiting import PARTS


@pytest.fixture
async def context(repository: Repository) -> HandlerContext:
    return await magazine(repository, Plan(staging=True))


async def test_a_create_is_in_the_log_with_actor_time_and_request(context: HandlerContext) -> None:
    executed = await context.execute(
        c.CreateEntry, scope=SCOPE, content_type_slug="posts", title="Hello", request_id="abc"
    )
    event = executed.events[0].event
    assert isinstance(event, EntryCreated)
    assert (event.slug, event.status, event.stage_id) == ("hello", "draft", "writing")
    assert (event.workspace, event.environment) == ("acme", "production")
    assert (event.actor, event.request_id) == (executed.events[0].event.actor, "abc")
    assert event.at.microsecond % 1000 == 0
    assert executed.position == await context.head()
    assert executed.content_type is not None
    assert executed.content_type.slug == "posts"
    assert await context.stream(f"entry/{event.entry_id}") == [event]
    assert await context.used(SCOPE, "entries") == 1


async def test_a_create_of_an_unknown_type_is_refused(context: HandlerContext) -> None:
    for slug in ("nothing", "Posts", "a\x00", "\ud800", "", "x" * 10_000):
        async with context.assert_refused(UnknownContentType, "Content type not found"):
            await context.entry("a", slug)
    async with context.assert_refused(UnknownContentType, "Content type not found"):
        await context.entry("a", scope=STAGE)
    async with context.assert_refused(UnknownContentType, "Content type not found"):
        await context.entry("a", scope=OTHER)


async def test_the_longest_slug_is_unique(context: HandlerContext) -> None:
    await context.entry("🙂" * 500)
    async with context.assert_refused(SlugTaken, "🙂🙂🙂"):
        await context.entry("🙂" * 500)
    await context.entry("🙂" * 499)


async def test_a_reference_must_be_to_an_entry_of_an_allowed_type(context: HandlerContext) -> None:
    author, post = await context.entry("ann", "authors"), await context.entry("first")
    async with context.assert_appended(EntryCreated):
        await context.entry("a", fields=raws(author=author, related=[post, post]))
    for fields, text in (
        (raws(author=post), "an entry of type posts, but takes authors"),
        (raws(related=[post, author]), "an entry of type authors, but takes posts"),
        (raws(author=new_id()), "which is not in this environment"),
        (raws(author=author.upper()), "which is not in this environment"),
        (raws(author="ann"), "which is not in this environment"),
    ):
        async with context.assert_refused(UnknownReference, text):
            await context.entry("b", fields=fields)


async def test_a_reference_to_another_environment_is_refused(context: HandlerContext) -> None:
    await context.execute(c.AddEnvironment, scope=STAGE)
    await context.content_type("authors", AUTHORS, STAGE)
    target = await context.entry("ann", "authors", STAGE)
    async with context.assert_refused(UnknownReference, "which is not in this environment"):
        await context.entry("a", fields=raws(author=target))


async def test_a_media_id_must_be_of_a_file_in_the_library(context: HandlerContext) -> None:
    file = {"url": "https://example.com/a.png", "name": "a.png", "content_type": "image/png"}
    await context.execute(c.PutMedia, workspace="acme", media_id="hero", **file)
    await context.workspace("rival")
    await context.execute(c.PutMedia, workspace="rival", media_id="theirs", **file)
    post = await context.entry("a", fields=raws(cover="hero"))
    await context.execute(c.RemoveMedia, workspace="acme", media_id="hero")
    for media in ("hero", "theirs", "none", ""):
        async with context.assert_refused(UnknownReference, "which is not in the media library"):
            await context.entry("b", fields=raws(cover=media))
    async with context.assert_appended(EntryUpdated):
        await context.update(post, fields=raws(cover="hero", body="b"))


async def test_an_invalid_value_is_accepted_if_the_entry_or_the_restored_version_has_it(
    context: HandlerContext,
) -> None:
    news, essay = Option("news", "News"), Option("essay", "Essay")
    kind = Field("kind", "Kind", "select", options=(news, essay))
    kinds = Field("kinds", "Kinds", "select", multiple=True, options=(news, essay))
    notes = Field("notes", "Notes", "repeater", fields=(kind,))
    await context.content_type("pages", (kind, kinds, notes))
    values = {"kind": "essay", "kinds": ["news", "essay"], "notes": [{"kind": "essay"}]}
    page = await context.entry("a", "pages", fields=raws(**values))
    kind, kinds = (replace(field, options=(news,)) for field in (kind, kinds))
    revised = (kind, kinds, replace(notes, fields=(kind,)))
    await context.execute(
        c.ReviseContentType, scope=SCOPE, slug="pages", name="Pages", fields=revised
    )
    async with context.assert_appended(EntryUpdated):
        await context.update(page, title="b", fields=raws(**values))
    for changed in ({"kinds": ["essay"]}, {"notes": [{"kind": "essay"}, {}]}):
        async with context.assert_refused(InvalidField, "takes"):
            await context.update(page, fields=raws(**changed))
    await context.update(page, fields=raws(kind="news"))
    async with context.assert_refused(InvalidField, "takes one of: news"):
        await context.update(page, fields=raws(kind="essay"))
    async with context.assert_appended(EntryUpdated):
        await context.update(page, fields=raws(kind="essay"), restored=raws(**values))


async def test_an_existing_entry_may_refer_to_itself(context: HandlerContext) -> None:
    post = await context.entry("a")
    async with context.assert_appended(EntryUpdated):
        await context.update(post, fields=raws(related=[post]))


async def test_an_entry_is_translated_moved_archived_and_deleted(context: HandlerContext) -> None:
    post = await context.entry("a", fields=raws(body="b"))
    place = {"scope": SCOPE, "entry_id": post}
    async with context.assert_appended(EntryUpdated, EntryUpdated, EntryUpdated, EntryDeleted):
        chinese = {"zh-TW": Translation("甲", raws(body="乙"))}
        await context.execute(c.UpdateEntry, **place, translations=chinese)
        await context.execute(c.UpdateEntry, **place, stage_id="review")
        await context.execute(c.UpdateEntry, **place, status="archived")
        entry = await context.repository.entry(SCOPE, post)
        assert entry.translations == chinese
        assert (entry.stage_id, entry.status, entry.version) == ("review", "archived", 4)
        await context.execute(c.DeleteEntry, **place)
    assert await context.used(SCOPE, "entries") == 0


async def test_an_entry_of_another_scope_does_not_exist(context: HandlerContext) -> None:
    await context.workspace("rival")
    post = await context.entry("a")
    for scope in (STAGE, OTHER):
        async with context.assert_refused(UnknownEntry, "Content entry not found"):
            await context.update(post, scope, title="b")
    for entry in (new_id(), "a", "", "\x00", "\ud800", post.upper()):
        async with context.assert_refused(UnknownEntry, "Content entry not found"):
            await context.update(entry, title="b")


async def test_large_commands_wait_for_their_turns_however_many_they_are(
    context: HandlerContext, repository: Repository
) -> None:
    large = raws(unknown=[1] * (PARTS + 2))
    async with repository.large_commands.turn(SCOPE.workspace):
        creates = asyncio.gather(
            *(context.entry(f"a{n}", fields=large) for n in range(WAITING + 1)),
        )
        await asyncio.wait([creates], timeout=0.5)
        assert await context.used(SCOPE, "entries") == 0
    assert len(await creates) == await context.used(SCOPE, "entries") == WAITING + 1
