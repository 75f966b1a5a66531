"""Commands on content types against the real store."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.write_side.handler_fixtures import AUTHORS, OTHER, SCOPE, STAGE, World
from tests.integration.write_side.sample_commands import raws
from write_side import commands as c
from write_side.domain.definition import Field, Stage
from write_side.domain.events import (
    ContentTypeCreated,
    ContentTypeRemoved,
    ContentTypeRevised,
    Plan,
)
from write_side.domain.refusals import (
    ContentTypeInUse,
    ContentTypeTaken,
    EnvironmentNotSetUp,
    InvalidDefinition,
    MissingFields,
    PlanLimitReached,
    StagingNotInPlan,
    UnknownContentType,
    UnknownWorkspace,
)
from write_side.repository import Repository

NUMBER = (Field("bio", "Bio", "number"),)


@pytest.fixture
async def world(repository: Repository) -> World:
    world = World(repository)
    await world.workspace()
    return world


async def revise(world: World, fields: tuple[Field, ...], **said: Any) -> None:
    made = {"slug": "authors", "name": "Authors", **said}
    await world.do(c.ReviseContentType, scope=SCOPE, fields=fields, **made)


async def remove(world: World, slug: str = "authors") -> None:
    await world.do(c.RemoveContentType, scope=SCOPE, slug=slug)


async def test_a_content_type_is_created_with_actor_time_and_request(world: World) -> None:
    executed = await world.content_type("authors", AUTHORS, stages=(Stage("a", "A"),))
    event = executed.events[0].event
    assert isinstance(event, ContentTypeCreated)
    assert (event.slug, event.name, event.fields) == ("authors", "Authors", AUTHORS)
    assert (event.stages, event.request_id) == ((Stage("a", "A"),), "r2")
    assert (event.workspace, event.environment) == ("acme", "production")
    assert await world.used(SCOPE, "content_types") == 1
    assert await world.stream(f"content-type/{event.content_type_id}") == [event]


async def test_a_taken_slug_is_refused_within_its_environment(world: World) -> None:
    await world.content_type("authors")
    async with world.refuses(ContentTypeTaken, "A content type with the slug 'authors' already"):
        await world.content_type("authors")
    await world.workspace("rival")
    async with world.appends(ContentTypeCreated):
        await world.content_type("authors", scope=OTHER)


async def test_an_ill_formed_type_is_refused(world: World) -> None:
    async with world.refuses(InvalidDefinition, "Content type slug 'My posts' must be"):
        await world.content_type("My posts")
    async with world.refuses(InvalidDefinition, "Repeated field slug: 'bio'"):
        await world.content_type("authors", AUTHORS + AUTHORS)
    async with world.refuses(UnknownWorkspace, "There is no workspace 'rival'"):
        await world.content_type("authors", scope=OTHER)


async def test_staging_must_be_in_the_plan_and_set_up(world: World) -> None:
    async with world.refuses(StagingNotInPlan, "not included in your team's plan"):
        await world.content_type("authors", scope=STAGE)
    await world.do(c.ChangePlan, workspace="acme", plan=Plan(staging=True))
    async with world.refuses(EnvironmentNotSetUp, "This team has no staging environment yet"):
        await world.content_type("authors", scope=STAGE)
    await world.do(c.AddEnvironment, scope=STAGE)
    async with world.appends(ContentTypeCreated, ContentTypeCreated):
        await world.content_type("authors", scope=STAGE)
        await world.content_type("authors")


async def test_the_plan_limits_the_content_types(world: World) -> None:
    await world.do(c.ChangePlan, workspace="acme", plan=Plan(content_types=1))
    await world.content_type("authors")
    async with world.refuses(PlanLimitReached, "Your plan's limit of 1 content types is reached"):
        await world.content_type("posts")


async def test_a_revision_replaces_the_definition(world: World) -> None:
    await world.content_type("authors", AUTHORS)
    other = (Field("born", "Born", "datetime"),)
    async with world.appends(ContentTypeRevised):
        await revise(world, other, name="Writers", stages=(Stage("a", "A"),))
    revised = await world.repository.content_type(SCOPE, "authors")
    assert (revised.name, revised.fields, revised.version) == ("Writers", other, 2)
    assert revised.first_stage == "a"


async def test_an_unchanged_revision_appends_nothing(world: World) -> None:
    await world.content_type("authors", AUTHORS)
    async with world.appends():
        await revise(world, AUTHORS)


async def test_a_slug_never_changes_its_kind_even_if_it_was_removed(world: World) -> None:
    await world.content_type("authors", AUTHORS)
    async with world.refuses(
        InvalidDefinition, "Field 'bio' is text permanently and cannot become"
    ):
        await revise(world, NUMBER)
    await revise(world, ())
    async with world.refuses(InvalidDefinition, "Field 'bio' is text permanently"):
        await revise(world, NUMBER)
    async with world.appends(ContentTypeRevised):
        await revise(world, AUTHORS)


async def test_a_type_created_again_under_its_slug_starts_fresh(world: World) -> None:
    await world.content_type("authors", AUTHORS)
    await remove(world)
    async with world.appends(ContentTypeCreated):
        await world.content_type("authors", NUMBER)


async def test_an_unknown_type_is_neither_revised_nor_removed(world: World) -> None:
    async with world.refuses(UnknownContentType, "Content type not found"):
        await revise(world, ())
    async with world.refuses(UnknownContentType, "Content type not found"):
        await remove(world)


async def test_an_ill_formed_revision_is_refused(world: World) -> None:
    await world.content_type("authors", AUTHORS)
    async with world.refuses(InvalidDefinition, "The name of the content type is empty"):
        await revise(world, AUTHORS, name=" ")


async def test_a_type_cannot_be_removed_until_its_last_entry_is_deleted(world: World) -> None:
    await world.content_type("authors", AUTHORS)
    entry = await world.entry("ann", "authors")
    async with world.refuses(ContentTypeInUse, "'authors' still has entries; delete them first"):
        await remove(world)
    await world.do(c.DeleteEntry, scope=SCOPE, entry_id=entry)
    async with world.appends(ContentTypeRemoved):
        await remove(world)


async def test_a_removed_type_frees_its_slug_and_its_place_in_the_plan(world: World) -> None:
    await world.do(c.ChangePlan, workspace="acme", plan=Plan(content_types=1))
    await world.content_type("authors", AUTHORS)
    await remove(world)
    assert await world.used(SCOPE, "content_types") == 0
    async with world.refuses(UnknownContentType, "Content type not found"):
        await world.entry("ann", "authors")
    await world.content_type("authors", AUTHORS)
    await world.entry("ann", "authors")


async def test_an_entry_is_decided_on_the_newest_definition(world: World) -> None:
    await world.content_type("authors")
    entry = await world.entry("ann", "authors", fields=raws(bio="ignored"))
    other = World(Repository(world.repository.recorder, world.repository.mapper))
    await revise(other, (Field("bio", "Bio", "text", required=True),))
    async with world.refuses(MissingFields, "bio"):
        await world.entry("bob", "authors", status="published")
    async with world.refuses(MissingFields, "bio"):
        await world.update(entry, status="published")
    await world.entry("bob", "authors", fields=raws(bio="kept"), status="published")
