"""An entry as it was at a moment, for the same page that shows it as it is."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Raw

from api.dashboard.visit import Visit
from api.rest.point_in_time import entry_of_id
from read_side.entry_details import EntryDetails
from read_side.paging import EntrySummary
from write_side.domain.identity import BASE_LANGUAGE

_FIELDS = msgspec.json.Decoder(dict[str, Raw])


async def as_it_was(visit: Visit, entry_id: str, locale: str, at: datetime) -> EntryDetails:
    """Raises UnknownEntry where there was none."""
    past = await entry_of_id(
        visit.service, visit.scope, entry_id=entry_id, locale=locale or BASE_LANGUAGE, at=at
    )
    row, entry, content_type = past.row, past.entry, past.content_type
    return EntryDetails(
        entry=EntrySummary(
            id=row.id,
            type_id=row.type_id or "",
            title=entry.title,
            translated=None if row.title == entry.title else row.title,
            slug=row.slug,
            status=row.status,
            stage_id=entry.stage_id,
            language=row.language,
            created_at=row.created_at,
            updated_at=row.updated_at,
            published_at=row.published_at,
        ),
        type_slug=row.type_slug or "",
        type_name=row.type_name or "",
        version=entry.version,
        definition=content_type.fields,
        fields=_FIELDS.decode(row.fields),
        locales=sorted(entry.translations),
    )
