"""Restoring an earlier version of an entry: an ordinary update with the values of that version."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from aiohttp import web
from msgspec import Raw

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import Form, redirect
from api.dashboard.table_pages import number
from api.dashboard.wizard.wizard_steps import wait_until_readable
from api.errors import BadRequest
from write_side.commands import UpdateEntry
from write_side.dispatch import execute
from write_side.domain.entry import Entry, restored_fields
from write_side.domain.events import Translation
from write_side.entry_history import entry_versions


async def restore_version(request: DashboardRequest, form: Form) -> web.StreamResponse:
    """``expected``: the version that the page showed as the current one; the update is refused if
    there is a later one."""
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
        ),
        request.repository,
        request.service.limits.projection(request.known_caller),
    )
    await wait_until_readable(request, done.position)
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
