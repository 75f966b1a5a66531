"""Workspaces, their plans and environments."""

from __future__ import annotations

from write_side.commands import (
    AddEnvironment,
    ChangePlan,
    CreateWorkspace,
    RenameWorkspace,
)
from write_side.decision import Decision, header
from write_side.domain.definition import check_name, check_slug
from write_side.domain.events import (
    EnvironmentAdded,
    Plan,
    PlanChanged,
    WorkspaceCreated,
    WorkspaceRenamed,
)
from write_side.domain.identity import (
    ENVIRONMENTS,
    PRODUCTION,
    STAGING,
    Scope,
    workspace_stream,
)
from write_side.domain.refusals import InvalidDefinition, StagingNotInPlan, WorkspaceTaken
from write_side.repository import Repository
from write_side.store.append import CONTENT_TYPES, ENTRIES
from write_side.store.mapper import StreamEvent


async def create_workspace(command: CreateWorkspace, repository: Repository) -> Decision:
    check_slug(command.workspace, "The slug of a workspace,")
    check_name(command.name, "The name of the workspace")
    _check_plan(command.plan)
    if await repository.find_workspace(command.workspace) is not None:
        raise WorkspaceTaken(command.workspace)
    created = WorkspaceCreated(
        **header(command, command.workspace),
        name=command.name,
        plan=command.plan,
    )
    bounds = _bounds(Scope(command.workspace, PRODUCTION), command.plan)
    return Decision(
        events=[StreamEvent(workspace_stream(command.workspace), 1, created)],
        changes={"bounds": bounds, "access": True},
    )


async def rename_workspace(command: RenameWorkspace, repository: Repository) -> Decision:
    check_name(command.name, "The name of the workspace")
    workspace = await repository.workspace(command.workspace)
    if workspace.name == command.name:
        return Decision()
    renamed = WorkspaceRenamed(
        **header(command, workspace.slug, workspace.at),
        name=command.name,
    )
    return Decision(
        events=[StreamEvent(workspace_stream(workspace.slug), workspace.version + 1, renamed)]
    )


async def change_plan(command: ChangePlan, repository: Repository) -> Decision:
    """A lower limit removes nothing; it only stops what would be added."""
    _check_plan(command.plan)
    workspace = await repository.workspace(command.workspace)
    if workspace.plan == command.plan:
        return Decision()
    changed = PlanChanged(
        **header(command, workspace.slug, workspace.at),
        plan=command.plan,
    )
    bounds = [
        bound
        for environment in workspace.environments
        for bound in _bounds(Scope(workspace.slug, environment), command.plan)
    ]
    return Decision(
        events=[StreamEvent(workspace_stream(workspace.slug), workspace.version + 1, changed)],
        changes={"bounds": bounds, "access": True},
    )


async def add_environment(command: AddEnvironment, repository: Repository) -> Decision:
    workspace = await repository.workspace(command.scope.workspace)
    environment = command.scope.environment
    if environment not in ENVIRONMENTS:
        raise InvalidDefinition(
            f"There is no environment {environment!r}; there are {' and '.join(ENVIRONMENTS)}"
        )
    if environment in workspace.environments:
        return Decision()
    if environment == STAGING and not workspace.plan.staging:
        raise StagingNotInPlan
    added = EnvironmentAdded(
        **header(command, workspace.slug, workspace.at),
        environment=environment,
    )
    return Decision(
        events=[StreamEvent(workspace_stream(workspace.slug), workspace.version + 1, added)],
        changes={"bounds": _bounds(command.scope, workspace.plan), "access": True},
    )


def _bounds(scope: Scope, plan: Plan) -> list[dict[str, object]]:
    """The plan's limits in one environment, where usage is counted."""
    limits = {ENTRIES: plan.entries, CONTENT_TYPES: plan.content_types}
    return [
        {
            "workspace": scope.workspace,
            "environment": scope.environment,
            "quota": quota,
            "bound": limit,
        }
        for quota, limit in limits.items()
    ]


def _check_plan(plan: Plan) -> None:
    for what, limit in (
        ("entries", plan.entries),
        ("content types", plan.content_types),
        ("requests per minute", plan.requests_per_minute),
    ):
        if limit is not None and not 0 <= limit < 2**53:
            raise InvalidDefinition(f"A plan's limit of {what} is a whole number from 0")
