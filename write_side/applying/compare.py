"""The steps from what there is to what the manifest says, checked before the first is taken."""

from __future__ import annotations

from write_side.applying import content_types, keys, media
from write_side.applying.steps import Step
from write_side.applying.wanted import Wanted
from write_side.commands import AddEnvironment, ChangePlan, CreateWorkspace, RenameWorkspace
from write_side.domain.events import Plan
from write_side.domain.identity import PRODUCTION, STAGING, Actor, Scope
from write_side.manifest import Manifest, ManifestError
from write_side.repository import Repository


async def steps_to(
    manifest: Manifest, repository: Repository, actor: Actor, *, prune: bool = False
) -> list[Step]:
    """What is to be done, in an order that can be carried out; nothing where all is as it should.

    Raises ManifestError or Refused where it cannot be done. Removals come first: they make room
    under the plan's limits.
    """
    current = await repository.find_workspace(manifest.workspace)
    wanted = Wanted(manifest, repository, actor, prune, current)
    types = await content_types.compared(wanted)
    return [
        *types.removals,
        *_workspace(wanted),
        *await media.compared(wanted),
        *types.changes,
        *await keys.compared(wanted),
    ]


def _workspace(wanted: Wanted) -> list[Step]:
    manifest, current, actor = wanted.manifest, wanted.current, wanted.actor
    slug, steps = manifest.workspace, []
    if current is None:
        created = CreateWorkspace(actor=actor, workspace=slug, name=manifest.name, plan=wanted.plan)
        steps.append(Step(f"workspace {slug} created", created))
    else:
        if current.name != manifest.name:
            renamed = RenameWorkspace(actor=actor, workspace=slug, name=manifest.name)
            steps.append(Step(f"workspace {slug} renamed to {manifest.name!r}", renamed))
        if current.plan != wanted.plan:
            changed = ChangePlan(actor=actor, workspace=slug, plan=wanted.plan)
            steps.append(Step(f"plan changed to {_described(wanted.plan)}", changed))
    there = current.environments if current else (PRODUCTION,)
    if STAGING in manifest.environments and STAGING not in there:
        if not wanted.plan.staging:
            raise ManifestError("environments: staging needs `staging: true` in the plan")
        added = AddEnvironment(actor=actor, scope=Scope(slug, STAGING))
        steps.append(Step("environment staging set up", added))
    return steps


def _described(plan: Plan) -> str:
    limits = (("entries", plan.entries), ("content types", plan.content_types))
    words = [f"{'any number of' if n is None else n} {what}" for what, n in limits]
    rate = "600 (default)" if plan.requests_per_minute is None else plan.requests_per_minute
    return ", ".join([*words, f"{rate} requests per minute", f"staging: {_yes(plan.staging)}"])


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"
