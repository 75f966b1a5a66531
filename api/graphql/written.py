"""The entry right after a mutation, of the log: right even where no projector runs."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from write_side.dispatch import Executed
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry, fold
from write_side.domain.events import EntryCreated
from write_side.domain.identity import Scope
from write_side.repository import Repository


class Written(Struct, frozen=True):
    """``entry_id``: of the entry that the command named; a new one is named by its event."""

    scope: Scope
    entry_id: str | None
    executed: Executed


async def entry_after(written: Written, repository: Repository) -> tuple[Entry, ContentType]:
    """As the command has left it, whatever has happened since. Of one that changed nothing, as it
    is by now."""
    executed = written.executed
    content_type = executed.content_type
    assert content_type is not None
    if not executed.events:
        assert written.entry_id is not None
        return await repository.entry(written.scope, written.entry_id), content_type
    last = executed.events[-1]
    events: list[Any]
    if isinstance(last.event, EntryCreated):
        events = [last.event]
    else:
        stored = await repository.recorder.select_events(
            last.originator_id, lte=last.originator_version
        )
        events = [repository.mapper.decode(event.topic, event.state) for event in stored]
    entry = fold(events)
    assert entry is not None
    return entry, content_type
