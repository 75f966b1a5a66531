"""The steps that bring a workspace to its desired state, and their execution."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TypedDict

from msgspec import Struct

from write_side.commands import Command
from write_side.dispatch import execute
from write_side.domain.events import Plan
from write_side.domain.identity import PRODUCTION, STAGING, Actor
from write_side.domain.webhook import Network
from write_side.domain.workspace import Workspace
from write_side.manifest.document import Manifest
from write_side.manifest.source import Source
from write_side.repository import Repository

UNMENTIONED = "the manifest does not mention it"
REMOVED = f"removed: {UNMENTIONED}"


class CommandHeader(TypedDict):
    """The fields that all commands on the workspace have."""

    actor: Actor
    workspace: str


class DesiredState(Struct, frozen=True):
    """``current``: the workspace as it is, None if it does not exist yet. Problems are noted in
    ``source``. ``networks``: where webhooks may be delivered although it is not public."""

    manifest: Manifest
    source: Source
    repository: Repository
    actor: Actor
    prune: bool
    current: Workspace | None
    networks: tuple[Network, ...] = ()

    @property
    def header(self) -> CommandHeader:
        return {"actor": self.actor, "workspace": self.manifest.workspace}

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

    def removed(self, there: Iterable[str], mentioned: Iterable[str]) -> list[str]:
        """The names in the workspace that are to be removed: with ``prune``, those that the
        manifest does not mention."""
        kept = set(mentioned)
        return [name for name in there if name not in kept] if self.prune else []


class Step(Struct, frozen=True):
    """A command, and what it does: ``subject`` 'content type posts', ``change`` 'created'.
    ``result`` is shown after the command was executed. If it is a generated secret, it is shown
    only once, and ``remedy`` says what to do if that fails."""

    subject: str
    change: str
    command: Command
    result: str = ""
    remedy: str = ""

    @classmethod
    def with_secret(
        cls, subject: str, change: str, command: Command, secret: str, remedy: str
    ) -> Step:
        shown = f"secret of {subject}, shown only once: {secret}"
        return cls(subject, change, command, shown, remedy)

    @property
    def done(self) -> str:
        return f"{self.subject} {self.change}"

    @property
    def planned(self) -> str:
        return f"{self.subject} would be {self.change}"


async def apply_steps(
    steps: Iterable[Step], repository: Repository
) -> AsyncIterator[tuple[Step, int]]:
    """Executes the steps in order. Yields each with the position of its last event. If one is
    refused, the steps before it remain applied."""
    for step in steps:
        executed = await execute(step.command, repository)
        yield step, executed.position
