"""The desired state of a workspace, with its current state."""

from __future__ import annotations

from msgspec import Struct

from write_side.domain.events import Plan
from write_side.domain.identity import PRODUCTION, STAGING, Actor
from write_side.domain.workspace import Workspace
from write_side.manifest.document import Manifest
from write_side.repository import Repository


class DesiredState(Struct, frozen=True):
    """``current``: the workspace as it is, None if it does not exist yet."""

    manifest: Manifest
    repository: Repository
    actor: Actor
    prune: bool
    current: Workspace | None

    @property
    def plan(self) -> Plan:
        """The plan after the manifest is applied."""
        return self.manifest.desired_plan(self.current.plan if self.current else Plan())

    @property
    def environments(self) -> list[str]:
        """The environments of content types: staging only if the plan includes it."""
        there = self.current.environments if self.current else ()
        has_staging = STAGING in (*there, *self.manifest.environments) and self.plan.staging
        return [PRODUCTION, STAGING] if has_staging else [PRODUCTION]
