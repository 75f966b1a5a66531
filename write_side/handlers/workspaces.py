"""Workspaces and what belongs to them: plans, environments, API keys, media files."""

from __future__ import annotations

from write_side.commands import (
    AddEnvironment,
    ChangePlan,
    CreateWorkspace,
    IssueKey,
    PermitKey,
    PutMedia,
    RemoveMedia,
    RenameWorkspace,
    RevokeKey,
)
from write_side.decision import Decision, header
from write_side.domain.definition import check_name, check_not_blank, check_slug
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
from write_side.domain.identity import (
    PRODUCTION,
    STAGING,
    key_stream,
    media_stream,
    new_id,
    workspace_stream,
)
from write_side.domain.refusals import (
    InvalidDefinition,
    KeyTaken,
    StagingNotInPlan,
    UnknownKey,
    WorkspaceTaken,
)
from write_side.domain.workspace import (
    Key,
    check_environment_name,
    check_expiry,
    check_key_environment,
    check_media_url,
    check_permissions,
)
from write_side.repository import Repository
from write_side.store.append import CONTENT_TYPES, ENTRIES
from write_side.store.conflicts import KeyConflict
from write_side.store.mapper import StreamEvent

_RESERVED = {"import": "imports", "operator": "operators"}
"""The history shows an actor as the name of a key, or as one of these words and a name."""


async def create_workspace(command: CreateWorkspace, repository: Repository) -> Decision:
    check_slug(command.workspace, "Workspace slug")
    check_name(command.name, "The name of the workspace")
    _check_plan(command.plan)
    if await repository.find_workspace(command.workspace) is not None:
        raise WorkspaceTaken(command.workspace)
    created = WorkspaceCreated(**header(command), name=command.name, plan=command.plan)
    return Decision(
        events=[StreamEvent(workspace_stream(command.workspace), 1, created)],
        changes={"bounds": _bounds(command.workspace, PRODUCTION, command.plan), "access": True},
    )


async def rename_workspace(command: RenameWorkspace, repository: Repository) -> Decision:
    check_name(command.name, "The name of the workspace")
    workspace = await repository.workspace(command.workspace)
    if workspace.name == command.name:
        return Decision()
    renamed = WorkspaceRenamed(**header(command), name=command.name)
    return Decision(
        events=[StreamEvent(workspace_stream(workspace.slug), workspace.version + 1, renamed)]
    )


async def change_plan(command: ChangePlan, repository: Repository) -> Decision:
    """A lower limit removes nothing; it only prevents additions."""
    _check_plan(command.plan)
    workspace = await repository.workspace(command.workspace)
    if workspace.plan == command.plan:
        return Decision()
    changed = PlanChanged(**header(command), plan=command.plan)
    bounds = [
        bound
        for environment in workspace.environments
        for bound in _bounds(workspace.slug, environment, command.plan)
    ]
    return Decision(
        events=[StreamEvent(workspace_stream(workspace.slug), workspace.version + 1, changed)],
        changes={"bounds": bounds, "access": True},
    )


async def add_environment(command: AddEnvironment, repository: Repository) -> Decision:
    workspace = await repository.workspace(command.scope.workspace)
    environment = command.scope.environment
    check_environment_name(environment)
    if environment in workspace.environments:
        return Decision()
    if environment == STAGING and not workspace.plan.staging:
        raise StagingNotInPlan
    added = EnvironmentAdded(**header(command))
    bounds = _bounds(workspace.slug, environment, workspace.plan)
    return Decision(
        events=[StreamEvent(workspace_stream(workspace.slug), workspace.version + 1, added)],
        changes={"bounds": bounds, "access": True},
    )


def _bounds(workspace: str, environment: str, plan: Plan) -> list[dict[str, object]]:
    """The plan's limits in one environment, where usage is counted."""
    place = {"workspace": workspace, "environment": environment}
    limits = {ENTRIES: plan.entries, CONTENT_TYPES: plan.content_types}
    return [{**place, "quota": quota, "bound": limit} for quota, limit in limits.items()]


def _check_plan(plan: Plan) -> None:
    for what, limit in (
        ("entries", plan.entries),
        ("content types", plan.content_types),
        ("requests per minute", plan.requests_per_minute),
    ):
        if limit is not None and not 0 <= limit < 2**53:
            raise InvalidDefinition(f"A plan's limit of {what} must be a whole number from 0")


async def issue_key(command: IssueKey, repository: Repository) -> Decision:
    """A name is unique among the live keys of a workspace, a secret among all live keys."""
    check_name(command.name, "The name of the key")
    word, *others = command.name.casefold().split()
    if word in _RESERVED and others:
        raise InvalidDefinition(
            f"The name of the key begins with '{word}', "
            f"which the history uses for {_RESERVED[word]}: choose another"
        )
    check_permissions(command.permissions)
    check_key_environment(command.environment)
    await repository.workspace(command.workspace)
    check_expiry(command.expires_at, await repository.recorder.time())
    issued = KeyIssued(
        **header(command),
        key_id=new_id(),
        name=command.name,
        permissions=command.permissions,
        secret_hash=command.secret_hash,
        key_environment=command.environment,
        expires_at=command.expires_at,
    )
    claim = {
        "op": "claim",
        "id": issued.key_id,
        "workspace": issued.workspace,
        "name": issued.name,
        "secret_hash": issued.secret_hash,
        "permissions": issued.permissions,
        "environment": issued.key_environment,
        "expires_at": issued.expires_at,
    }
    return Decision(
        events=[StreamEvent(key_stream(issued.key_id), 1, issued)],
        changes={"keys": [claim], "access": True},
        refusal=lambda conflict: (
            KeyTaken(command.name) if isinstance(conflict, KeyConflict) else conflict
        ),
    )


async def permit_key(command: PermitKey, repository: Repository) -> Decision:
    check_permissions(command.permissions)
    check_key_environment(command.environment)
    key = await _key(repository, command.workspace, command.name)
    lasting = (key.environment, key.expires_at) == (command.environment, command.expires_at)
    if lasting and set(key.permissions) == set(command.permissions):
        return Decision()
    if command.expires_at != key.expires_at:
        check_expiry(command.expires_at, await repository.recorder.time())
    changed = KeyPermissionsChanged(
        **header(command),
        key_id=key.id,
        permissions=command.permissions,
        key_environment=command.environment,
        expires_at=command.expires_at,
    )
    change = {
        "op": "permit",
        "id": key.id,
        "permissions": command.permissions,
        "environment": command.environment,
        "expires_at": command.expires_at,
    }
    return Decision(
        events=[StreamEvent(key_stream(key.id), key.version + 1, changed)],
        changes={"keys": [change], "access": True},
    )


async def revoke_key(command: RevokeKey, repository: Repository) -> Decision:
    """The key is refused from now on, and its name can be used again."""
    key = await _key(repository, command.workspace, command.name)
    revoked = KeyRevoked(**header(command), key_id=key.id)
    return Decision(
        events=[StreamEvent(key_stream(key.id), key.version + 1, revoked)],
        changes={"keys": [{"op": "revoke", "id": key.id}], "access": True},
    )


async def _key(repository: Repository, workspace: str, name: str) -> Key:
    key = await repository.find_key(workspace, name)
    if key is None:
        raise UnknownKey(name)
    return key


async def put_media(command: PutMedia, repository: Repository) -> Decision:
    """Changes nothing if the file already has this URL, name and type."""
    check_slug(command.media_id, "Media file id")
    wanted = {"url": command.url, "name": command.name, "content_type": command.content_type}
    for what, text in wanted.items():
        check_not_blank(text, f"The {what} of media file {command.media_id!r}")
    check_media_url(command.url)
    await repository.workspace(command.workspace)
    media = await repository.find_media(command.workspace, command.media_id)
    exists = media is not None and not media.removed
    if exists and all(getattr(media, what) == text for what, text in wanted.items()):
        return Decision()
    event = (MediaChanged if exists else MediaAdded)(
        **header(command),
        media_id=command.media_id,
        url=command.url,
        name=command.name,
        content_type=command.content_type,
    )
    stream = media_stream(command.workspace, command.media_id)
    return Decision(events=[StreamEvent(stream, media.version + 1 if media else 1, event)])


async def remove_media(command: RemoveMedia, repository: Repository) -> Decision:
    """Entries that refer to the file keep its id."""
    media = await repository.find_media(command.workspace, command.media_id)
    if media is None or media.removed:
        return Decision()
    removed = MediaRemoved(**header(command), media_id=media.id)
    stream = media_stream(command.workspace, media.id)
    return Decision(events=[StreamEvent(stream, media.version + 1, removed)])
