"""Executes a command: its handler decides, the append enforces the decision, and a stale decision
is made again."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr

from write_side import commands as c
from write_side import tracing
from write_side.commands import Command
from write_side.decision import Decision
from write_side.domain.content_type import ContentType
from write_side.domain.refusals import CommandKeyReused, Refused, StaleDecision
from write_side.handlers import content_types, entries, imports, reverts, webhooks, workspaces
from write_side.repository import Repository
from write_side.store.append import Append, Appended
from write_side.store.conflicts import Conflict, StaleAppend
from write_side.store.mapper import StreamEvent
from write_side.waiting import in_slices

Handler = Callable[[Any, Repository], Awaitable[Decision]]
Reserve = Callable[[int], Awaitable[None]]
"""Charges the cost of projecting this many bytes of rows, or raises; then nothing is appended. It
is called for each attempt."""

HANDLERS: dict[type[Command], Handler] = {
    c.CreateWorkspace: workspaces.create_workspace,
    c.RenameWorkspace: workspaces.rename_workspace,
    c.ChangePlan: workspaces.change_plan,
    c.AddEnvironment: workspaces.add_environment,
    c.IssueKey: workspaces.issue_key,
    c.PermitKey: workspaces.permit_key,
    c.RevokeKey: workspaces.revoke_key,
    c.CreateContentType: content_types.create_content_type,
    c.ReviseContentType: content_types.revise_content_type,
    c.RemoveContentType: content_types.remove_content_type,
    c.PutMedia: workspaces.put_media,
    c.RemoveMedia: workspaces.remove_media,
    c.CreateWebhook: webhooks.create_webhook,
    c.ChangeWebhook: webhooks.change_webhook,
    c.RemoveWebhook: webhooks.remove_webhook,
    c.SwitchWebhookOff: webhooks.switch_webhook_off,
    c.SwitchWebhookOn: webhooks.switch_webhook_on,
    c.RotateWebhookSecret: webhooks.rotate_webhook_secret,
    c.CreateEntry: entries.create_entry,
    c.UpdateEntry: entries.update_entry,
    c.DeleteEntry: entries.delete_entry,
    c.ImportEntries: imports.import_entries,
    c.RevertImport: reverts.revert_import,
    c.SaveImportMapping: imports.save_import_mapping,
}

RETRY_SECONDS = 10.0
"""Seconds after which a command that loses every race for its stream fails."""
LONGEST_BACKOFF = 0.05


class CommandResult(Struct, frozen=True):
    """The outcome of a command. ``position``: of its last event, 0 if it changed nothing.
    ``replayed``: an earlier request executed the command, and these are its events."""

    events: tuple[StreamEvent, ...] = ()
    position: int = 0
    content_type: ContentType | None = None
    replayed: bool = False


async def execute(
    command: Command, repository: Repository, reserve: Reserve | None = None
) -> CommandResult:
    """Executes the command. Raises Refused with the reason, StaleDecision if other commands change
    the same stream for ``RETRY_SECONDS``, StoreUnavailable if the event store does not answer, and
    what ``reserve`` raises."""
    # Commands on the same entry take turns in this process, so they do not conflict with each
    # other. Between processes, the version of the stream decides.
    turn: AbstractAsyncContextManager[object] = nullcontext()
    if isinstance(command, c.EntryCommand):
        turn = repository.entry_locks.setdefault(command.entry_id, asyncio.Lock())
    async with turn:
        deadline = time.monotonic() + RETRY_SECONDS
        for attempt in itertools.count():
            try:
                return await _attempt(command, repository, reserve)
            except StaleAppend:
                _forget_content_type(command, repository)
                if time.monotonic() > deadline:
                    break
                await asyncio.sleep(random.uniform(0, min(0.002 * attempt, LONGEST_BACKOFF)))  # noqa: S311
    raise StaleDecision(f"{type(command).__name__} conflicted with other writers: try again")


async def _attempt(
    command: Command, repository: Repository, reserve: Reserve | None
) -> CommandResult:
    """Raises StaleAppend if the log has moved on since the decision."""
    try:
        decision = await _decide(command, repository)
    except Refused:
        # A repeated delete finds no entry, which is not a failure.
        if (earlier := await _earlier_result(command, repository)) is None:
            raise
        return earlier
    if decision.recorded is not None:
        return await _recorded_result(decision.recorded, repository)
    if not decision.events:
        earlier = await _earlier_result(command, repository)
        return earlier or CommandResult(content_type=decision.content_type)
    if reserve is not None and decision.projected:
        await reserve(decision.projected)
    try:
        appended = await repository.recorder.append(await _append(command, decision, repository))
    except Conflict as conflict:
        raise decision.refusal(conflict) from None
    if appended.replayed and not isinstance(command, c.ImportCommand):
        return await _result_of_repetition(command, appended, repository)
    if appended.replayed and appended.digest != command.digest:
        raise StaleAppend  # another request has used the import id: its handler will find it
    for happened in decision.events:
        force_setattr(happened.event, "at", appended.at)
    return CommandResult(tuple(decision.events), appended.last, decision.content_type)


async def _decide(command: Command, repository: Repository) -> Decision:
    handler = HANDLERS[type(command)]
    with tracing.span(f"decide {type(command).__name__}"):
        try:
            return await handler(command, repository)
        except Refused:
            if not _forget_content_type(command, repository):
                raise
        # The content type may have come from the cache, and a newer one may allow the command.
        return await handler(command, repository)


def _forget_content_type(command: Command, repository: Repository) -> bool:
    """Removes the command's content type from the cache. False if the command uses none."""
    if not isinstance(command, c.CreateEntry | c.ImportEntries | c.SaveImportMapping):
        return False
    repository.forget(command.scope, command.content_type_slug)
    return True


async def _append(command: Command, decision: Decision, repository: Repository) -> Append:
    stored = repository.mapper.to_stored_event
    return Append(
        events=[stored(event) async for event in in_slices(decision.events)],
        command_key=command.key,
        digest=command.digest,
        claims=decision.claims,
        type_checks=decision.type_checks,
        uses=decision.uses,
        changes=decision.changes,
        is_large=decision.is_large,
    )


async def _earlier_result(command: Command, repository: Repository) -> CommandResult | None:
    """The outcome of the command, if an earlier request executed it."""
    if isinstance(command, c.ImportCommand):
        return None  # its handler has checked
    appended = await repository.recorder.appended(command.key)
    return None if appended is None else await _result_of_repetition(command, appended, repository)


async def _result_of_repetition(
    command: Command, appended: Appended, repository: Repository
) -> CommandResult:
    if appended.digest != command.digest:
        raise CommandKeyReused
    return await _recorded_result(appended, repository)


async def _recorded_result(appended: Appended, repository: Repository) -> CommandResult:
    rows = await repository.recorder.log(appended.position - 1, appended.events)
    events = tuple(
        StreamEvent(
            row["originator_id"],
            row["originator_version"],
            repository.mapper.event_of(row),
        )
        for row in rows
    )
    type_id = getattr(events[0].event, "content_type_id", None)
    content_type = await repository.content_type_by_id(type_id) if type_id else None
    return CommandResult(events, appended.last, content_type, replayed=True)
