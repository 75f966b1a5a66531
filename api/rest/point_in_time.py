"""Entries at a past time: their streams and those of their content types, folded up to then."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Raw, Struct

from api.context import Service
from api.errors import BadRequest, NotVisibleYet
from api.rest.parameters import future_time
from read_side.entries import EntryRow, slug_owner
from read_side.past_lists import Moment, past_page
from read_side.queries.request import Boundary, EntryQuery
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.events import Translation
from write_side.domain.identity import Scope
from write_side.domain.refusals import UnknownContentType, UnknownEntry
from write_side.entry_history import (
    UNBOUNDED,
    ReadBudget,
    content_types_at,
    entries_after,
    entries_at,
)
from write_side.waiting import in_slices

EVENTS = 20_000
BYTES = 16 * 1024 * 1024
"""The size of the events that are folded for a list; a single entry may exceed it."""
RECENT = timedelta(seconds=1)
"""More than this process's estimate of the event store's clock may be off."""
MILLISECOND = timedelta(milliseconds=1)
"""The resolution of the times of events."""
PAUSE = 0.005
"""Seconds between two checks for appends in progress, most of which take less."""


class PastEntry(Struct, frozen=True):
    """``row`` is ready to serve, like a row of the read model; it was rendered from the other
    members."""

    row: EntryRow
    entry: Entry
    content_type: ContentType


class PastSlugKey(Struct, frozen=True):
    """A slug at a time, and the locale of the entry's texts."""

    type_slug: str
    slug: str
    language: str
    locale: str
    at: datetime


class PastList(Struct, frozen=True):
    """A page; see ``PastPage``. ``position``: of the last event that it includes."""

    entries: list[PastEntry]
    total: int | None
    next: Boundary | None
    position: int


class ListBudget(ReadBudget):
    """The budget of a list over REST. Raises BadRequest."""

    def begin_stream(self) -> None:
        if self.events >= EVENTS or self.read >= BYTES:
            raise BadRequest(
                f"asOf would read more than {EVENTS:,} changes of these entries, "
                f"or {BYTES:,} bytes of them: use a smaller limit or include fewer paths"
            )


async def entry_of_slug(
    service: Service, scope: Scope, key: PastSlugKey, budget: ReadBudget = UNBOUNDED
) -> PastList:
    """The entry that had the slug at that time, as a page. Raises NotFound, UnknownContentType or
    UnknownEntry if there was none, BadRequest for a time in the future, NotVisibleYet,
    ReadModelUnavailable, StoreUnavailable, Overloaded, and what the budget raises.

    The read model identifies the entry; the log has its content. If the log says that the entry had
    another slug at that time, the read model is behind, and the entry is not found.
    """
    moment = await _moment(service, key.at)
    owner = await slug_owner(
        service.read_model,
        scope,
        type_slug=key.type_slug,
        slug=key.slug,
        language=key.language,
        at=key.at,
    )
    repository = service.repository
    async with repository.recorder.long_reads.turn(scope.workspace):
        # The type first: after a long entry, the budget would refuse to read it.
        types = await content_types_at(repository, scope, [owner.type_id], key.at, budget)
        if owner.type_id not in types:
            raise UnknownContentType
        entries = await entries_at(repository, scope, [owner.entry_id], key.at, budget)
    entry, content_type = entries.get(owner.entry_id), types[owner.type_id]
    if entry is None or entry.slug != key.slug:
        raise UnknownEntry
    past = PastEntry(rendered(entry, content_type, key.locale), entry, content_type)
    return PastList([past], 1, None, moment.position)


async def entry_of_id(
    service: Service, scope: Scope, *, entry_id: str, locale: str, at: datetime
) -> PastEntry:
    """Raises BadRequest, NotVisibleYet, UnknownEntry, and what ``entries_of_ids`` raises."""
    await _check_past(service, at)
    found = await entries_of_ids(service, scope, [entry_id], UNBOUNDED, locale=locale, at=at)
    if entry_id not in found:
        raise UnknownEntry
    return found[entry_id]


async def list_at(
    service: Service,
    scope: Scope,
    query: EntryQuery,
    budget: ReadBudget,
    *,
    locale: str,
) -> PastList:
    """A page of the list as it was at the time of the query.

    Raises what ``past_page`` raises, BadRequest for a time in the future, NotVisibleYet,
    StoreUnavailable, Overloaded, and what the budget raises.
    """
    assert query.as_of is not None
    repository, moment = service.repository, await _moment(service, query.as_of)
    async with repository.recorder.long_reads.turn(scope.workspace):
        page = await past_page(service.read_model, scope, query, moment)
        type_ids = {row.type_id for row in page.rows}
        types = await content_types_at(repository, scope, type_ids, moment.at, budget)
        versions = {row.id: row.version for row in page.rows}
        entries = await entries_after(repository, scope, versions, budget)
        # The read model may be of a log that was restored to an earlier point since.
        known = [entries[row.id] for row in page.rows if row.id in entries and row.type_id in types]
        found = await _rendered(known, types, locale)
    return PastList(found, page.total, page.next, moment.position)


async def entries_of_ids(
    service: Service,
    scope: Scope,
    ids: Iterable[str],
    budget: ReadBudget,
    *,
    locale: str,
    at: datetime,
) -> dict[str, PastEntry]:
    """The entries with these ids that existed at that time. Raises StoreUnavailable, Overloaded,
    and what the budget raises."""
    repository = service.repository
    async with repository.recorder.long_reads.turn(scope.workspace):
        entries = await entries_at(repository, scope, ids, at, budget)
        type_ids = {one.content_type_id for one in entries.values()}
        types = await content_types_at(repository, scope, type_ids, at, budget)
        found = await _rendered(entries.values(), types, locale)
    return {one.entry.id: one for one in found}


async def _rendered(
    entries: Iterable[Entry], types: Mapping[str, ContentType], locale: str
) -> list[PastEntry]:
    found = []
    async for entry in in_slices(entries):
        content_type = types[entry.content_type_id]
        found.append(PastEntry(rendered(entry, content_type, locale), entry, content_type))
    return found


async def _moment(service: Service, at: datetime) -> Moment:
    """Waits until the read model has all events up to this time. Raises BadRequest for a time in
    the future, NotVisibleYet, StoreUnavailable."""
    await _check_past(service, at)
    moment = Moment(at, await service.repository.recorder.position_at(at))
    if not await service.checkpoint.wait(moment.position, service.settings.read_your_writes):
        raise NotVisibleYet
    return moment


async def _check_past(service: Service, at: datetime) -> None:
    """Waits until the log has every event that can get this time or an earlier one. Raises
    BadRequest for a time that the event store's clock has not reached, and NotVisibleYet."""
    recorder, clock = service.repository.recorder, asyncio.get_running_loop().time
    # The clock may have been set forward since this process last read it.
    if at > service.access.store_time() - RECENT:
        now = await recorder.time()
        if at >= now + MILLISECOND:
            raise future_time(at)
        if at >= now:
            await asyncio.sleep(MILLISECOND.total_seconds())
    deadline = clock() + service.settings.read_your_writes
    while await recorder.is_appending(at):
        if clock() >= deadline:
            raise NotVisibleYet
        await asyncio.sleep(PAUSE)


def rendered(entry: Entry, content_type: ContentType, locale: str) -> EntryRow:
    """The entry as the read model would return it, with this version of its content type."""
    renderer = content_type.renderer
    texts = entry.translations.get(locale, Translation())
    return EntryRow(
        id=entry.id,
        title=texts.title or entry.title,
        slug=entry.slug,
        status=entry.status,
        stage=renderer.stage(entry.status, entry.stage_id),
        language=entry.language,
        published_at=entry.published_at,
        created_at=entry.created_at,
        updated_at=entry.updated_at,
        fields=Raw(renderer.render(renderer.translated(entry.fields, texts.fields))),
        type_id=content_type.id,
        type_name=content_type.name,
        type_slug=content_type.slug,
    )
