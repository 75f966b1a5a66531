"""The second step: what each column of the file becomes."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import Form, html, redirect
from api.dashboard.templates import render
from api.dashboard.wizard import column_mapping, form_choices
from api.dashboard.wizard.column_mapping import ColumnMapping
from api.dashboard.wizard.wizard_steps import show_step
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.locales import supported_locales
from write_side.domain.refusals import InvalidEntry
from write_side.imports import check, uploads
from write_side.imports.columns import MappingRefused, offers, propose, save_mapping
from write_side.imports.request import ImportRequest, Options
from write_side.imports.table import FileRefused
from write_side.imports.uploads import Previewed, Upload

MAX_OPTIONS = 40_000
"""In all selects of the page; above it, inputs share one list of options."""
CHECK = "check"
"""A field of the form when only its errors are asked for."""


async def show_columns(request: DashboardRequest, upload: Upload) -> web.StreamResponse:
    type_slug, language = request.query.get("type", ""), request.query.get("language", "")
    kept = await uploads.find_preview(request.repository, request.scope, upload.id)
    if kept:
        # The user comes back from the preview, unless the address names something else.
        mapping = _mapping_of(kept)
        if type_slug in ("", mapping.type_slug) and language in ("", mapping.language):
            return await _show(request, upload, mapping)
    if not type_slug:
        # The address was shortened; guessing a content type would be worse than starting again.
        return redirect(request.link("imports", "new"))
    return await _show(request, upload, await _proposed(request, upload, type_slug, language))


async def map_columns(request: DashboardRequest, upload: Upload, form: Form) -> web.StreamResponse:
    mapping = ColumnMapping(
        type_slug=form.get("type", ""),
        language=form.get("language", "") or BASE_LANGUAGE,
        targets=form.getall("target", []),
        update="update" in form,
        save="save" in form,
    )
    if len(mapping.targets) != len(upload.table.headings):
        mapping = await _proposed(request, upload, mapping.type_slug, mapping.language)
        problem = "The file was read with other settings in the meantime. These are its columns now"
        return await _show(request, upload, mapping, problem, 409)
    if CHECK in form:
        # Only the parts that another choice changes: with many columns, the page is large.
        return html(render("wizard/checked.html", **await _views(request, upload, mapping)))
    try:
        await _preview(request, upload, mapping)
    except MappingRefused:
        problem = "The columns cannot be imported with this mapping"
        return await _show(request, upload, mapping, problem, 422)
    except InvalidEntry as refused:
        return await _show(request, upload, mapping, str(refused), 422)
    return redirect(request.link("imports", upload.id, "preview"))


async def read_again(request: DashboardRequest, upload: Upload, form: Form) -> web.StreamResponse:
    """With another content type or language, or another sheet, encoding or delimiter."""
    type_slug, language = form.get("type", ""), form.get("language", "") or BASE_LANGUAGE
    choice = form_choices.reading_choice(form)
    try:
        if choice != upload.choice:
            await uploads.read_again(request.repository, request.scope, upload.id, choice)
    except FileRefused as refused:
        mapping = await _proposed(request, upload, type_slug, language)
        return await _show(request, upload, mapping, str(refused), 422)
    return redirect(_address(request, upload, type_slug, language))


async def _preview(request: DashboardRequest, upload: Upload, mapping: ColumnMapping) -> None:
    """Raises MappingRefused, InvalidEntry."""
    wish = ImportRequest(
        scope=request.scope,
        content_type_slug=mapping.type_slug,
        import_id=upload.id,
        targets=tuple(mapping.targets),
        # Rows with errors never block the others: the import button states how many are left out.
        options=Options(language=mapping.language, update=mapping.update, ready_only=True),
    )
    repository, scope, headings = request.repository, request.scope, upload.table.headings
    preview = await check.preview(repository, upload.table, wish)
    if mapping.save:
        type_slug, actor = wish.content_type_slug, request.actor
        await save_mapping(repository, scope, type_slug, headings, wish.targets, actor)
    await uploads.keep_preview(repository, scope, upload.id, wish, preview)


async def _proposed(
    request: DashboardRequest, upload: Upload, type_slug: str, language: str
) -> ColumnMapping:
    """Raises UnknownContentType."""
    headings = upload.table.headings
    proposal = await propose(request.repository, request.scope, type_slug, headings)
    return ColumnMapping(
        type_slug=type_slug,
        language=language if language in supported_locales() else BASE_LANGUAGE,
        targets=proposal.targets,
        sources=proposal.sources,
    )


def _mapping_of(kept: Previewed) -> ColumnMapping:
    wish = kept.request
    return ColumnMapping(
        type_slug=wish.content_type_slug,
        language=wish.options.language,
        targets=wish.targets,
        update=wish.options.update,
    )


def _address(request: DashboardRequest, upload: Upload, type_slug: str, language: str) -> str:
    return request.link("imports", upload.id, "columns", type=type_slug, language=language)


async def _views(
    request: DashboardRequest, upload: Upload, mapping: ColumnMapping
) -> dict[str, Any]:
    """What both templates show. Raises UnknownContentType."""
    content_type = await request.repository.fresh_content_type(request.scope, mapping.type_slug)
    offered = offers(content_type.value_fields)
    return {
        "content_type": content_type,
        "columns": await column_mapping.column_views(upload, mapping, offered),
        "required": column_mapping.required_targets(offered, mapping),
        "groups": column_mapping.target_groups(offered, content_type),
        "is_large": len(mapping.targets) * len(offered) > MAX_OPTIONS,
    }


async def _show(
    request: DashboardRequest,
    upload: Upload,
    mapping: ColumnMapping,
    problem: str = "",
    status: int = 200,
) -> web.StreamResponse:
    views = await _views(request, upload, mapping)
    return await show_step(
        request,
        "wizard/columns.html",
        _address(request, upload, mapping.type_slug, mapping.language),
        status,
        problem=problem,
        upload=upload,
        table=upload.table,
        mapping=mapping,
        choices=await form_choices.form_choices(request),
        delimiter=form_choices.form_delimiter(upload.table.delimiter),
        separator=form_choices.delimiter_name(upload.table.delimiter),
        sample_rows=column_mapping.sample_rows(upload),
        hidden_columns=column_mapping.hidden_columns(upload),
        how_to_write=column_mapping.how_to_write(views["content_type"].value_fields),
        **views,
    )
