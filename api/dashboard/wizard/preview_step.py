"""The third step: the outcome of each row, and the import itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Concatenate, ParamSpec, TypeAlias

from aiohttp import web
from msgspec import Raw
from msgspec.structs import replace

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import Form, redirect
from api.dashboard.table_pages import Paging, page_number, tabs, valid_choice
from api.dashboard.values import reference_names
from api.dashboard.wizard.preview_rows import LineReader
from api.dashboard.wizard.preview_summary import (
    button_text,
    entry_counts,
    obstacle,
    omitted_text,
    other_problems,
    problems_csv,
    problems_of,
)
from api.dashboard.wizard.wizard_steps import (
    REPEATS,
    check_cost,
    check_file,
    key_columns,
    repeats_choice,
    result_link,
    show_step,
)
from write_side.domain.cells import listed
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field
from write_side.domain.values import is_null, texts_of
from write_side.imports import uploads
from write_side.imports.columns import MappingRefused
from write_side.imports.importer import ImportRun, PreviewOutdated, run_import
from write_side.imports.preview import (
    SHOWN,
    Difference,
    Preview,
    PreviewRow,
    omitted_notes,
    repeats_text,
)
from write_side.imports.uploads import StoredPreview, Upload
from write_side.store.conflicts import StoreUnavailable
from write_side.waiting import in_slices

ROWS = 50
CELLS = 2_000
"""Rows per page at most; with many columns, there are fewer."""
MAX_PROBLEMS = 6
"""Problems listed above the rows."""
STATES = (
    ("new", "New"),
    ("update", "Update"),
    ("unchanged", "Unchanged"),
    ("skipped", "Skipped"),
    ("error", "Errors"),
)
REPEATED = ("repeats", "Repeated slugs")
"""The tab for rows in any state."""
P = ParamSpec("P")
Response: TypeAlias = Awaitable[web.StreamResponse]
_OTHER_PREVIEW = "Nothing was imported: the preview has been replaced, perhaps in another tab"
_CHANGED = "Nothing was imported: the content has changed since this file was checked"


def _with_preview(
    handler: Callable[Concatenate[DashboardRequest, Upload, StoredPreview, P], Response],
) -> Callable[Concatenate[DashboardRequest, Upload, P], Response]:
    """Passes the stored preview to the handler. If there is none, or if the fields of the content
    type have changed, redirects to the columns page, which says what is wrong."""

    async def handle(
        request: DashboardRequest, upload: Upload, /, *args: P.args, **kwargs: P.kwargs
    ) -> web.StreamResponse:
        stored = await uploads.find_preview(request.repository, request.scope, upload.id)
        if stored is not None:
            with contextlib.suppress(MappingRefused):
                return await handler(request, upload, stored, *args, **kwargs)
        return redirect(request.link("imports", upload.id, "columns"))

    return handle


@_with_preview
async def problems_as_csv(
    _request: DashboardRequest, _upload: Upload, stored: StoredPreview
) -> web.StreamResponse:
    # A file may have thousands of problems.
    response = web.Response(body=await asyncio.to_thread(problems_csv, stored.preview))
    response.content_type, response.charset = "text/csv", "utf-8"
    response.headers["Content-Disposition"] = 'attachment; filename="problems.csv"'
    return response


@_with_preview
async def run(
    request: DashboardRequest, upload: Upload, stored: StoredPreview, form: Form
) -> web.StreamResponse:
    """Imports at most once, even if the form is sent again, because the upload's id is the import
    id."""
    repository, scope = request.repository, request.scope
    if form.get("digest") != stored.preview.digest:
        return await _show(request, upload, stored, 409, problem=_OTHER_PREVIEW)
    if not stored.preview.counts.ready or stored.preview.is_undecided(stored.request):
        return await _show(request, upload, stored, 422)
    await check_cost(request, upload.table)
    run = ImportRun(
        repository,
        upload.table,
        stored.request,
        request.actor,
        request.request_id,
        request.service.limits.projection(request.caller),
    )
    try:
        done = await run_import(run, stored.preview)
    except PreviewOutdated as outdated:
        now = StoredPreview(stored.request, outdated.preview)
        await uploads.keep_preview(repository, scope, upload.id, now.request, now.preview)
        return await _show(
            request, upload, now, 409, problem=_CHANGED, differences=outdated.differences
        )
    # The import is in the log. An upload that remains is deleted after a day.
    with contextlib.suppress(StoreUnavailable):
        await uploads.drop_upload(repository, scope, upload.id)
    await request.wait_until_readable(done.position)
    return redirect(result_link(request))


@_with_preview
async def choose_repeats(
    request: DashboardRequest, upload: Upload, stored: StoredPreview, form: Form
) -> web.StreamResponse:
    """Checks again with the user's choice for rows that repeat a slug."""
    repeats, key = repeats_choice(form, len(upload.table.headings))
    await check_file(request, upload, replace(stored.request, repeats=repeats, key=key))
    return redirect(request.link("imports", upload.id, "preview"))


async def _show(
    request: DashboardRequest,
    upload: Upload,
    stored: StoredPreview,
    status: int = 200,
    *,
    problem: str = "",
    differences: Sequence[Difference] = (),
) -> web.StreamResponse:
    """``problem``: why nothing was imported; ``differences`` from the preview shown before."""
    query, import_request, rows = request.query, stored.request, stored.preview.rows
    counts, entries, omitted = stored.preview.counts, entry_counts(rows), omitted_notes(rows)
    content_type = await request.repository.fresh_content_type(
        request.scope, import_request.content_type_slug
    )
    state = valid_choice((*STATES, REPEATED), query.get("state", ""))
    matching = _matching(rows, state)
    page_size = max(5, min(ROWS, CELLS // len(upload.table.headings)))
    paging = Paging(page_number(query.get("page", "")), len(matching), page_size)
    page = paging.of(matching)
    problems = await asyncio.to_thread(problems_of, stored.preview)
    reader = await _line_reader(request, upload, stored, content_type, page)
    return await show_step(
        request,
        "wizard/preview.html",
        request.link("imports", upload.id, "preview"),
        status,
        upload=upload,
        stored=stored,
        counts=counts,
        content_type=content_type,
        tabs=_tabs(stored.preview),
        state=state,
        paging=paging,
        headings=reader.headings,
        lines=[reader.line(index) async for index in in_slices(page)],
        problems=problems[:MAX_PROBLEMS],
        other_problems=other_problems(problems[MAX_PROBLEMS:]),
        omitted=omitted_text(omitted) if omitted else "",
        entries=entries,
        button=button_text(counts, entries),
        obstacle=obstacle(stored),
        undecided=stored.preview.is_undecided(import_request),
        repeats=REPEATS,
        repeats_text=repeats_text(stored.preview.repeated),
        key_columns=key_columns(upload.table.headings),
        problem=problem,
        differences=differences,
    )


preview = _with_preview(_show)


def _matching(rows: Sequence[PreviewRow], state: str) -> list[int]:
    """The indexes of the rows in the state; "" for all."""
    return [
        index
        for index, row in enumerate(rows)
        if state in ("", row.state) or (state == REPEATED[0] and row.repeats is not None)
    ]


async def _line_reader(
    request: DashboardRequest,
    upload: Upload,
    stored: StoredPreview,
    content_type: ContentType,
    page: Sequence[int],
) -> LineReader:
    """With the entries that rows on this page would update."""
    rows = [stored.preview.rows[index] for index in page]
    ids = {row.entry_id for row in rows if row.state == "update" and row.entry_id}
    entries = await request.repository.entries(request.scope, ids)
    values = [
        (field, _first(field, entry.fields[field.slug]))
        async for entry in in_slices(entries.values())
        for field in content_type.value_fields
        if field.spec.refers_to and field.slug in entry.fields
    ]
    return LineReader(upload, stored, content_type, entries, await reference_names(request, values))


def _first(field: Field, value: Raw) -> Raw:
    """The references that a cell of the preview shows; an entry may have 50,000."""
    return value if is_null(value) else listed(field, texts_of(field, value)[:SHOWN])


def _tabs(preview: Preview) -> list[tuple[str, str, int]]:
    by_state = tabs(STATES, [row.state for row in preview.rows])
    return [*by_state, (*REPEATED, preview.repeated)] if preview.repeated else by_state
