"""Carries a command out: decide, append, and decide again where the log had moved on."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from write_side import commands
from write_side.commands import Command
from write_side.decision import Decision
from write_side.domain.content_type import ContentType
from write_side.domain.identity import Scope, is_id
from write_side.domain.refusals import (
    CommandKeyReused,
    ContentTypeInUse,
    ContentTypeTaken,
    EntryIdTaken,
    KeyTaken,
    PlanLimitReached,
    Refused,
    SlugTaken,
    StaleDecision,
)
from write_side.handlers import (
    content_types,
    entries,
    imports,
    keys,
    mappings,
    media,
    reverts,
    workspaces,
)
from write_side.repository import Repository
from write_side.slices import in_slices
from write_side.store.append import Append, Appended
from write_side.store.conflicts import (
    Conflict,
    ContentTypeConflict,
    ContentTypeNotEmpty,
    IdConflict,
    KeyConflict,
    LimitConflict,
    SlugConflict,
    StaleAppend,
)
from write_side.store.mapper import StreamEvent

Handler = Callable[[Any, Repository], Awaitable[Decision]]

HANDLERS: dict[type[Command], Handler] = {
    commands.CreateWorkspace: workspaces.create_workspace,
    commands.RenameWorkspace: workspaces.rename_workspace,
    commands.ChangePlan: workspaces.change_plan,
    commands.AddEnvironment: workspaces.add_environment,
    commands.IssueKey: keys.issue_key,
    commands.PermitKey: keys.permit_key,
    commands.RevokeKey: keys.revoke_key,
    commands.CreateContentType: content_types.create_content_type,
    commands.ReviseContentType: content_types.revise_content_type,
    commands.RemoveContentType: content_types.remove_content_type,
    commands.PutMedia: media.put_media,
    commands.RemoveMedia: media.remove_media,
    commands.CreateEntry: entries.create_entry,
    commands.UpdateEntry: entries.update_entry,
    commands.TranslateEntry: entries.translate_entry,
    commands.ChangeStatus: entries.change_status,
    commands.MoveToStage: entries.move_to_stage,
    commands.DeleteEntry: entries.delete_entry,
    commands.ImportEntries: imports.import_entries,
    commands.RevertImport: reverts.revert_import,
    commands.SaveImportMapping: mappings.save_import_mapping,
}

ONCE = (commands.ImportEntries, commands.RevertImport)
"""What happens once for an id, whoever sends it. Their handlers look for it themselves: the keys of
commands know no workspace, and what was done in another one is not to be seen."""
ATTEMPTS = 60
ATTEMPTS_IN_THE_CROWD = 1
"""So often a command tries before it goes first (precedence.py): what it loses to is read anew, and
that costs more than to stand in line."""
PLAN_WORDS = {"entries": "entries", "content_types": "content types"}


class Executed(Struct, frozen=True):
    """What came of a command. ``position``: of its last event; 0 where nothing was to change.

    ``replayed``: the command had been carried out before, and these are the events of then.
    """

    events: tuple[StreamEvent, ...] = ()
    position: int = 0
    content_type: ContentType | None = None
    replayed: bool = False


async def execute(command: Command, repository: Repository) -> Executed:
    """Carry a command out, or raise the Refused that says why not.

    Raises StoreUnavailable where the event store does not answer.
    """
    name = _contended(command)
    async with repository.turns.of(name):
        if name is None:
            return await _execute(command, repository, ATTEMPTS)
        try:
            return await _execute(command, repository, ATTEMPTS_IN_THE_CROWD)
        except StaleDecision:
            async with repository.precedence.of(name):
                return await _execute(command, repository, ATTEMPTS)


async def _execute(command: Command, repository: Repository, attempts: int) -> Executed:
    for attempt in range(attempts):
        await _give_way(command, repository)
        try:
            decision = await _decide(command, repository)
        except Refused:
            if (done := await _done(command, repository)) is None:
                raise
            return done
        if decision.recorded is not None:
            return await _replay(decision.recorded, repository)
        if not decision.events:
            done = await _done(command, repository)
            return done or Executed(content_type=decision.content_type)
        try:
            append = await _append(command, decision, repository)
            appended = await repository.recorder.append(append)
        except StaleAppend:
            _forget(command, repository)
            await asyncio.sleep(random.uniform(0, 0.002 * min(attempt, 10)))  # noqa: S311
            continue
        except Conflict as conflict:
            raise _refusal(conflict, command, decision) from None
        if appended.replayed and isinstance(command, ONCE) and appended.digest != command.digest:
            continue  # another sent it meanwhile, maybe with other rows: now it is recorded
        return await _executed(command, decision, appended, repository)
    raise StaleDecision(f"{type(command).__name__} met a new state {attempts} times over")


async def _give_way(command: Command, repository: Repository) -> None:
    entry_id, scope = _contended(command), getattr(command, "scope", None)
    if entry_id is not None and isinstance(scope, Scope):
        await repository.precedence.give_way(entry_id, scope)


async def _done(command: Command, repository: Repository) -> Executed | None:
    """What came of the command when it was sent before, if it was: a delete that is sent again
    finds no entry, but has not failed."""
    if isinstance(command, ONCE):
        return None
    appended = await repository.recorder.appended(command.key)
    return None if appended is None else await _answered_again(command, appended, repository)


def _contended(command: Command) -> str | None:
    """The existing entry that a command changes."""
    if isinstance(command, commands.CreateEntry):
        return None
    entry_id = getattr(command, "entry_id", None)
    return entry_id if entry_id is not None and is_id(entry_id) else None


async def _decide(command: Command, repository: Repository) -> Decision:
    handler = HANDLERS[type(command)]
    before = repository.served_from_cache
    try:
        return await handler(command, repository)
    except Refused:
        if repository.served_from_cache == before:
            raise
    # What was refused may be right under a content type that is newer than the cached one.
    _forget(command, repository)
    return await handler(command, repository)


def _forget(command: Command, repository: Repository) -> None:
    slug = getattr(command, "content_type_slug", None) or getattr(command, "slug", None)
    scope = getattr(command, "scope", None)
    if isinstance(slug, str) and isinstance(scope, Scope):
        repository.forget(scope, slug)


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
        apart=decision.apart,
    )


async def _executed(
    command: Command, decision: Decision, appended: Appended, repository: Repository
) -> Executed:
    # An append whose acknowledgement was lost is answered from the log, but was made now.
    if not appended.replayed or isinstance(command, ONCE):
        return Executed(tuple(decision.events), appended.last, decision.content_type)
    return await _answered_again(command, appended, repository)


async def _answered_again(command: Command, appended: Appended, repository: Repository) -> Executed:
    if appended.digest != command.digest:
        raise CommandKeyReused
    return await _replay(appended, repository)


async def _replay(appended: Appended, repository: Repository) -> Executed:
    rows = await repository.recorder.log(appended.position - 1, appended.events)
    events = tuple(
        StreamEvent(
            row["originator_id"],
            row["originator_version"],
            repository.mapper.decode(row["topic"], row["state"]),
        )
        for row in rows
    )
    type_id = getattr(events[0].event, "content_type_id", None)
    content_type = await repository.content_type_by_id(type_id) if type_id else None
    return Executed(events, appended.last, content_type, replayed=True)


def _refusal(conflict: Conflict, command: Command, decision: Decision) -> Refused:
    match conflict:
        case LimitConflict(quota=quota, bound=bound):
            return PlanLimitReached(PLAN_WORDS[quota], bound)
        case IdConflict(claim=n):
            return EntryIdTaken(decision.claims[n].entry_id)
        case SlugConflict(claim=n) if decision.claims:
            return SlugTaken(decision.claims[n].slug)
        case SlugConflict():
            return SlugTaken(getattr(command, "slug", ""))
        case ContentTypeConflict():
            return ContentTypeTaken(getattr(command, "slug", ""))
        case ContentTypeNotEmpty():
            return ContentTypeInUse(getattr(command, "slug", ""))
        case KeyConflict():
            return KeyTaken(getattr(command, "name", ""))
    raise conflict
