"""The third step: the outcome of each row, and the import itself."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
from collections.abc import Sequence

from aiohttp import web
from msgspec import Raw, Struct
from msgspec.structs import replace

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import Form, redirect
from api.dashboard.table_pages import Paging, page_number, tabs, valid_choice
from api.dashboard.values import reference_names
from api.dashboard.wizard.preview_rows import LineReader
from api.dashboard.wizard.wizard_steps import (
    REPEATS,
    check_cost,
    key_columns,
    repeats_choice,
    result_link,
    show_step,
)
from api.export.table import encoded
from write_side.domain.cells import listed
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field
from write_side.domain.refusals import count
from write_side.domain.values import is_null, texts_of
from write_side.imports import uploads
from write_side.imports.check import check
from write_side.imports.columns import MappingRefused
from write_side.imports.importer import ImportRun, PreviewOutdated, run_import
from write_side.imports.preview import (
    SHOWN,
    Counts,
    Difference,
    Omitted,
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
_OTHER_PREVIEW = "Nothing was imported: the preview has been replaced, perhaps in another tab"
_CHANGED = "Nothing was imported: the content has changed since this file was checked"


class EntryCounts(Struct, frozen=True):
    """Several rows can concern one entry. ``rows_of_new``: the rows of the new entries."""

    new: int
    updated: int
    rows_of_new: int


class Problem(Struct, frozen=True):
    """``rows``: the numbers of the rows that have it."""

    severity: str
    heading: str
    reason: str
    rows: list[int]


async def preview(request: DashboardRequest, upload: Upload) -> web.StreamResponse:
    stored = await uploads.find_preview(request.repository, request.scope, upload.id)
    return _to_columns(request) if stored is None else await _show(request, upload, stored)


async def problems_as_csv(request: DashboardRequest, upload: Upload) -> web.StreamResponse:
    stored = await uploads.find_preview(request.repository, request.scope, upload.id)
    if stored is None:
        return _to_columns(request)
    # A file may have thousands of problems.
    response = web.Response(body=await asyncio.to_thread(_problems_csv, stored.preview))
    response.content_type, response.charset = "text/csv", "utf-8"
    response.headers["Content-Disposition"] = 'attachment; filename="problems.csv"'
    return response


async def run(request: DashboardRequest, upload: Upload, form: Form) -> web.StreamResponse:
    """Imports at most once, even if the form is sent again, because the upload's id is the import
    id."""
    repository, scope = request.repository, request.scope
    stored = await uploads.find_preview(repository, scope, upload.id)
    if stored is None:
        return _to_columns(request)
    if form.get("digest") != stored.preview.digest:
        return await _show(request, upload, stored, 409, problem=_OTHER_PREVIEW)
    if not stored.preview.counts.ready or stored.preview.is_undecided(stored.request):
        return await _show(request, upload, stored, 422)
    await check_cost(request, upload.table)
    try:
        run = ImportRun(
            repository,
            upload.table,
            stored.request,
            request.actor,
            request.request_id,
            request.service.limits.projection(request.known_caller),
        )
        done = await run_import(run, stored.preview)
    except MappingRefused:
        # The content type's fields have changed; the columns page shows which.
        return _to_columns(request)
    if isinstance(done, PreviewOutdated):
        now = StoredPreview(stored.request, done.preview)
        await uploads.keep_preview(repository, scope, upload.id, now.request, now.preview)
        return await _show(
            request, upload, now, 409, problem=_CHANGED, differences=done.differences
        )
    # The import is in the log. An upload that remains is deleted after a day.
    with contextlib.suppress(StoreUnavailable):
        await uploads.drop_upload(repository, scope, upload.id)
    await request.wait_until_readable(done.position)
    return redirect(result_link(request))


async def choose_repeats(
    request: DashboardRequest, upload: Upload, form: Form
) -> web.StreamResponse:
    """Checks again with the user's choice for rows that repeat a slug."""
    stored = await uploads.find_preview(request.repository, request.scope, upload.id)
    if stored is None:
        return _to_columns(request)
    repeats, key = repeats_choice(form, len(upload.table.headings))
    chosen = replace(stored.request, repeats=repeats, key=key)
    await check_cost(request, upload.table)
    try:
        preview = (await check(request.repository, upload.table, chosen)).preview
    except MappingRefused:
        return _to_columns(request)
    await uploads.keep_preview(request.repository, request.scope, upload.id, chosen, preview)
    return redirect(request.link("imports", upload.id, "preview"))


def _to_columns(request: DashboardRequest) -> web.Response:
    return redirect(request.link("imports", request.request.match_info["id"], "columns"))


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
    counts, entries, omitted = stored.preview.counts, _entry_counts(rows), omitted_notes(rows)
    content_type = await request.repository.fresh_content_type(
        request.scope, import_request.content_type_slug
    )
    state = valid_choice([value for value, _ in (*STATES, REPEATED)], query.get("state", ""))
    matching = _matching(rows, state)
    page_size = max(5, min(ROWS, CELLS // len(upload.table.headings)))
    paging = Paging(page_number(query.get("page", "")), len(matching), page_size)
    page = paging.of(matching)
    problems = await asyncio.to_thread(_problems_of, stored.preview)
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
        other_problems=_other_problems(problems[MAX_PROBLEMS:]),
        omitted=_omitted_text(omitted) if omitted else "",
        entries=entries,
        button=_button_text(counts, entries),
        obstacle=_obstacle(stored),
        undecided=stored.preview.is_undecided(import_request),
        repeats=REPEATS,
        repeats_text=repeats_text(stored.preview.repeated),
        key_columns=key_columns(upload.table.headings),
        problem=problem,
        differences=differences,
    )


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


def _entry_counts(rows: Sequence[PreviewRow]) -> EntryCounts:
    """Counts the entries of the rows that are ready to be imported."""
    new = {row.entry_id for row in rows if row.state == "new"}
    ready = [row.entry_id for row in rows if row.state in ("new", "update")]
    return EntryCounts(len(new), len({*ready} - new), sum(entry in new for entry in ready))


def _button_text(counts: Counts, entries: EntryCounts) -> str:
    """The text of the button, which says what it does."""
    if not counts.ready:
        return "Nothing to import"
    parts = []
    if entries.new:
        parts.append(f"import {count(entries.rows_of_new, 'row')}")
    if entries.updated:
        parts.append(f"update {count(entries.updated, 'entry', 'entries')}")
    text = " and ".join(parts)
    if counts.error:
        text += f", leave out {counts.error:,} with errors"
    return text[:1].upper() + text[1:]


def _tabs(preview: Preview) -> list[tuple[str, str, int]]:
    by_state = tabs(STATES, [row.state for row in preview.rows])
    return [*by_state, (*REPEATED, preview.repeated)] if preview.repeated else by_state


def _obstacle(stored: StoredPreview) -> str:
    """Why nothing can be imported; "" if something can."""
    counts, update = stored.preview.counts, stored.request.update
    if stored.preview.is_undecided(stored.request):
        return "Rows repeat the slug of an earlier row: choose what to do with them."
    if counts.ready:
        return ""
    if counts.error:
        return "No row is ready. Correct the file and upload it again, or change the mapping."
    if counts.skipped and not update:
        return (
            "All rows are skipped because entries with their slugs exist. To update those entries, "
            "go back to the columns and select “Update entries whose slug already exists”."
        )
    if counts.skipped:
        return "The rows that are not skipped change nothing."
    return "All entries already match the file."


def _problems_of(preview: Preview) -> list[Problem]:
    """Errors before warnings, the most frequent first."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for row in preview.rows:
        for problem in dict.fromkeys((n.severity, n.heading, n.reason) for n in row.notes):
            found.setdefault(problem, []).append(row.number)
    problems = [Problem(*problem, rows) for problem, rows in found.items()]
    return sorted(problems, key=lambda one: (one.severity != "error", -len(one.rows), one.rows[0]))


def _other_problems(problems: Sequence[Problem]) -> str:
    """``2 other errors in 3 rows, 1 other warning in 1,200 rows``"""
    parts = []
    for severity in ("error", "warning"):
        others = [problem.rows for problem in problems if problem.severity == severity]
        if others:
            rows = count(len(set().union(*others)), "row")
            parts.append(f"{count(len(others), f'other {severity}')} in {rows}")
    return ", ".join(parts)


def _omitted_text(omitted: Omitted) -> str:
    """``12 more errors and 1 more warning``"""
    parts = ((omitted.errors, "more error"), (omitted.warnings, "more warning"))
    return " and ".join(count(number, what) for number, what in parts if number)


def _problems_csv(preview: Preview) -> bytes:
    """The problems of every row, with the same guard against formulas as an export."""
    lines = [["Row", "Severity", "Column", "Cell", "Problem"]]
    for row in preview.rows:
        number = str(row.number)
        lines += [[number, n.severity, n.heading, n.cell, n.reason] for n in row.notes]
        if row.omitted:
            lines.append([number, "", "", "", f"and {_omitted_text(row.omitted)}"])
    return codecs.BOM_UTF8 + encoded(lines)
