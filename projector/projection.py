"""Turns events into rows: plain functions without a database."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, get_args

from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from projector.history import add_history, type_change
from projector.rows import (
    EntryState,
    ImportRow,
    MediaRow,
    PastType,
    Rows,
    WebhookRow,
    WorkspaceRow,
)
from write_side.domain import events as e
from write_side.domain.content_type import evolve as evolve_content_type
from write_side.domain.entry import evolve
from write_side.domain.entry_changes import actor_name
from write_side.domain.identity import Actor
from write_side.domain.refusals import ExplainedError
from write_side.domain.webhook import evolve_webhook
from write_side.domain.workspace import evolve_media

_ENTRY_EVENTS = get_args(e.EntryEvent)


class RecordedEvent(Struct, frozen=True):
    """An event, its position in the log and its version in its stream."""

    position: int
    stream: str
    version: int
    event: e.Event


class Skipped(e.Event, frozen=True, kw_only=True):
    """Stands for an event of a workspace that the read model does not hold, which is not read."""

    workspace: str = ""
    actor: Actor = Actor("operator", "")


class Inconsistent(ExplainedError):
    """The event does not match the rows of the read model: one of the two is damaged."""


class RequiredRows(Struct):
    """The keys of the rows that must be known before a batch can be projected. A key is the
    workspace, for an entry also the environment, and the id or name."""

    entries: set[tuple[str, str | None, str]]
    types: set[tuple[str, str]]
    webhooks: set[tuple[str, str]]
    imports: set[tuple[str, str]]


def required_rows(batch: Iterable[RecordedEvent]) -> RequiredRows:
    """The rows that the batch builds on and does not create itself."""
    found = RequiredRows(set(), set(), set(), set())
    created: set[str] = set()
    for recorded in batch:
        event = recorded.event
        match event:
            case e.EntryCreated():
                created.add(event.entry_id)
            case _ if isinstance(event, _ENTRY_EVENTS):
                if event.entry_id not in created:
                    found.entries.add((event.workspace, event.environment, event.entry_id))
            case e.WebhookChanged() | e.WebhookSwitchedOff() | e.WebhookSwitchedOn():
                found.webhooks.add((event.workspace, event.name))
            case e.ImportReverted():
                found.imports.add((event.workspace, event.import_id))
        type_id = getattr(event, "content_type_id", None)
        if type_id is not None:
            found.types.add((event.workspace, type_id))
    return found


def beginning_of(
    batch: list[RecordedEvent], sizes: dict[str, int], most: int
) -> list[RecordedEvent]:
    """The longest beginning of the batch whose entries together have at most this size; at least
    the events of the first entry. ``sizes``: by entry id."""
    total, counted = 0, set[str]()
    for number, recorded in enumerate(batch):
        entry_id = getattr(recorded.event, "entry_id", "")
        if entry_id in sizes and entry_id not in counted:
            counted.add(entry_id)
            total += sizes[entry_id]
            if total > most and number:
                return batch[:number]
    return batch


def project(batch: Iterable[RecordedEvent], before: Rows) -> Rows:
    """The rows that the batch changes: at most one for each key, however many events it has."""
    after = Rows()
    for recorded in batch:
        _STEPS[type(recorded.event)](recorded, recorded.event, before, after)
    return after


def next_state(before: EntryState | None, recorded: RecordedEvent) -> EntryState:
    """The entry after its next event. Raises Inconsistent if the event is not the next one."""
    event: Any = recorded.event
    is_created = isinstance(event, e.EntryCreated)
    if before is None or before.entry.deleted:
        if not is_created:
            raise Inconsistent(
                f"{recorded.stream} at position {recorded.position} was never created"
            )
        state = EntryState(evolve(None, event), recorded.position, event.at)
    else:
        if is_created:
            raise Inconsistent(
                f"{recorded.stream} is created again at position {recorded.position}"
            )
        entry = evolve(before.entry, event)
        since = before.slug_since if entry.slug == before.entry.slug else event.at
        state = EntryState(entry, before.position, since)
    if state.entry.version != recorded.version:
        raise Inconsistent(
            f"{recorded.stream} has version {recorded.version} at position {recorded.position}, "
            f"but {state.entry.version} was expected"
        )
    return state


def _entry(recorded: RecordedEvent, event: Any, before: Rows, after: Rows) -> None:
    known = _known(after.entries, before.entries, event.entry_id)
    content_type = _required(after.types, before.types, event.content_type_id, recorded)
    state = next_state(known, recorded)
    after.entries[event.entry_id] = None if state.entry.deleted else state
    add_history(after, event, recorded.position, known, state, content_type.slug)


def _type(recorded: RecordedEvent, event: e.ContentTypeEvent, before: Rows, after: Rows) -> None:
    known = None
    if not isinstance(event, e.ContentTypeCreated):
        known = _required(after.types, before.types, event.content_type_id, recorded)
    type_ = replace(evolve_content_type(known, event), version=recorded.version)
    after.types[type_.id] = None if type_.removed else type_
    after.changes.append(type_change(event, recorded.position, type_))
    if type_.removed:
        after.past_types.append(
            PastType(
                workspace=type_.workspace,
                environment=type_.environment,
                slug=type_.slug,
                position=recorded.position,
                id=type_.id,
                since=type_.created_at,
                until=event.at,
            )
        )


def _workspace(
    _r: RecordedEvent, event: e.WorkspaceCreated | e.WorkspaceRenamed, _b: Rows, after: Rows
) -> None:
    after.workspaces[event.workspace] = WorkspaceRow(slug=event.workspace, name=event.name)


def _media(_r: RecordedEvent, event: Any, _b: Rows, after: Rows) -> None:
    key = (event.workspace, event.media_id)
    if isinstance(event, e.MediaRemoved):
        after.media[key] = None
        return
    after.media[key] = convert(evolve_media(None, event), MediaRow, from_attributes=True)


def _webhook(recorded: RecordedEvent, event: Any, before: Rows, after: Rows) -> None:
    key = (event.workspace, event.name)
    known = None
    if not isinstance(event, e.WebhookCreated | e.WebhookRemoved):
        known = _required(after.webhooks, before.webhooks, key, recorded)
    webhook = evolve_webhook(known, event, recorded.version)
    after.webhooks[key] = (
        None
        if webhook is None
        else WebhookRow(**{**asdict(webhook), "position": recorded.position})
    )


def _import(_r: RecordedEvent, event: e.ImportRecorded, _b: Rows, after: Rows) -> None:
    assert event.environment is not None
    after.imports[event.import_id] = ImportRow(
        id=event.import_id,
        workspace=event.workspace,
        environment=event.environment,
        content_type_id=event.content_type_id,
        file_name=event.file_name,
        created=event.created,
        updated=event.updated,
        unchanged=event.unchanged,
        skipped=event.skipped,
        failed=event.failed,
        imported_by=actor_name(event.by or event.actor),
        imported_at=event.at,
    )


def _reverted(recorded: RecordedEvent, event: e.ImportReverted, before: Rows, after: Rows) -> None:
    known = _required(after.imports, before.imports, event.import_id, recorded)
    after.imports[event.import_id] = replace(known, reverted_at=event.at)


def _ignore(_r: RecordedEvent, _event: Any, _b: Rows, _after: Rows) -> None:
    """These events change no rows."""


_STEPS: dict[type[e.Event], Callable[[RecordedEvent, Any, Rows, Rows], None]] = {
    e.WorkspaceCreated: _workspace,
    e.WorkspaceRenamed: _workspace,
    e.PlanChanged: _ignore,
    e.EnvironmentAdded: _ignore,
    e.KeyIssued: _ignore,
    e.KeyPermissionsChanged: _ignore,
    e.KeyRevoked: _ignore,
    e.ContentTypeCreated: _type,
    e.ContentTypeRevised: _type,
    e.ContentTypeRemoved: _type,
    **dict.fromkeys(_ENTRY_EVENTS, _entry),
    e.MediaAdded: _media,
    e.MediaChanged: _media,
    e.MediaRemoved: _media,
    e.WebhookCreated: _webhook,
    e.WebhookChanged: _webhook,
    e.WebhookRemoved: _webhook,
    e.WebhookSwitchedOff: _webhook,
    e.WebhookSwitchedOn: _webhook,
    e.WebhookSecretRotated: _ignore,
    e.ImportRecorded: _import,
    e.ImportReverted: _reverted,
    e.ImportMappingSaved: _ignore,
    Skipped: _ignore,
}


def _known(after: dict[Any, Any], before: dict[Any, Any], key: Any) -> Any:
    return after[key] if key in after else before.get(key)


def _required(
    after: dict[Any, Any], before: dict[Any, Any], key: Any, recorded: RecordedEvent
) -> Any:
    known = _known(after, before, key)
    if known is None:
        raise Inconsistent(
            f"{recorded.stream} at position {recorded.position} builds on a row that is missing"
        )
    return known
