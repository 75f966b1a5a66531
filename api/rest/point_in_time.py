"""An entry as it was at a time: its stream and its content type's folded up to then."""

from __future__ import annotations

from datetime import datetime

from msgspec import Raw, Struct

from api.context import Service
from read_side.entries import EntryRow, slug_owner
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.events import Translation
from write_side.domain.identity import Scope
from write_side.domain.refusals import UnknownEntry
from write_side.domain.rendering import Renderer
from write_side.history import UNBOUNDED, Allowance, content_type_at, entry_at


class PastEntry(Struct, frozen=True):
    """``row`` is ready to serve, as the read model's are; the rest is what it was made of."""

    row: EntryRow
    entry: Entry
    content_type: ContentType


async def entry_of_slug(
    service: Service,
    scope: Scope,
    allowance: Allowance = UNBOUNDED,
    /,
    *,
    type_slug: str,
    slug: str,
    language: str,
    locale: str,
    at: datetime,
) -> PastEntry:
    """What had the slug then, whoever has it now. Raises NotFound, UnknownContentType or
    UnknownEntry where there was none, ReadModelUnavailable, StoreUnavailable, and what the
    allowance raises.

    The read model says whose it was, the log what it was: an entry that has been renamed or deleted
    in the log, and not yet in the read model, was so at a time since then.
    """
    owner = await slug_owner(
        service.read_model,
        scope.workspace,
        scope.environment,
        type_slug=type_slug,
        slug=slug,
        language=language,
        at=at,
    )
    content_type = await content_type_at(service.repository, scope, owner.type_id, at, allowance)
    entry = await entry_at(service.repository, scope, owner.entry_id, at, allowance)
    if entry.slug != slug:
        raise UnknownEntry
    return PastEntry(rendered(entry, content_type, locale), entry, content_type)


async def entry_of_id(
    service: Service, scope: Scope, *, entry_id: str, locale: str, at: datetime
) -> PastEntry:
    """Raises UnknownEntry, UnknownContentType, StoreUnavailable."""
    entry = await entry_at(service.repository, scope, entry_id, at)
    content_type = await content_type_at(service.repository, scope, entry.content_type_id, at)
    return PastEntry(rendered(entry, content_type, locale), entry, content_type)


def rendered(entry: Entry, content_type: ContentType, locale: str) -> EntryRow:
    """An entry of the log as the read model would serve it, under this version of its type."""
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
