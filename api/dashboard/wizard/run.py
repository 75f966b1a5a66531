"""The import itself, of what was shown and agreed to."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from aiohttp import web

from api.dashboard.pages import Form, see
from api.dashboard.visit import Visit
from api.dashboard.wizard.preview import show_preview
from api.dashboard.wizard.steps import actor_of, readable, request_of, result_of, shown_at
from write_side.imports.columns import MappingRefused
from write_side.imports.importer import Changed, run_import
from write_side.imports.preview import Difference
from write_side.imports.uploads import (
    Previewed,
    Upload,
    drop_upload,
    find_preview,
    keep_preview,
)
from write_side.store.conflicts import StoreUnavailable

_OTHERWISE = (
    "Nothing was imported: another preview was made of this file since, perhaps in another tab"
)
_CHANGED = "Nothing was imported: the content has changed since this file was checked"


async def run(visit: Visit, upload: Upload, form: Form) -> web.StreamResponse:
    """Once, however often it is sent: the upload's id is the import's."""
    repository, scope = visit.service.repository, visit.scope
    kept = await find_preview(repository, scope, upload.id)
    if kept is None:
        return see(visit.link("imports", upload.id, "columns"))
    if form.get("digest") != kept.preview.digest:
        return await _refuse(visit, upload, kept, 409, problem=_OTHERWISE)
    if not kept.preview.counts.ready:
        return await _refuse(visit, upload, kept, 422)
    by, request = actor_of(visit), request_of(visit)
    try:
        done = await run_import(repository, upload.table, kept.request, by, kept.preview, request)
    except MappingRefused:
        # The content type has other fields now: that page says at which column.
        return see(visit.link("imports", upload.id, "columns"))
    if isinstance(done, Changed):
        return await _show_changes(visit, upload, kept, done)
    # The file is in the log now. Where it stays for once, it is swept up in a day.
    with contextlib.suppress(StoreUnavailable):
        await drop_upload(repository, scope, upload.id)
    await readable(visit, done.position)
    return see(result_of(visit))


async def _show_changes(
    visit: Visit, upload: Upload, shown: Previewed, changed: Changed
) -> web.StreamResponse:
    kept = Previewed(shown.request, changed.preview)
    await keep_preview(visit.service.repository, visit.scope, upload.id, kept.request, kept.preview)
    return await _refuse(
        visit, upload, kept, 409, problem=_CHANGED, differences=changed.differences
    )


async def _refuse(
    visit: Visit,
    upload: Upload,
    kept: Previewed,
    code: int,
    *,
    problem: str = "",
    differences: Sequence[Difference] = (),
) -> web.StreamResponse:
    page = await show_preview(visit, upload, kept, code, problem=problem, differences=differences)
    return shown_at(visit.link("imports", upload.id, "preview"), page)
