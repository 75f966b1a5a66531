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
    HandlerContext,
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
async def context(repository: Repository) -> HandlerContext:
    context = HandlerContext(repository)
    await context.workspace()
    return context


async def test_a_workspace_is_created_once(context: HandlerContext) -> None:
    (event,) = await context.stream("workspace/acme")
    assert isinstance(event, WorkspaceCreated)
    assert (event.workspace, event.name, event.plan) == ("acme", "Acme", Plan())
    assert event.request_id == "r1"
    async with context.assert_refused(WorkspaceTaken, "A workspace 'acme' already exists"):
        await context.workspace()


async def test_an_ill_formed_workspace_is_refused(context: HandlerContext) -> None:
    async with context.assert_refused(InvalidDefinition, "Workspace slug 'A B' must be 1 to 63"):
        await context.workspace("A B")
    async with context.assert_refused(InvalidDefinition, "The name of the workspace is empty"):
        await context.execute(c.CreateWorkspace, workspace="new", name=" ")
    async with context.assert_refused(
        InvalidDefinition, "The name of the workspace has 201 characters"
    ):
        await context.execute(c.CreateWorkspace, workspace="new", name="A" * 201)
    async with context.assert_refused(InvalidText, "The name of the workspace contains a NUL"):
        await context.execute(c.RenameWorkspace, workspace="acme", name="\x00")
    for plan, what in (
        (Plan(entries=-1), "entries"),
        (Plan(content_types=2**53), "content types"),
        (Plan(requests_per_minute=-1), "requests per minute"),
    ):
        text = f"A plan's limit of {what} must be a whole number from 0"
        async with context.assert_refused(InvalidDefinition, text):
            await context.workspace("new", plan)
        async with context.assert_refused(InvalidDefinition, text):
            await context.execute(c.ChangePlan, workspace="acme", plan=plan)


async def test_a_workspace_is_renamed_if_the_name_is_new(context: HandlerContext) -> None:
    async with context.assert_appended(WorkspaceRenamed):
        await context.execute(c.RenameWorkspace, workspace="acme", name="Acme Ltd")
        await context.execute(c.RenameWorkspace, workspace="acme", name="Acme Ltd")


async def test_commands_for_an_unknown_workspace_are_refused(context: HandlerContext) -> None:
    key = {"name": "k", "permissions": (VIEW,), "secret_hash": hashed("s")}
    commands: list[tuple[Any, dict[str, Any]]] = [
        (c.RenameWorkspace, {"workspace": "rival", "name": "R"}),
        (c.ChangePlan, {"workspace": "rival", "plan": Plan()}),
        (c.AddEnvironment, {"scope": OTHER}),
        (c.IssueKey, {"workspace": "rival", **key}),
        (c.PutMedia, {"workspace": "rival", "media_id": "hero", **FILE}),
    ]
    for kind, properties in commands:
        async with context.assert_refused(UnknownWorkspace, "There is no workspace 'rival'"):
            await context.execute(kind, **properties)


async def test_staging_is_set_up_once_if_the_plan_includes_it(context: HandlerContext) -> None:
    async with context.assert_refused(StagingNotInPlan, "not included in your team's plan"):
        await context.execute(c.AddEnvironment, scope=STAGE)
    async with context.assert_appended(PlanChanged):
        for _ in range(2):
            plan = Plan(staging=True, entries=1)
            await context.execute(c.ChangePlan, workspace="acme", plan=plan)
    async with context.assert_appended(EnvironmentAdded):
        await context.execute(c.AddEnvironment, scope=STAGE)
        await context.execute(c.AddEnvironment, scope=STAGE)
        await context.execute(c.AddEnvironment, scope=SCOPE)
    async with context.assert_refused(
        InvalidDefinition, "Unknown environment 'test': use production"
    ):
        await context.execute(c.AddEnvironment, scope=Scope("acme", "test"))


async def test_the_plan_applies_to_an_environment_set_up_later(context: HandlerContext) -> None:
    await context.execute(c.ChangePlan, workspace="acme", plan=Plan(staging=True, entries=1))
    await context.execute(c.AddEnvironment, scope=STAGE)
    await context.content_type("authors", AUTHORS, STAGE)
    await context.entry("a", "authors", STAGE)
    async with context.assert_refused(PlanLimitReached, "limit of 1 entry"):
        await context.entry("b", "authors", STAGE)
    await context.execute(c.ChangePlan, workspace="acme", plan=Plan(staging=True, entries=2))
    await context.entry("b", "authors", STAGE)


async def issue(
    context: HandlerContext, name: str, secret: str, workspace: str = "acme", *may: str
) -> None:
    properties = {"permissions": may or (VIEW,), "secret_hash": hashed(secret)}
    await context.execute(c.IssueKey, workspace=workspace, name=name, **properties)


async def test_a_key_is_issued_without_its_secret(context: HandlerContext) -> None:
    async with context.assert_appended(KeyIssued):
        await issue(context, "website", "secret", "acme", VIEW, EDIT)
    key = await context.repository.find_key("acme", "website")
    assert key is not None
    assert (key.permissions, key.revoked) == ((VIEW, EDIT), False)
    rows = await context.repository.recorder.fetch("SELECT state FROM write_side.event")
    assert all('"secret"' not in row["state"] for row in rows)
    assert hashed("secret") in rows[-1]["state"]


async def test_names_are_unique_among_live_keys_and_secrets_in_all_workspaces(
    context: HandlerContext,
) -> None:
    await context.workspace("rival")
    await issue(context, "website", "one")
    async with context.assert_refused(
        KeyTaken, "The key 'website' cannot be issued: this workspace already has a key"
    ):
        await issue(context, "website", "two")
    async with context.assert_refused(KeyTaken, "or another key has the same secret"):
        await issue(context, "mobile", "one")
    async with context.assert_refused(KeyTaken, "choose others or revoke that key first"):
        await issue(context, "website", "one", "rival")
    await issue(context, "website", "two", "rival")


async def test_a_revoked_key_frees_its_name(context: HandlerContext) -> None:
    await issue(context, "website", "one")
    async with context.assert_appended(KeyRevoked, KeyIssued):
        await context.execute(c.RevokeKey, workspace="acme", name="website")
        await issue(context, "website", "two")
    key = await context.repository.find_key("acme", "website")
    assert key is not None
    assert key.secret_hash == hashed("two")
    assert [key.name for key in await context.repository.keys("acme")] == ["website"]


async def test_the_permissions_of_a_key_change(context: HandlerContext) -> None:
    await issue(context, "website", "one")
    async with context.assert_appended(KeyPermissionsChanged):
        for permissions in ((EDIT, VIEW), (VIEW, EDIT)):
            await context.execute(
                c.PermitKey, workspace="acme", name="website", permissions=permissions
            )
    claimed = await context.repository.recorder.fetch(
        "SELECT permissions FROM write_side.key_claim"
    )
    assert claimed[0]["permissions"] == [EDIT, VIEW]


async def test_an_environment_and_an_expiry_are_claimed_with_the_key(
    context: HandlerContext,
) -> None:
    until = datetime(2100, 1, 1, tzinfo=UTC)
    limits = {"environment": "staging", "expires_at": until}
    properties = {"permissions": (VIEW,), "secret_hash": hashed("one")}
    await context.execute(c.IssueKey, workspace="acme", name="ci", **properties, **limits)
    key = await context.repository.find_key("acme", "ci")
    assert key is not None
    assert (key.environment, key.expires_at) == ("staging", until)
    columns = "SELECT environment, expires_at FROM write_side.key_claim"
    [claim] = await context.repository.recorder.fetch(columns)
    assert dict(claim) == limits
    async with context.assert_appended(KeyPermissionsChanged):
        for _ in range(2):
            await context.execute(c.PermitKey, workspace="acme", name="ci", permissions=(VIEW,))
    [claim] = await context.repository.recorder.fetch(columns)
    assert dict(claim) == {"environment": None, "expires_at": None}


async def test_a_past_expiry_is_refused_only_when_it_is_new(
    context: HandlerContext, database_url: str
) -> None:
    await follow_clock(database_url)
    past = datetime(2020, 1, 1, tzinfo=UTC)
    properties = {"permissions": (VIEW,), "secret_hash": hashed("one")}
    async with context.assert_refused(InvalidDefinition, "2020-01-01T00:00:00Z is in the past"):
        await context.execute(
            c.IssueKey, workspace="acme", name="ci", expires_at=past, **properties
        )
    async with context.assert_refused(InvalidDefinition, "Unknown environment 'test'"):
        await context.execute(
            c.IssueKey, workspace="acme", name="ci", environment="test", **properties
        )
    soon = Clock.time + timedelta(seconds=1)
    await context.execute(c.IssueKey, workspace="acme", name="ci", expires_at=soon, **properties)
    Clock.time = soon
    # Its permissions can still be changed.
    permit = {"workspace": "acme", "name": "ci", "permissions": (EDIT,)}
    async with context.assert_appended(KeyPermissionsChanged):
        await context.execute(c.PermitKey, **permit, expires_at=soon)
    async with context.assert_refused(InvalidDefinition, "is in the past"):
        await context.execute(c.PermitKey, **permit, expires_at=past)


async def test_an_expiry_has_passed_by_the_clock_of_the_store(
    context: HandlerContext, database_url: str
) -> None:
    """The clock of this machine may be wrong by years."""
    await follow_clock(database_url)
    Clock.time = datetime(2090, 1, 1, tzinfo=UTC)
    properties = {"workspace": "acme", "name": "ci", "permissions": (VIEW,)}
    until = Clock.time + timedelta(seconds=1)
    await context.execute(c.IssueKey, **properties, secret_hash=hashed("one"), expires_at=until)
    async with context.assert_refused(InvalidDefinition, "2089-12-31T00:00:00Z is in the past"):
        await context.execute(
            c.PermitKey, **properties, expires_at=datetime(2089, 12, 31, tzinfo=UTC)
        )
    properties["name"] = "other"
    Clock.time = until
    async with context.assert_refused(InvalidDefinition, "2090-01-01T00:00:01Z is in the past"):
        await context.execute(c.IssueKey, **properties, secret_hash=hashed("two"), expires_at=until)


async def test_invalid_keys_are_refused(context: HandlerContext) -> None:
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
        async with context.assert_refused(InvalidDefinition, text):
            properties = {"permissions": permissions, "secret_hash": hashed("s")}
            await context.execute(c.IssueKey, workspace="acme", name=name, **properties)
    await issue(context, "website", "one")
    async with context.assert_refused(InvalidDefinition, "Unknown permission 'admin'"):
        await context.execute(c.PermitKey, workspace="acme", name="website", permissions=("admin",))


async def test_an_unknown_key_is_neither_permitted_nor_revoked(context: HandlerContext) -> None:
    await context.workspace("rival")
    await issue(context, "website", "one", "rival")
    await issue(context, "mobile", "two")
    await context.execute(c.RevokeKey, workspace="acme", name="mobile")
    for name in ("website", "mobile"):
        async with context.assert_refused(
            UnknownKey, f"There is no API key '{name}' in this workspace"
        ):
            await context.execute(c.RevokeKey, workspace="acme", name=name)
        async with context.assert_refused(
            UnknownKey, f"There is no API key '{name}' in this workspace"
        ):
            await context.execute(c.PermitKey, workspace="acme", name=name, permissions=(EDIT,))


async def test_a_change_of_keys_plans_or_environments_notifies_caches(
    context: HandlerContext,
) -> None:
    versions = []
    for kind, properties in (
        (c.ChangePlan, {"workspace": "acme", "plan": Plan(staging=True)}),
        (c.AddEnvironment, {"scope": STAGE}),
        (c.IssueKey, {"workspace": "acme", "name": "k", "permissions": (VIEW,), "secret_hash": ""}),
        (c.PermitKey, {"workspace": "acme", "name": "k", "permissions": (EDIT,)}),
        (c.RevokeKey, {"workspace": "acme", "name": "k"}),
    ):
        await context.execute(kind, **properties)
        rows = await context.repository.recorder.fetch("SELECT version FROM write_side.access")
        versions.append(rows[0]["version"])
    assert versions == [versions[0] + n for n in range(5)]


async def put(context: HandlerContext, media_id: str = "hero", **properties: Any) -> None:
    await context.execute(c.PutMedia, workspace="acme", media_id=media_id, **{**FILE, **properties})


async def test_a_media_file_is_added_changed_removed_and_added_again(
    context: HandlerContext,
) -> None:
    async with context.assert_appended(MediaAdded, MediaChanged, MediaRemoved, MediaAdded):
        await put(context)
        await put(context)
        await put(context, name="b.png")
        await context.execute(c.RemoveMedia, workspace="acme", media_id="hero")
        await context.execute(c.RemoveMedia, workspace="acme", media_id="hero")
        await put(context)
    assert await context.repository.known_media("acme", ["hero", "none"]) == {"hero"}
    assert await context.repository.known_media("rival", ["hero"]) == set()


async def test_an_invalid_media_file_is_refused(context: HandlerContext) -> None:
    async with context.assert_refused(InvalidDefinition, "Media file id 'a/b' must be 1 to 63"):
        await put(context, "a/b")
    async with context.assert_refused(
        InvalidDefinition, "The name of media file 'hero' is empty; enter one"
    ):
        await put(context, name="")
    async with context.assert_refused(InvalidText, "The url of media file 'hero' contains a NUL"):
        await put(context, url="\x00")
    async with context.assert_refused(
        InvalidDefinition, "The URL 'javascript:alert(1)' has an unsupported scheme; use http"
    ):
        await put(context, url="javascript:alert(1)")


async def test_removing_an_unknown_file_appends_nothing(context: HandlerContext) -> None:
    async with context.assert_appended():
        await context.execute(c.RemoveMedia, workspace="acme", media_id="none")
