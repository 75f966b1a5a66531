"""Applies a plan: the steps that bring a workspace to the state its manifest describes."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Iterable

from msgspec import Struct

from write_side.commands import Command
from write_side.dispatch import execute
from write_side.repository import Repository

SECRET_PREFIX = "cl_"  # noqa: S105 - the prefix of generated secrets


class Step(Struct, frozen=True):
    """A command and its description; ``result`` is shown once the command is carried out."""

    description: str
    command: Command
    result: str = ""


class AppliedStep(Struct, frozen=True):
    """``position``: of the last event of the step."""

    step: Step
    position: int


async def apply_steps(steps: Iterable[Step], repository: Repository) -> AsyncIterator[AppliedStep]:
    """Carry out the steps in order. If one is refused, the steps before it stay applied."""
    for step in steps:
        executed = await execute(step.command, repository)
        yield AppliedStep(step, executed.position)


def new_secret() -> str:
    return SECRET_PREFIX + secrets.token_urlsafe(32)


def secret_hash(secret: str) -> str:
    """The hash of a secret, which is all that is stored of it."""
    return hashlib.sha256(secret.encode()).hexdigest()
