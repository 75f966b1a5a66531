"""Commands on workspaces, keys and media files against the real store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.integration.write_side.handler_fixtures import (
    AUTHORS,
    OTHER,
    SCOPE,
    STAGE,
    World,
    hashed,
)
from tests.store_clock import Clock, follow_clock
from write_side import commands as c
from write_side.domain.events import (
    EnvironmentAdded,
    KeyIssued,
    KeyPermissionsChanged,
    KeyRevoked,
    MediaAdded,
    MediaChanged,
    MediaRemoved,
    Plan,
    PlanChanged,
    WorkspaceCreated,
    WorkspaceRenamed,
)
from write_side.domain.identity import Scope
from write_side.domain.refusals import (
    InvalidDefinition,
    InvalidText,
    KeyTaken,
    PlanLimitReached,
    StagingNotInPlan,
    UnknownKey,
    UnknownWorkspace,
    WorkspaceTaken,
)
from write_side.repository import Repository

VIEW, EDIT = "content.view", "content.edit"
FILE = {"url": "https://example.com/a.png", "name": "a.png", "content_type": "image/png"}


@pytest.fixture
async def world(repository: Repository) -> World:
    world = World(repository)
    await world.workspace()
    return world


async def test_a_workspace_is_created_once(world: World) -> None:
    (event,) = await world.stream("workspace/acme")
    assert isinstance(event, WorkspaceCreated)
    assert (event.workspace, event.name, event.plan) == ("acme", "Acme", Plan())
    assert event.request_id == "r1"
    async with world.refuses(WorkspaceTaken, "A workspace 'acme' already exists"):
        await world.workspace()


async def test_an_ill_formed_workspace_is_refused(world: World) -> None:
    async with world.refuses(InvalidDefinition, "Workspace slug 'A B' must be 1 to 63"):
        await world.workspace("A B")
    async with world.refuses(InvalidDefinition, "The name of the workspace is empty"):
        await world.do(c.CreateWorkspace, workspace="new", name=" ")
    async with world.refuses(InvalidDefinition, "The name of the workspace has 201 characters"):
        await world.do(c.CreateWorkspace, workspace="new", name="A" * 201)
    async with world.refuses(InvalidText, "The name of the workspace contains a NUL"):
        await world.do(c.RenameWorkspace, workspace="acme", name="\x00")
    for plan, what in (
        (Plan(entries=-1), "entries"),
        (Plan(content_types=2**53), "content types"),
        (Plan(requests_per_minute=-1), "requests per minute"),
    ):
        text = f"A plan's limit of {what} is a whole number from 0"
        async with world.refuses(InvalidDefinition, text):
            await world.workspace("new", plan)
        async with world.refuses(InvalidDefinition, text):
            await world.do(c.ChangePlan, workspace="acme", plan=plan)


async def test_a_workspace_is_renamed_if_the_name_is_new(world: World) -> None:
    async with world.appends(WorkspaceRenamed):
        await world.do(c.RenameWorkspace, workspace="acme", name="Acme Ltd")
        await world.do(c.RenameWorkspace, workspace="acme", name="Acme Ltd")


async def test_commands_for_an_unknown_workspace_are_refused(world: World) -> None:
    key = {"name": "k", "permissions": (VIEW,), "secret_hash": hashed("s")}
    asked: list[tuple[Any, dict[str, Any]]] = [
        (c.RenameWorkspace, {"workspace": "rival", "name": "R"}),
        (c.ChangePlan, {"workspace": "rival", "plan": Plan()}),
        (c.AddEnvironment, {"scope": OTHER}),
        (c.IssueKey, {"workspace": "rival", **key}),
        (c.PutMedia, {"workspace": "rival", "media_id": "hero", **FILE}),
    ]
    for kind, said in asked:
        async with world.refuses(UnknownWorkspace, "There is no workspace 'rival'"):
            await world.do(kind, **said)


async def test_a_smaller_plan_removes_nothing_and_prevents_additions(world: World) -> None:
    await world.content_type("authors", AUTHORS)
    await world.entry("a", "authors")
    await world.entry("b", "authors")
    async with world.appends(PlanChanged):
        await world.do(c.ChangePlan, workspace="acme", plan=Plan(entries=1))
        await world.do(c.ChangePlan, workspace="acme", plan=Plan(entries=1))
    assert await world.used(SCOPE, "entries") == 2
    async with world.refuses(PlanLimitReached, "limit of 1 entries"):
        await world.entry("c", "authors")
    await world.do(c.ChangePlan, workspace="acme", plan=Plan())
    await world.entry("c", "authors")


async def test_staging_is_set_up_once_if_the_plan_includes_it(world: World) -> None:
    async with world.refuses(StagingNotInPlan, "not included in your team's plan"):
        await world.do(c.AddEnvironment, scope=STAGE)
    await world.do(c.ChangePlan, workspace="acme", plan=Plan(staging=True, entries=1))
    async with world.appends(EnvironmentAdded):
        await world.do(c.AddEnvironment, scope=STAGE)
        await world.do(c.AddEnvironment, scope=STAGE)
        await world.do(c.AddEnvironment, scope=SCOPE)
    async with world.refuses(InvalidDefinition, "Unknown environment 'test': use production"):
        await world.do(c.AddEnvironment, scope=Scope("acme", "test"))


async def test_the_plan_applies_to_an_environment_set_up_later(world: World) -> None:
    await world.do(c.ChangePlan, workspace="acme", plan=Plan(staging=True, entries=1))
    await world.do(c.AddEnvironment, scope=STAGE)
    await world.content_type("authors", AUTHORS, STAGE)
    await world.entry("a", "authors", STAGE)
    async with world.refuses(PlanLimitReached, "limit of 1 entries"):
        await world.entry("b", "authors", STAGE)
    await world.do(c.ChangePlan, workspace="acme", plan=Plan(staging=True, entries=2))
    await world.entry("b", "authors", STAGE)


async def issue(world: World, name: str, secret: str, workspace: str = "acme", *may: str) -> None:
    said = {"permissions": may or (VIEW,), "secret_hash": hashed(secret)}
    await world.do(c.IssueKey, workspace=workspace, name=name, **said)


async def test_a_key_is_issued_without_its_secret(world: World) -> None:
    async with world.appends(KeyIssued):
        await issue(world, "website", "secret", "acme", VIEW, EDIT)
    key = await world.repository.find_key("acme", "website")
    assert key is not None
    assert (key.permissions, key.revoked) == ((VIEW, EDIT), False)
    rows = await world.repository.recorder.fetch("SELECT state FROM write_side.event")
    assert all('"secret"' not in row["state"] for row in rows)
    assert hashed("secret") in rows[-1]["state"]


async def test_names_are_unique_among_live_keys_and_secrets_in_all_workspaces(
    world: World,
) -> None:
    await world.workspace("rival")
    await issue(world, "website", "one")
    async with world.refuses(KeyTaken, "The key 'website' cannot be issued: its name is in use"):
        await issue(world, "website", "two")
    async with world.refuses(KeyTaken, "or its secret is in use by another key"):
        await issue(world, "mobile", "one")
    async with world.refuses(KeyTaken, "choose others or revoke that key first"):
        await issue(world, "website", "one", "rival")
    await issue(world, "website", "two", "rival")


async def test_a_revoked_key_frees_its_name(world: World) -> None:
    await issue(world, "website", "one")
    async with world.appends(KeyRevoked, KeyIssued):
        await world.do(c.RevokeKey, workspace="acme", name="website")
        await issue(world, "website", "two")
    key = await world.repository.find_key("acme", "website")
    assert key is not None
    assert key.secret_hash == hashed("two")
    assert [key.name for key in await world.repository.keys("acme")] == ["website"]


async def test_the_permissions_of_a_key_change(world: World) -> None:
    await issue(world, "website", "one")
    async with world.appends(KeyPermissionsChanged):
        for permissions in ((EDIT, VIEW), (VIEW, EDIT)):
            await world.do(c.PermitKey, workspace="acme", name="website", permissions=permissions)
    claimed = await world.repository.recorder.fetch("SELECT permissions FROM write_side.key_claim")
    assert claimed[0]["permissions"] == [EDIT, VIEW]


async def test_an_environment_and_an_expiry_are_claimed_with_the_key(world: World) -> None:
    until = datetime(2100, 1, 1, tzinfo=UTC)
    limits = {"environment": "staging", "expires_at": until}
    said = {"permissions": (VIEW,), "secret_hash": hashed("one")}
    await world.do(c.IssueKey, workspace="acme", name="ci", **said, **limits)
    key = await world.repository.find_key("acme", "ci")
    assert key is not None
    assert (key.environment, key.expires_at) == ("staging", until)
    columns = "SELECT environment, expires_at FROM write_side.key_claim"
    [claim] = await world.repository.recorder.fetch(columns)
    assert dict(claim) == limits
    async with world.appends(KeyPermissionsChanged):
        for _ in range(2):
            await world.do(c.PermitKey, workspace="acme", name="ci", permissions=(VIEW,))
    [claim] = await world.repository.recorder.fetch(columns)
    assert dict(claim) == {"environment": None, "expires_at": None}


async def test_a_past_expiry_is_refused_only_when_it_is_new(
    world: World, database_url: str
) -> None:
    await follow_clock(database_url)
    past = datetime(2020, 1, 1, tzinfo=UTC)
    said = {"permissions": (VIEW,), "secret_hash": hashed("one")}
    async with world.refuses(InvalidDefinition, "2020-01-01T00:00:00Z is in the past"):
        await world.do(c.IssueKey, workspace="acme", name="ci", expires_at=past, **said)
    async with world.refuses(InvalidDefinition, "Unknown environment 'test'"):
        await world.do(c.IssueKey, workspace="acme", name="ci", environment="test", **said)
    soon = Clock.time + timedelta(seconds=1)
    await world.do(c.IssueKey, workspace="acme", name="ci", expires_at=soon, **said)
    Clock.time = soon
    # Its permissions can still be changed.
    permit = {"workspace": "acme", "name": "ci", "permissions": (EDIT,)}
    async with world.appends(KeyPermissionsChanged):
        await world.do(c.PermitKey, **permit, expires_at=soon)
    async with world.refuses(InvalidDefinition, "is in the past"):
        await world.do(c.PermitKey, **permit, expires_at=past)


async def test_an_expiry_has_passed_by_the_clock_of_the_store(
    world: World, database_url: str
) -> None:
    """The clock of this machine may be wrong by years."""
    await follow_clock(database_url)
    Clock.time = datetime(2090, 1, 1, tzinfo=UTC)
    said = {"workspace": "acme", "name": "ci", "permissions": (VIEW,)}
    until = Clock.time + timedelta(seconds=1)
    await world.do(c.IssueKey, **said, secret_hash=hashed("one"), expires_at=until)
    async with world.refuses(InvalidDefinition, "2089-12-31T00:00:00Z is in the past"):
        await world.do(c.PermitKey, **said, expires_at=datetime(2089, 12, 31, tzinfo=UTC))
    said["name"] = "other"
    Clock.time = until
    async with world.refuses(InvalidDefinition, "2090-01-01T00:00:01Z is in the past"):
        await world.do(c.IssueKey, **said, secret_hash=hashed("two"), expires_at=until)


async def test_invalid_keys_are_refused(world: World) -> None:
    for name, permissions, text in (
        (" ", (VIEW,), "The name of the key is empty"),
        ("k" * 201, (VIEW,), "The name of the key has 201 characters; at most 200"),
        (
            "operator ada",
            (VIEW,),
            "begins with 'operator', which the history uses for operators",
        ),
        (" Import posts.csv", (VIEW,), "begins with 'import', which the history uses for"),
        ("k", (), "A key needs a permission"),
        ("k", ("admin",), "Unknown permission 'admin'"),
    ):
        async with world.refuses(InvalidDefinition, text):
            said = {"permissions": permissions, "secret_hash": hashed("s")}
            await world.do(c.IssueKey, workspace="acme", name=name, **said)
    await issue(world, "website", "one")
    async with world.refuses(InvalidDefinition, "Unknown permission 'admin'"):
        await world.do(c.PermitKey, workspace="acme", name="website", permissions=("admin",))


async def test_an_unknown_key_is_neither_permitted_nor_revoked(world: World) -> None:
    await world.workspace("rival")
    await issue(world, "website", "one", "rival")
    await issue(world, "mobile", "two")
    await world.do(c.RevokeKey, workspace="acme", name="mobile")
    for name in ("website", "mobile"):
        async with world.refuses(UnknownKey, f"There is no API key '{name}' in this workspace"):
            await world.do(c.RevokeKey, workspace="acme", name=name)
        async with world.refuses(UnknownKey, f"There is no API key '{name}' in this workspace"):
            await world.do(c.PermitKey, workspace="acme", name=name, permissions=(EDIT,))


async def test_a_change_of_keys_plans_or_environments_notifies_caches(world: World) -> None:
    versions = []
    for kind, said in (
        (c.ChangePlan, {"workspace": "acme", "plan": Plan(staging=True)}),
        (c.AddEnvironment, {"scope": STAGE}),
        (c.IssueKey, {"workspace": "acme", "name": "k", "permissions": (VIEW,), "secret_hash": ""}),
        (c.PermitKey, {"workspace": "acme", "name": "k", "permissions": (EDIT,)}),
        (c.RevokeKey, {"workspace": "acme", "name": "k"}),
    ):
        await world.do(kind, **said)
        rows = await world.repository.recorder.fetch("SELECT version FROM write_side.access")
        versions.append(rows[0]["version"])
    assert versions == [versions[0] + n for n in range(5)]


async def put(world: World, media_id: str = "hero", **said: Any) -> None:
    await world.do(c.PutMedia, workspace="acme", media_id=media_id, **{**FILE, **said})


async def test_a_media_file_is_added_changed_removed_and_added_again(world: World) -> None:
    async with world.appends(MediaAdded, MediaChanged, MediaRemoved, MediaAdded):
        await put(world)
        await put(world)
        await put(world, name="b.png")
        await world.do(c.RemoveMedia, workspace="acme", media_id="hero")
        await world.do(c.RemoveMedia, workspace="acme", media_id="hero")
        await put(world)
    assert await world.repository.known_media("acme", ["hero", "none"]) == {"hero"}
    assert await world.repository.known_media("rival", ["hero"]) == set()


async def test_an_invalid_media_file_is_refused(world: World) -> None:
    async with world.refuses(InvalidDefinition, "Media file id 'a/b' must be 1 to 63"):
        await put(world, "a/b")
    async with world.refuses(
        InvalidDefinition, "The name of media file 'hero' is empty; enter one"
    ):
        await put(world, name="")
    async with world.refuses(InvalidText, "The url of media file 'hero' contains a NUL"):
        await put(world, url="\x00")


async def test_removing_an_unknown_file_appends_nothing(world: World) -> None:
    async with world.appends():
        await world.do(c.RemoveMedia, workspace="acme", media_id="none")
