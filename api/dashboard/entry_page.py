"""The page of one entry: its fields, its translations and its history, and how an earlier version
is restored."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from aiohttp import web
from msgspec import Raw, Struct

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.entry_changes import CHANGES, entry_changes, requested_comparison
from api.dashboard.entry_list import stage_of
from api.dashboard.excerpts import CHARACTERS, ITEMS, Excerpt, Truncator, value_at
from api.dashboard.page_handlers import Form, redirect, show
from api.dashboard.table_pages import number
from api.dashboard.values import DisplayValue, ReferenceTargets, display_value, reference_targets
from api.errors import BadRequest
from api.http.default_headers import IMAGE_SOURCES
from api.rest import parameters
from api.rest.point_in_time import entry_of_id
from read_side.content_types import content_type
from read_side.entry_details import EntryDetails, entry_details, translated_fields
from read_side.paging import EntrySummary
from read_side.refusals import TypeNotFound
from write_side.commands import UpdateEntry
from write_side.dispatch import execute
from write_side.domain.definition import Field, Stage
from write_side.domain.entry import Entry, restored_fields
from write_side.domain.events import Translation
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.rendering import stored_values
from write_side.domain.values import NULL
from write_side.entry_history import entry_versions


class FieldLine(Struct, frozen=True):
    """A field and its value; None for a section, which is a heading. ``language``: of its texts."""

    field: Field
    value: DisplayValue | None
    language: str


async def show_entry(request: DashboardRequest) -> web.StreamResponse:
    """In the locale and at the time of the URL."""
    details, locale, at = await _details(request)
    stages = await _stages(request, details)
    versions = await requested_comparison(request, details, stages, locale)
    history = [] if versions else await entry_changes(request, details, stages, locale)
    last = history[-1].change.version if len(history) == CHANGES else 0
    return await show(
        request,
        "entry.html",
        details=details,
        entry=details.entry,
        stage=stage_of(stages, details.entry),
        lines=await _lines(request, details, locale),
        address=_value_address(request, details, locale),
        locale=locale,
        at=at,
        comparison=versions,
        history=history,
        before=last if last > 1 else 0,
    )


async def show_value(request: DashboardRequest) -> web.StreamResponse:
    """One value of the entry, page by page."""
    details, locale, _at = await _details(request)
    path, first = request.query.get("path", ""), number(request.query.get("start", "")) or 0
    field, value = value_at(details.definition, details.fields, path)
    shown = Truncator().excerpt(field, value, path, first)
    step = ITEMS if field.multiple or field.spec.is_nested else CHARACTERS
    display = display_value(shown, await _targets(request, [shown], locale))
    display.cut = None  # no link to this page
    return await show(
        request,
        "value.html",
        details=details,
        shown=shown,
        display=display,
        address=_value_address(request, details, locale),
        before=max(first - step, 0),
        locale=locale,
        language=details.field_language(path.partition(".")[0], locale),
        as_of=request.query.get("asOf", ""),
    )


def _value_address(request: DashboardRequest, details: EntryDetails, locale: str) -> str:
    """The URL of ``show_value``; the path of a value is appended."""
    as_of = request.query.get("asOf", "")
    address = request.link("entries", details.entry.id, "value", locale=locale, asOf=as_of)
    return f"{address}{'&' if '?' in address else '?'}path="


async def _details(request: DashboardRequest) -> tuple[EntryDetails, str, datetime | None]:
    """The entry in the locale and at the time of the URL, and both of these."""
    query = request.query
    locale = parameters.locale(query) if query.get("locale") else ""
    at = parameters.as_of({"asOf": query.get("asOf", "")})
    entry_id = request.request.match_info["id"]
    if at is None:
        details = await entry_details(*request.read_model, entry_id=entry_id, locale=locale)
    else:
        details = await _entry_at(request, entry_id, locale, at)
    return details, locale, at


async def _entry_at(
    request: DashboardRequest, entry_id: str, locale: str, at: datetime
) -> EntryDetails:
    """Raises UnknownEntry if it did not exist at the time."""
    past = await entry_of_id(
        request.service, request.scope, entry_id=entry_id, locale=locale or BASE_LANGUAGE, at=at
    )
    row, entry = past.row, past.entry
    texts = entry.translations.get(locale)
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
        fields=stored_values(row.fields),
        locales=sorted(entry.translations),
        translated=translated_fields(texts.fields if texts else {}),
    )


async def _stages(request: DashboardRequest, details: EntryDetails) -> tuple[Stage, ...]:
    """The current ones, even for a past version."""
    try:
        return (await content_type(*request.read_model, details.type_slug)).stages
    except TypeNotFound:
        return ()


async def _lines(request: DashboardRequest, details: EntryDetails, locale: str) -> list[FieldLine]:
    truncator = Truncator()
    shown = [
        truncator.excerpt(field, details.fields.get(field.slug, NULL), field.slug)
        for field in details.definition
        if field.spec.holds_values
    ]
    targets = await _targets(request, shown, locale)
    values = {excerpt.path: display_value(excerpt, targets) for excerpt in shown}
    return [
        FieldLine(field, values.get(field.slug), details.field_language(field.slug, locale))
        for field in details.definition
    ]


async def _targets(
    request: DashboardRequest, excerpts: Sequence[Excerpt], locale: str
) -> ReferenceTargets:
    entries = {target for excerpt in excerpts for target in excerpt.targets("entry")}
    media = {target for excerpt in excerpts for target in excerpt.targets("media")}
    found = await reference_targets(request, entries, media, locale)
    if request.service.settings.thumbnails:
        sources = {file.image_source for file in found.media.values()}
        request.request[IMAGE_SOURCES] = frozenset(source for source in sources if source)
    return found


async def restore_version(request: DashboardRequest, form: Form) -> web.StreamResponse:
    """The update is refused if there is a later version than ``expected``, which the page showed as
    the current one."""
    entry_id = request.request.match_info["id"]
    version = number(form.get("version", ""))
    if not version:
        raise BadRequest("The form names no version to restore")
    past = (await entry_versions(request.repository, request.scope, entry_id, {version}))[version]
    current = await request.repository.entry(request.scope, entry_id)
    content_type = await request.repository.content_type_by_id(current.content_type_id)
    slugs = {field.slug for field in content_type.value_fields}
    done = await execute(
        UpdateEntry(
            actor=request.actor,
            request_id=request.request_id,
            scope=request.scope,
            entry_id=entry_id,
            title=past.title,
            slug=past.slug,
            fields=_existing_fields(restored_fields(past.fields, current.fields), slugs),
            translations=_restored_translations(past, current, slugs),
            expected_version=number(form.get("expected", "")),
            restored=past.fields,
        ),
        request.repository,
        request.service.limits.projection(request.caller),
    )
    await request.wait_until_readable(done.position)
    return redirect(f"{request.link('entries', entry_id)}#history")


def _restored_translations(
    past: Entry, current: Entry, slugs: Collection[str]
) -> dict[str, Translation]:
    """The changes of all translations that differ. In a change, "" removes a title."""
    changes = {}
    for locale in {**current.translations, **past.translations}:
        old = past.translations.get(locale, Translation())
        new = current.translations.get(locale, Translation())
        if old != new:
            fields = _existing_fields(restored_fields(old.fields, new.fields), slugs)
            changes[locale] = Translation(old.title or "", fields)
    return changes


def _existing_fields(fields: Mapping[str, Raw], slugs: Collection[str]) -> dict[str, Raw]:
    """Values of fields that the content type still has."""
    return {slug: value for slug, value in fields.items() if slug in slugs}
