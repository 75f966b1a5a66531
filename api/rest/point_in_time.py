"""An entry at a past time: its stream and that of its content type, folded up to that time."""

from __future__ import annotations

from datetime import datetime

from msgspec import Raw, Struct

from api.context import Service
from api.rest.parameters import future_time
from read_side.entries import EntryRow, slug_owner
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.events import Translation
from write_side.domain.identity import Scope
from write_side.domain.refusals import UnknownEntry
from write_side.domain.rendering import Renderer
from write_side.entry_history import UNBOUNDED, ReadBudget, content_type_at, entry_at


class PastEntry(Struct, frozen=True):
    """``row`` is ready to serve, like a row of the read model; it was rendered from the other
    members."""

    row: EntryRow
    entry: Entry
    content_type: ContentType


async def entry_of_slug(
    service: Service,
    scope: Scope,
    budget: ReadBudget = UNBOUNDED,
    /,
    *,
    type_slug: str,
    slug: str,
    language: str,
    locale: str,
    at: datetime,
) -> PastEntry:
    """The entry that had the slug at that time. Raises NotFound, UnknownContentType or UnknownEntry
    if there was none, BadRequest for a time in the future, ReadModelUnavailable, StoreUnavailable,
    and what the budget raises.

    The read model identifies the entry; the log has its content. If the log says that the entry had
    another slug at that time, the read model is behind, and the entry is not found.
    """
    await _check_past(service, at)
    owner = await slug_owner(
        service.read_model,
        scope,
        type_slug=type_slug,
        slug=slug,
        language=language,
        at=at,
    )
    content_type = await content_type_at(service.repository, scope, owner.type_id, at, budget)
    entry = await entry_at(service.repository, scope, owner.entry_id, at, budget)
    if entry.slug != slug:
        raise UnknownEntry
    return PastEntry(rendered(entry, content_type, locale), entry, content_type)


async def entry_of_id(
    service: Service, scope: Scope, *, entry_id: str, locale: str, at: datetime
) -> PastEntry:
    """Raises BadRequest, UnknownEntry, UnknownContentType, StoreUnavailable."""
    await _check_past(service, at)
    entry = await entry_at(service.repository, scope, entry_id, at)
    content_type = await content_type_at(service.repository, scope, entry.content_type_id, at)
    return PastEntry(rendered(entry, content_type, locale), entry, content_type)


async def _check_past(service: Service, at: datetime) -> None:
    """Raises BadRequest for a time that the event store's clock has not reached."""
    # The clock may have been set forward since this process last read it.
    if at > service.access.store_time() and at > await service.repository.recorder.time():
        raise future_time(at)


def rendered(entry: Entry, content_type: ContentType, locale: str) -> EntryRow:
    """The entry as the read model would return it, with this version of its content type."""
    renderer = Renderer(content_type.fields, content_type.stages)
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
