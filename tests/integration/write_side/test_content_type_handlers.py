"""Commands on content types against the real store."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.projector.sample_log import raws
from tests.integration.write_side.handler_fixtures import (
    AUTHORS,
    OTHER,
    SCOPE,
    STAGE,
    HandlerContext,
)
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
    StagingNotInPlan,
    UnknownContentType,
    UnknownWorkspace,
)
from write_side.repository import Repository

NUMBER = (Field("bio", "Bio", "number"),)


@pytest.fixture
async def context(repository: Repository) -> HandlerContext:
    context = HandlerContext(repository)
    await context.workspace()
    return context


async def revise(context: HandlerContext, fields: tuple[Field, ...], **properties: Any) -> None:
    made = {"slug": "authors", "name": "Authors", **properties}
    await context.execute(c.ReviseContentType, scope=SCOPE, fields=fields, **made)


async def remove(context: HandlerContext, slug: str = "authors") -> None:
    await context.execute(c.RemoveContentType, scope=SCOPE, slug=slug)


async def test_a_content_type_is_created_with_actor_time_and_request(
    context: HandlerContext,
) -> None:
    executed = await context.content_type("authors", AUTHORS, stages=(Stage("a", "A"),))
    event = executed.events[0].event
    assert isinstance(event, ContentTypeCreated)
    assert (event.slug, event.name, event.fields) == ("authors", "Authors", AUTHORS)
    assert (event.stages, event.request_id) == ((Stage("a", "A"),), "r2")
    assert (event.workspace, event.environment) == ("acme", "production")
    assert await context.used(SCOPE, "content_types") == 1
    assert await context.stream(f"content-type/{event.content_type_id}") == [event]


async def test_a_taken_slug_is_refused_within_its_environment(context: HandlerContext) -> None:
    await context.content_type("authors")
    async with context.assert_refused(
        ContentTypeTaken, "A content type with the slug 'authors' already"
    ):
        await context.content_type("authors")
    await context.workspace("rival")
    async with context.assert_appended(ContentTypeCreated):
        await context.content_type("authors", scope=OTHER)


async def test_an_ill_formed_type_is_refused(context: HandlerContext) -> None:
    async with context.assert_refused(InvalidDefinition, "Content type slug 'My posts' must be"):
        await context.content_type("My posts")
    async with context.assert_refused(InvalidDefinition, "Repeated field slug: 'bio'"):
        await context.content_type("authors", AUTHORS + AUTHORS)
    async with context.assert_refused(UnknownWorkspace, "There is no workspace 'rival'"):
        await context.content_type("authors", scope=OTHER)


async def test_staging_must_be_in_the_plan_and_set_up(context: HandlerContext) -> None:
    async with context.assert_refused(StagingNotInPlan, "not included in your team's plan"):
        await context.content_type("authors", scope=STAGE)
    await context.execute(c.ChangePlan, workspace="acme", plan=Plan(staging=True))
    async with context.assert_refused(
        EnvironmentNotSetUp, "This team has no staging environment yet"
    ):
        await context.content_type("authors", scope=STAGE)
    await context.execute(c.AddEnvironment, scope=STAGE)
    async with context.assert_appended(ContentTypeCreated, ContentTypeCreated):
        await context.content_type("authors", scope=STAGE)
        await context.content_type("authors")


async def test_a_revision_replaces_the_definition(context: HandlerContext) -> None:
    await context.content_type("authors", AUTHORS)
    other = (Field("born", "Born", "datetime"),)
    async with context.assert_appended(ContentTypeRevised):
        await revise(context, other, name="Writers", stages=(Stage("a", "A"),))
    revised = await context.repository.content_type(SCOPE, "authors")
    assert (revised.name, revised.fields, revised.version) == ("Writers", other, 2)
    assert revised.first_stage == "a"


async def test_an_unchanged_revision_appends_nothing(context: HandlerContext) -> None:
    await context.content_type("authors", AUTHORS)
    async with context.assert_appended():
        await revise(context, AUTHORS)


async def test_a_slug_never_changes_its_kind_even_if_it_was_removed(
    context: HandlerContext,
) -> None:
    await context.content_type("authors", AUTHORS)
    async with context.assert_refused(
        InvalidDefinition, "Field 'bio' is text permanently and cannot become"
    ):
        await revise(context, NUMBER)
    await revise(context, ())
    async with context.assert_refused(InvalidDefinition, "Field 'bio' is text permanently"):
        await revise(context, NUMBER)
    async with context.assert_appended(ContentTypeRevised):
        await revise(context, AUTHORS)


async def test_a_type_created_again_under_its_slug_starts_fresh(context: HandlerContext) -> None:
    await context.content_type("authors", AUTHORS)
    await remove(context)
    async with context.assert_appended(ContentTypeCreated):
        await context.content_type("authors", NUMBER)


async def test_an_unknown_type_is_neither_revised_nor_removed(context: HandlerContext) -> None:
    async with context.assert_refused(UnknownContentType, "Content type not found"):
        await revise(context, ())
    async with context.assert_refused(UnknownContentType, "Content type not found"):
        await remove(context)


async def test_an_ill_formed_revision_is_refused(context: HandlerContext) -> None:
    await context.content_type("authors", AUTHORS)
    async with context.assert_refused(InvalidDefinition, "The name of the content type is empty"):
        await revise(context, AUTHORS, name=" ")


async def test_a_type_cannot_be_removed_until_its_last_entry_is_deleted(
    context: HandlerContext,
) -> None:
    await context.content_type("authors", AUTHORS)
    entry = await context.entry("ann", "authors")
    async with context.assert_refused(
        ContentTypeInUse, "'authors' still has entries; delete them first"
    ):
        await remove(context)
    await context.execute(c.DeleteEntry, scope=SCOPE, entry_id=entry)
    async with context.assert_appended(ContentTypeRemoved):
        await remove(context)


async def test_a_removed_type_frees_its_slug_and_its_place_in_the_plan(
    context: HandlerContext,
) -> None:
    await context.execute(c.ChangePlan, workspace="acme", plan=Plan(content_types=1))
    await context.content_type("authors", AUTHORS)
    await remove(context)
    assert await context.used(SCOPE, "content_types") == 0
    async with context.assert_refused(UnknownContentType, "Content type not found"):
        await context.entry("ann", "authors")
    await context.content_type("authors", AUTHORS)
    await context.entry("ann", "authors")


async def test_an_entry_is_decided_on_the_newest_definition(context: HandlerContext) -> None:
    await context.content_type("authors")
    entry = await context.entry("ann", "authors", fields=raws(bio="ignored"))
    other = HandlerContext(Repository(context.repository.recorder, context.repository.mapper))
    await revise(other, (Field("bio", "Bio", "text", required=True),))
    async with context.assert_refused(MissingFields, "bio"):
        await context.entry("bob", "authors", status="published")
    async with context.assert_refused(MissingFields, "bio"):
        await context.update(entry, status="published")
    await context.entry("bob", "authors", fields=raws(bio="kept"), status="published")
