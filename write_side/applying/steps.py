"""What differs between a manifest and the log, as commands that have not been carried out yet."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Iterable

from msgspec import Struct

from write_side.commands import Command
from write_side.dispatch import execute
from write_side.repository import Repository

SECRET_PREFIX = "cl_"  # noqa: S105 - what every secret that is made here begins with


class Step(Struct, frozen=True):
    """A command and what it changes, in words. ``told`` is said when it is done, and only then."""

    line: str
    command: Command
    told: str = ""


class Done(Struct, frozen=True):
    """A step that was carried out, and the position of its last event."""

    step: Step
    position: int


async def carry_out(steps: Iterable[Step], repository: Repository) -> AsyncIterator[Done]:
    """Carry the steps out in order; what a refused step raises leaves the earlier ones done."""
    for step in steps:
        executed = await execute(step.command, repository)
        yield Done(step, executed.position)


def new_secret() -> str:
    return SECRET_PREFIX + secrets.token_urlsafe(32)


def hash_of(secret: str) -> str:
    """What the log keeps of a key's secret."""
    return hashlib.sha256(secret.encode()).hexdigest()
