"""What a handler returns: the events of a command, and the conditions for appending them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from msgspec import Struct

from write_side.commands import ScopedCommand, WorkspaceCommand
from write_side.domain.content_type import ContentType
from write_side.domain.identity import Actor
from write_side.domain.refusals import Refused
from write_side.store.append import Appended, EntryClaim, Use
from write_side.store.conflicts import Conflict
from write_side.store.mapper import StreamEvent


class Decision(Struct, frozen=True, kw_only=True):
    """No events: the command changes nothing, and nothing is appended.

    ``content_type`` is the one under which the events were decided, if any; the append checks the
    versions of ``type_checks``. ``refusal`` gives the refusal for a conflict that the append finds,
    or returns an unexpected conflict. ``recorded``: the place of this command's events, if they are
    already in the log. ``projected``: bytes of rows that the projector writes for the events.
    ``is_large``: the append uses a separate connection (ADR 16).
    """

    events: Sequence[StreamEvent] = ()
    claims: Sequence[EntryClaim] = ()
    type_checks: Sequence[ContentType] = ()
    uses: Sequence[Use] = ()
    changes: dict[str, Any] | None = None
    refusal: Callable[[Conflict], Refused | Conflict] = lambda conflict: conflict
    content_type: ContentType | None = None
    recorded: Appended | None = None
    projected: int = 0
    is_large: bool = False


class Header(TypedDict):
    """The fields that every event has before the append gives it a time."""

    workspace: str
    environment: str | None
    actor: Actor
    request_id: str | None
    traceparent: str | None


def header(command: WorkspaceCommand | ScopedCommand) -> Header:
    environment: str | None = None
    if isinstance(command, ScopedCommand):
        workspace, environment = command.scope.workspace, command.scope.environment
    else:
        workspace = command.workspace
    return {
        "workspace": workspace,
        "environment": environment,
        "actor": command.actor,
        "request_id": command.request_id,
        "traceparent": command.traceparent,
    }
