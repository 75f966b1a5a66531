"""The page of one entry: its fields, its translations and its history."""

from __future__ import annotations

from datetime import datetime

import msgspec
from aiohttp import web
from msgspec import Raw, Struct

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.entry_changes import FieldDifference, differences_of, values_of
from api.dashboard.entry_list import stage_of
from api.dashboard.page_handlers import show
from api.dashboard.reference_names import reference_names
from api.dashboard.values import Known, Shown, shown
from api.rest import parameters
from api.rest.point_in_time import entry_of_id
from read_side.content_types import content_type
from read_side.entry_details import EntryDetails, entry_details, titles
from read_side.lookups import media_files
from read_side.paging import EntrySummary
from read_side.refusals import TypeNotFound
from write_side.domain.changes import Change
from write_side.domain.definition import Field, Stage
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.values import NULL, targets
from write_side.entry_history import HistoryRequest, histories

CHANGES = 20
_FIELDS = msgspec.json.Decoder(dict[str, Raw])


class FieldLine(Struct, frozen=True):
    """A field and its value; None for a section, which is a heading."""

    field: Field
    value: Shown | None


async def show_entry(request: DashboardRequest) -> web.StreamResponse:
    """In the locale and at the time that the address names."""
    query = request.query
    locale = parameters.locale(query) if query.get("locale") else ""
    at = parameters.as_of({"asOf": query.get("asOf", "")})
    entry_id = request.request.match_info["id"]
    if at is None:
        looked = await entry_details(*request.read_model, entry_id=entry_id, locale=locale)
    else:
        looked = await _entry_at(request, entry_id, locale, at)
    stages = await _stages(request, looked)
    history = await _history(request, looked, stages, locale)
    last = history[-1][0].version if len(history) == CHANGES else 0
    return await show(
        request,
        "entry.html",
        looked=looked,
        entry=looked.entry,
        stage=stage_of(stages, looked.entry),
        lines=await _lines(request, looked, locale),
        locale=locale,
        at=at,
        history=history,
        before=last if last > 1 else 0,
    )


async def _entry_at(
    request: DashboardRequest, entry_id: str, locale: str, at: datetime
) -> EntryDetails:
    """Raises UnknownEntry if it did not exist at the time."""
    past = await entry_of_id(
        request.service, request.scope, entry_id=entry_id, locale=locale or BASE_LANGUAGE, at=at
    )
    row, entry = past.row, past.entry
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
        definition=past.content_type.fields,
        fields=_FIELDS.decode(row.fields),
        locales=sorted(entry.translations),
    )


async def _stages(request: DashboardRequest, looked: EntryDetails) -> tuple[Stage, ...]:
    """The current ones, for a past version too."""
    try:
        return (await content_type(*request.read_model, looked.type_slug)).stages
    except TypeNotFound:
        return ()


async def _lines(request: DashboardRequest, looked: EntryDetails, locale: str) -> list[FieldLine]:
    found = list(targets(looked.definition, looked.fields))
    entries = {target.id for target in found if target.is_entry}
    media = {target.id for target in found if not target.is_entry}
    known = Known(
        entries=await titles(*request.read_model, entries, locale),
        media=await media_files(request.service.read_model, request.scope.workspace, media),
    )
    return [
        FieldLine(field, shown(field, looked.fields.get(field.slug, NULL), known))
        if field.spec.holds_values
        else FieldLine(field, None)
        for field in looked.definition
    ]


async def _history(
    request: DashboardRequest, looked: EntryDetails, stages: tuple[Stage, ...], locale: str
) -> list[tuple[Change, list[FieldDifference]]]:
    """From the log, which can be ahead of the fields shown; for a past version, nothing later."""
    text = request.query.get("before", "")
    before = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None
    if request.query.get("asOf"):
        latest = looked.version + 1
        before = latest if before is None else min(before, latest)
    asked = HistoryRequest(looked.entry.id, limit=CHANGES, before=before)
    [changes] = await histories(request.repository, request.scope, [asked])
    names = await reference_names(request, values_of(changes, looked.definition), locale)
    return [
        (change, differences_of(change, looked.definition, stages, names)) for change in changes
    ]
