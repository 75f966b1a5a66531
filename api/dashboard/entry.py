"""One entry: all its fields, its translations, and what has happened to it."""

from __future__ import annotations

from datetime import datetime

from aiohttp import web
from msgspec import Struct

from api.dashboard.changes import Step, steps, values_of
from api.dashboard.entries import stage_of
from api.dashboard.pages import show
from api.dashboard.past import as_it_was
from api.dashboard.pointing import names_of
from api.dashboard.values import Known, Shown, shown
from api.dashboard.visit import Visit
from api.rest import parameters
from read_side.content_types import content_type
from read_side.entry_details import EntryDetails, entry_details, titles
from read_side.lookups import media_files
from read_side.refusals import TypeNotFound
from write_side.domain.definition import Field, Stage
from write_side.domain.values import NULL, targets
from write_side.history import Asked, histories

CHANGES = 20


class Line(Struct, frozen=True):
    """A field and its value; a section is a heading among them."""

    field: Field
    value: Shown | None


async def page(visit: Visit) -> web.StreamResponse:
    """In a locale, and as of a moment, where the address says so."""
    query = visit.request.query
    entry_id, locale = visit.request.match_info["id"], query.get("locale", "")
    locale = parameters.locale(query) if locale else ""
    at = parameters.as_of({"asOf": query.get("asOf", "")})
    looked = await _looked(visit, entry_id, locale, at)
    stages = await _stages(visit, looked)
    changes = await _history(visit, looked, stages, query.get("before", ""), locale)
    return await show(
        visit,
        "entry.html",
        looked=looked,
        entry=looked.entry,
        stage=stage_of(stages, looked.entry),
        lines=await _lines(visit, looked, locale),
        locale=locale,
        at=at,
        history=changes,
        more=changes[-1].version if len(changes) == CHANGES and changes[-1].version > 1 else 0,
    )


async def _looked(visit: Visit, entry_id: str, locale: str, at: datetime | None) -> EntryDetails:
    if at is not None:
        return await as_it_was(visit, entry_id, locale, at)
    return await entry_details(
        visit.service.read_model,
        visit.scope.workspace,
        visit.scope.environment,
        entry_id=entry_id,
        locale=locale,
    )


async def _stages(visit: Visit, looked: EntryDetails) -> tuple[Stage, ...]:
    """As they are now, for an entry of the past too."""
    scope = visit.scope
    try:
        found = await content_type(
            visit.service.read_model, scope.workspace, scope.environment, looked.type_slug
        )
    except TypeNotFound:
        return ()
    return found.stages


async def _lines(visit: Visit, looked: EntryDetails, locale: str) -> list[Line]:
    pool, scope = visit.service.read_model, visit.scope
    found = list(targets(looked.definition, looked.fields))
    entries = {target.id for target in found if target.is_entry}
    media = {target.id for target in found if not target.is_entry}
    known = Known(
        entries=await titles(pool, scope.workspace, scope.environment, entries, locale),
        media=await media_files(pool, scope.workspace, media),
    )
    return [
        Line(field, shown(field, looked.fields.get(field.slug, NULL), known))
        if field.spec.holds_values
        else Line(field, None)
        for field in looked.definition
    ]


async def _history(
    visit: Visit, looked: EntryDetails, stages: tuple[Stage, ...], before: str, locale: str
) -> list[Step]:
    """Of the log, which may be a change ahead of what is shown; in the past, nothing later."""
    number = int(before) if before.isascii() and before.isdigit() and len(before) < 9 else None
    if visit.request.query.get("asOf"):
        latest = looked.version + 1
        number = latest if number is None else min(number, latest)
    asked = Asked(looked.entry.id, limit=CHANGES, before=number)
    [changes] = await histories(visit.service.repository, visit.scope, [asked])
    names = await names_of(visit, values_of(changes, looked.definition), locale)
    return steps(changes, looked.definition, stages, names)
