"""A manifest on its way into the log: what it asks of which workspace."""

from __future__ import annotations

from msgspec import Struct

from write_side.domain.events import Plan
from write_side.domain.identity import PRODUCTION, STAGING, Actor
from write_side.domain.workspace import Workspace
from write_side.manifest import Manifest
from write_side.repository import Repository


class Wanted(Struct, frozen=True):
    """``current`` is the workspace as it is, None where there is none yet."""

    manifest: Manifest
    repository: Repository
    actor: Actor
    prune: bool
    current: Workspace | None

    @property
    def plan(self) -> Plan:
        """The plan as it will be."""
        return self.manifest.wanted_plan(self.current.plan if self.current else Plan())

    @property
    def environments(self) -> list[str]:
        """Where content types go: staging only where the plan includes it."""
        there = self.current.environments if self.current else ()
        has_staging = STAGING in (*there, *self.manifest.environments) and self.plan.staging
        return [PRODUCTION, STAGING] if has_staging else [PRODUCTION]
