"""The second step: the target of each column."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import Form, html, redirect
from api.dashboard.templates import render
from api.dashboard.wizard import wizard_steps
from api.dashboard.wizard.column_views import (
    SAMPLE_COLUMNS,
    column_views,
    how_to_write,
    sample_rows,
    target_groups,
)
from api.dashboard.wizard.wizard_steps import check_cost, check_file, show_step
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.locales import supported_locales
from write_side.domain.refusals import InvalidEntry
from write_side.imports import uploads
from write_side.imports.columns import (
    MappingRefused,
    column_targets,
    headings_row,
    load_proposal,
    save_mapping,
)
from write_side.imports.preview import one_line
from write_side.imports.request import ImportRequest
from write_side.imports.rows import status_of
from write_side.imports.table import DELIMITERS, FileRefused, non_ascii_cells
from write_side.imports.uploads import Upload

MAX_OPTIONS = 40_000
"""Options in all selects of the page; with more, inputs share one list of options."""
CHECK = "check"
"""A field of the form, set if only its errors are requested."""


class ColumnMapping(Struct, frozen=True):
    """The user's choices so far. ``sources``: why each target is proposed, "" if it was chosen."""

    request: ImportRequest
    sources: Sequence[str] = ()
    save: bool = False


async def show_columns(request: DashboardRequest, upload: Upload) -> web.StreamResponse:
    type_slug, language = request.query.get("type", ""), request.query.get("language", "")
    stored = await uploads.find_preview(request.repository, request.scope, upload.id)
    if stored:
        # The user comes back from the preview, or has chosen another language since.
        choices = stored.request
        if type_slug in ("", choices.content_type_slug):
            if language in supported_locales():
                choices = replace(choices, language=language)
            return await _show(request, upload, ColumnMapping(choices))
    if not type_slug:
        # The URL was shortened; starting again is better than guessing a content type.
        return redirect(request.link("imports", "new"))
    return await _show(request, upload, await _proposed(request, upload, type_slug, language))


async def map_columns(request: DashboardRequest, upload: Upload, form: Form) -> web.StreamResponse:
    repeats, key = wizard_steps.repeats_choice(form, len(upload.table.headings))
    chosen = ImportRequest(
        scope=request.scope,
        content_type_slug=form.get("type", ""),
        import_id=upload.id,
        targets=tuple(form.getall("target", [])),
        language=form.get("language", "") or BASE_LANGUAGE,
        update="update" in form,
        # Rows with errors never block the others: the import button says how many are left out.
        ready_only=True,
        repeats=repeats,
        key=key,
        status=status_of(form.get("status", "")),
        decimal_comma="decimal_comma" in form,
        day_first="day_first" in form,
    )
    mapping = ColumnMapping(chosen, save="save" in form)
    if len(chosen.targets) != len(upload.table.headings):
        mapping = await _proposed(request, upload, chosen.content_type_slug, chosen.language)
        problem = "The file was read with other settings in the meantime. These are its columns now"
        return await _show(request, upload, mapping, problem, 409)
    if CHECK in form:
        # Only the parts that a different choice changes: with many columns, the page is large.
        views = await _views(request, upload, mapping)
        return html(await render("wizard/checked.html", **views))
    try:
        await check_file(request, upload, chosen)
        if mapping.save:
            await save_mapping(request.repository, chosen, upload.table.headings, request.actor)
    except MappingRefused:
        problem = "The columns cannot be imported with this mapping"
        return await _show(request, upload, mapping, problem, 422)
    except InvalidEntry as refused:
        return await _show(request, upload, mapping, str(refused), 422)
    return redirect(request.link("imports", upload.id, "preview"))


async def read_again(request: DashboardRequest, upload: Upload, form: Form) -> web.StreamResponse:
    """With another content type, language, sheet, encoding or delimiter."""
    type_slug, language = form.get("type", ""), form.get("language", "") or BASE_LANGUAGE
    choice = wizard_steps.reading_choice(form, upload.table.name)
    try:
        if choice != upload.choice:
            await check_cost(request)
            await uploads.read_again(
                request.repository,
                request.scope,
                upload.id,
                choice,
                charge=partial(request.service.limits.charge_seconds, request.caller),
            )
    except FileRefused as refused:
        mapping = await _proposed(request, upload, type_slug, language)
        return await _show(request, upload, mapping, str(refused), 422, is_unread=True)
    return redirect(_address(request, upload, type_slug, language))


async def _proposed(
    request: DashboardRequest, upload: Upload, type_slug: str, language: str
) -> ColumnMapping:
    """Raises UnknownContentType."""
    headings = upload.table.headings
    proposal = await load_proposal(request.repository, request.scope, type_slug, headings)
    language = language if language in supported_locales() else BASE_LANGUAGE
    proposed = ImportRequest(request.scope, type_slug, upload.id, proposal.targets, language)
    return ColumnMapping(proposed, proposal.sources)


def _address(request: DashboardRequest, upload: Upload, type_slug: str, language: str) -> str:
    return request.link("imports", upload.id, "columns", type=type_slug, language=language)


async def _views(
    request: DashboardRequest, upload: Upload, mapping: ColumnMapping
) -> dict[str, Any]:
    """The data of both templates. Raises UnknownContentType."""
    content_type = await request.repository.fresh_content_type(
        request.scope, mapping.request.content_type_slug
    )
    fields, targets = content_type.value_fields, mapping.request.targets
    offered = column_targets(fields)
    return {
        "content_type": content_type,
        "columns": await asyncio.to_thread(
            column_views, upload.table, targets, mapping.sources, offered, fields
        ),
        "required": [(one.name, one.target in targets) for one in offered if one.required],
        "groups": target_groups(offered, content_type),
        "is_large": len(targets) * len(offered) > MAX_OPTIONS,
    }


async def _show(
    request: DashboardRequest,
    upload: Upload,
    mapping: ColumnMapping,
    problem: str = "",
    status: int = 200,
    *,
    is_unread: bool = False,
) -> web.StreamResponse:
    """``is_unread``: the problem is that the file could not be read again."""
    views, chosen = await _views(request, upload, mapping), mapping.request
    fields, table = views["content_type"].value_fields, upload.table
    non_ascii = await asyncio.to_thread(non_ascii_cells, table)
    return await show_step(
        request,
        "wizard/columns.html",
        _address(request, upload, chosen.content_type_slug, chosen.language),
        status,
        problem=problem,
        is_unread=is_unread,
        upload=upload,
        table=table,
        chosen=chosen,
        save=mapping.save,
        choices=await wizard_steps.form_choices(request),
        key_columns=wizard_steps.key_columns(table.headings),
        repeats=wizard_steps.REPEATS,
        non_ascii=[one_line(cell) for cell in non_ascii],
        delimiter=next((name for name, text in DELIMITERS.items() if text == table.delimiter), ""),
        sample_rows=sample_rows(table),
        hidden_columns=max(0, len(table.headings) - SAMPLE_COLUMNS),
        headings_row=headings_row(table.rows, fields),
        how_to_write=how_to_write(fields),
        **views,
    )
