"""Commands on entries against the real store. A refused command appends nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.write_side.handler_fixtures import (
    AUTHORS,
    OTHER,
    POSTS,
    SCOPE,
    STAGE,
    World,
    magazine,
)
from tests.integration.write_side.sample_commands import raws
from write_side import commands as c
from write_side.domain.events import EntryCreated, EntryDeleted, EntryUpdated, Plan, Translation
from write_side.domain.identity import new_id
from write_side.domain.refusals import (
    CommandKeyReused,
    EntryIdTaken,
    InvalidField,
    PlanLimitReached,
    SlugTaken,
    UnknownContentType,
    UnknownEntry,
    UnknownReference,
)
from write_side.repository import Repository


@pytest.fixture
async def world(repository: Repository) -> World:
    return await magazine(repository, Plan(staging=True))


async def test_a_create_is_in_the_log_with_actor_time_and_request(world: World) -> None:
    executed = await world.do(
        c.CreateEntry, scope=SCOPE, content_type_slug="posts", title="Hello", request_id="abc"
    )
    event = executed.events[0].event
    assert isinstance(event, EntryCreated)
    assert (event.slug, event.status, event.stage_id) == ("hello", "draft", "writing")
    assert (event.workspace, event.environment) == ("acme", "production")
    assert (event.actor, event.request_id) == (executed.events[0].event.actor, "abc")
    assert event.at.microsecond % 1000 == 0
    assert executed.position == await world.head()
    assert executed.content_type is not None
    assert executed.content_type.slug == "posts"
    assert await world.stream(f"entry/{event.entry_id}") == [event]
    assert await world.used(SCOPE, "entries") == 1


async def test_a_create_of_an_unknown_type_is_refused(world: World) -> None:
    for slug in ("nothing", "Posts", "a\x00", "\ud800", "", "x" * 10_000):
        async with world.refuses(UnknownContentType, "Content type not found"):
            await world.entry("a", slug)
    async with world.refuses(UnknownContentType, "Content type not found"):
        await world.entry("a", scope=STAGE)
    async with world.refuses(UnknownContentType, "Content type not found"):
        await world.entry("a", scope=OTHER)


async def test_a_value_that_does_not_fit_is_refused(world: World) -> None:
    async with world.refuses(InvalidField, "Field 'body' takes a string"):
        await world.entry("a", fields=raws(body=1))


async def test_a_taken_slug_is_refused_within_type_and_language(world: World) -> None:
    await world.entry("a")
    async with world.refuses(SlugTaken, "An entry with the slug 'a' already exists"):
        await world.entry("a")
    async with world.refuses(SlugTaken, "slug 'a'"):
        await world.do(c.CreateEntry, scope=SCOPE, content_type_slug="posts", title="A")
    await world.entry("a", language="fr-FR")
    await world.entry("a", "authors")
    await world.entry("A")


async def test_the_longest_slug_is_unique(world: World) -> None:
    await world.entry("🙂" * 500)
    async with world.refuses(SlugTaken, "🙂🙂🙂"):
        await world.entry("🙂" * 500)
    await world.entry("🙂" * 499)


async def test_a_reference_must_be_to_an_entry_of_an_allowed_type(world: World) -> None:
    author, post = await world.entry("ann", "authors"), await world.entry("first")
    async with world.appends(EntryCreated):
        await world.entry("a", fields=raws(author=author, related=[post, post]))
    for fields, text in (
        (raws(author=post), "an entry of type posts, but takes authors"),
        (raws(related=[post, author]), "an entry of type authors, but takes posts"),
        (raws(author=new_id()), "which is not in this environment"),
        (raws(author=author.upper()), "which is not in this environment"),
        (raws(author="ann"), "which is not in this environment"),
    ):
        async with world.refuses(UnknownReference, text):
            await world.entry("b", fields=fields)


async def test_an_entry_elsewhere_or_deleted_is_no_target(world: World) -> None:
    await world.do(c.AddEnvironment, scope=STAGE)
    await world.content_type("authors", AUTHORS, STAGE)
    await world.workspace("rival")
    await world.content_type("authors", AUTHORS, OTHER)
    gone = await world.entry("gone", "authors")
    await world.do(c.DeleteEntry, scope=SCOPE, entry_id=gone)
    for target in (
        await world.entry("ann", "authors", STAGE),
        await world.entry("ann", "authors", OTHER),
        gone,
    ):
        async with world.refuses(UnknownReference, "which is not in this environment"):
            await world.entry("a", fields=raws(author=target))


async def test_a_media_id_must_be_of_a_file_in_the_library(world: World) -> None:
    file = {"url": "https://example.com/a.png", "name": "a.png", "content_type": "image/png"}
    await world.do(c.PutMedia, workspace="acme", media_id="hero", **file)
    await world.workspace("rival")
    await world.do(c.PutMedia, workspace="rival", media_id="theirs", **file)
    post = await world.entry("a", fields=raws(cover="hero"))
    await world.do(c.RemoveMedia, workspace="acme", media_id="hero")
    for media in ("hero", "theirs", "none", ""):
        async with world.refuses(UnknownReference, "which is not in the media library"):
            await world.entry("b", fields=raws(cover=media))
    async with world.appends(EntryUpdated):
        await world.update(post, fields=raws(cover="hero", body="b"))


async def test_a_given_id_can_be_used_only_once(world: World) -> None:
    given = new_id()
    assert await world.entry("a", entry_id=given) == given
    async with world.refuses(EntryIdTaken, f"An entry with the id {given} already exists"):
        await world.entry("b", entry_id=given)
    await world.do(c.DeleteEntry, scope=SCOPE, entry_id=given)
    async with world.refuses(EntryIdTaken, "leave it out or send another"):
        await world.entry("b", entry_id=given)


async def test_the_plan_limits_the_entries_of_each_environment(world: World) -> None:
    await world.do(c.AddEnvironment, scope=STAGE)
    await world.content_type("posts", POSTS, STAGE)
    await world.do(c.ChangePlan, workspace="acme", plan=Plan(entries=1, staging=True))
    first = await world.entry("a")
    async with world.refuses(PlanLimitReached, "Your plan's limit of 1 entries is reached"):
        await world.entry("b")
    await world.entry("a", scope=STAGE)
    await world.do(c.DeleteEntry, scope=SCOPE, entry_id=first)
    await world.entry("b")
    assert await world.used(SCOPE, "entries") == 1


async def test_the_slug_is_refused_before_the_plan(world: World) -> None:
    await world.do(c.ChangePlan, workspace="acme", plan=Plan(entries=1))
    await world.entry("a")
    async with world.refuses(SlugTaken, "slug 'a'"):
        await world.entry("a")


async def test_a_repeated_command_is_answered_from_the_log(world: World) -> None:
    said: dict[str, Any] = {"content_type_slug": "posts", "title": "A", "command_key": "k"}
    first = await world.do(c.CreateEntry, scope=SCOPE, digest=b"1", **said)
    before = await world.head()
    again = await world.do(c.CreateEntry, scope=SCOPE, digest=b"1", **said)
    assert (again.events, again.position, again.replayed) == (first.events, first.position, True)
    assert await world.head() == before
    async with world.refuses(CommandKeyReused, "used for a different request"):
        await world.do(c.CreateEntry, scope=SCOPE, digest=b"2", **said)


async def test_a_renamed_entry_frees_its_slug_and_takes_the_new_one(world: World) -> None:
    post, other = await world.entry("a"), await world.entry("b")
    async with world.refuses(SlugTaken, "slug 'b'"):
        await world.update(post, slug="b")
    await world.update(post, slug="c")
    await world.update(other, slug="a")
    async with world.refuses(SlugTaken, "slug 'c'"):
        await world.entry("c")


async def test_an_existing_reference_is_accepted_even_if_its_target_was_deleted(
    world: World,
) -> None:
    author = await world.entry("ann", "authors")
    post = await world.entry("a", fields=raws(author=author))
    await world.do(c.DeleteEntry, scope=SCOPE, entry_id=author)
    async with world.appends(EntryUpdated):
        await world.update(post, title="b", fields=raws(author=author))
    async with world.refuses(UnknownReference, "which is not in this environment"):
        await world.update(post, fields=raws(related=[author]))
    await world.update(post, fields=raws(author=None))
    async with world.refuses(UnknownReference, "which is not in this environment"):
        await world.update(post, fields=raws(author=author))


async def test_an_existing_entry_may_refer_to_itself(world: World) -> None:
    post = await world.entry("a")
    async with world.appends(EntryUpdated):
        await world.update(post, fields=raws(related=[post]))


async def test_an_entry_is_translated_moved_archived_and_deleted(world: World) -> None:
    post = await world.entry("a", fields=raws(body="b"))
    place = {"scope": SCOPE, "entry_id": post}
    async with world.appends(EntryUpdated, EntryUpdated, EntryUpdated, EntryDeleted):
        chinese = {"zh-TW": Translation("甲", raws(body="乙"))}
        await world.do(c.UpdateEntry, **place, translations=chinese)
        await world.do(c.UpdateEntry, **place, stage_id="review")
        await world.do(c.UpdateEntry, **place, status="archived")
        entry = await world.repository.entry(SCOPE, post)
        assert entry.translations == chinese
        assert (entry.stage_id, entry.status, entry.version) == ("review", "archived", 4)
        await world.do(c.DeleteEntry, **place)
    assert await world.used(SCOPE, "entries") == 0


async def test_a_deleted_entry_frees_its_slug_and_no_longer_exists(world: World) -> None:
    post = await world.entry("a")
    await world.do(c.DeleteEntry, scope=SCOPE, entry_id=post)
    await world.entry("a")
    for kind, said in (
        (c.UpdateEntry, {"title": "b"}),
        (c.DeleteEntry, {}),
        (c.UpdateEntry, {"status": "published"}),
        (c.UpdateEntry, {"stage_id": "review"}),
        (c.UpdateEntry, {"translations": {"fr-FR": Translation("b")}}),
    ):
        async with world.refuses(UnknownEntry, "Content entry not found"):
            await world.do(kind, scope=SCOPE, entry_id=post, **said)


async def test_an_entry_of_another_scope_does_not_exist(world: World) -> None:
    await world.workspace("rival")
    post = await world.entry("a")
    for scope in (STAGE, OTHER):
        async with world.refuses(UnknownEntry, "Content entry not found"):
            await world.update(post, scope, title="b")
    for entry in (new_id(), "a", "", "\x00", "\ud800", post.upper()):
        async with world.refuses(UnknownEntry, "Content entry not found"):
            await world.update(entry, title="b")
