"""The second step: which column of the file is what."""

from __future__ import annotations

from aiohttp import web

from api.dashboard.pages import Form, html, see, show
from api.dashboard.templates import rendered
from api.dashboard.visit import Visit
from api.dashboard.wizard import mapping as shown
from api.dashboard.wizard.choices import choices, reading_of, sent_delimiter, separator
from api.dashboard.wizard.mapping import Mapping
from api.dashboard.wizard.steps import STEPS, actor_of, shown_at
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.locales import supported_locales
from write_side.domain.refusals import InvalidEntry
from write_side.imports import check, uploads
from write_side.imports.columns import MappingRefused, offers, propose, save_mapping
from write_side.imports.request import ImportRequest, Options
from write_side.imports.table import FileRefused
from write_side.imports.uploads import Previewed, Upload

MOST_OPTIONS = 40_000
"""In all selects together; with more there are inputs that share one list."""
CHECK = "check"
"""In the form of somebody who only wants to be told what is missing."""


async def columns(visit: Visit, upload: Upload) -> web.StreamResponse:
    query = visit.request.query
    kept = await uploads.find_preview(visit.service.repository, visit.scope, upload.id)
    type_slug, language = query.get("type", ""), query.get("language", "")
    if kept and _is_for(kept.request, type_slug, language):
        # Whoever comes back from the preview finds what was chosen.
        return await _show(visit, upload, _of(kept))
    if not type_slug:
        # Of an address that has been cut short: a type that is guessed would be a wrong one.
        return see(visit.link("imports", "new"))
    return await _show(visit, upload, await _proposed(visit, upload, type_slug, language))


async def map_columns(visit: Visit, upload: Upload, form: Form) -> web.StreamResponse:
    mapping = Mapping(
        type_slug=form.get("type", ""),
        language=form.get("language", "") or BASE_LANGUAGE,
        targets=form.getall("target", []),
        update="update" in form,
        save="save" in form,
    )
    if len(mapping.targets) != len(upload.table.headings):
        # The file was read anew in another tab.
        mapping = await _proposed(visit, upload, mapping.type_slug, mapping.language)
        mapping.problem = "The file was read in another way since: here are its columns now"
        return await _refuse(visit, upload, mapping, 409)
    if CHECK in form:
        return await _checked(visit, upload, mapping)
    wish = wish_of(visit, upload, mapping)
    try:
        await _preview(visit, upload, wish, save=mapping.save)
    except MappingRefused:
        mapping.problem = "The columns cannot be imported as they are mapped"
        return await _refuse(visit, upload, mapping, 422)
    except InvalidEntry as refused:
        mapping.problem = str(refused)
        return await _refuse(visit, upload, mapping, 422)
    return see(visit.link("imports", upload.id, "preview"))


async def read_again(visit: Visit, upload: Upload, form: Form) -> web.StreamResponse:
    """As another content type or language, or another sheet, encoding or delimiter."""
    type_slug, language = form.get("type", ""), form.get("language", "") or BASE_LANGUAGE
    choice = reading_of(form)
    try:
        if choice != upload.choice:
            repository = visit.service.repository
            await uploads.read_again(repository, visit.scope, upload.id, choice)
    except FileRefused as refused:
        mapping = await _proposed(visit, upload, type_slug, language)
        mapping.problem = str(refused)
        return await _refuse(visit, upload, mapping, 422)
    return see(_address(visit, upload, type_slug, language))


def wish_of(visit: Visit, upload: Upload, mapping: Mapping) -> ImportRequest:
    """Rows with errors never hold up the others: the button that imports says how many they are."""
    return ImportRequest(
        scope=visit.scope,
        content_type_slug=mapping.type_slug,
        import_id=upload.id,
        targets=tuple(mapping.targets),
        options=Options(language=mapping.language, update=mapping.update, ready_only=True),
    )


async def _preview(visit: Visit, upload: Upload, wish: ImportRequest, *, save: bool) -> None:
    repository, scope, table = visit.service.repository, visit.scope, upload.table
    preview = await check.preview(repository, table, wish)
    if save:
        type_slug, actor = wish.content_type_slug, actor_of(visit)
        await save_mapping(repository, scope, type_slug, table.headings, wish.targets, actor)
    await uploads.keep_preview(repository, scope, upload.id, wish, preview)


async def _proposed(visit: Visit, upload: Upload, type_slug: str, language: str) -> Mapping:
    """Raises UnknownContentType."""
    headings = upload.table.headings
    proposal = await propose(visit.service.repository, visit.scope, type_slug, headings)
    return Mapping(
        type_slug=type_slug,
        language=language if language in supported_locales() else BASE_LANGUAGE,
        targets=proposal.targets,
        sources=proposal.sources,
    )


async def _checked(visit: Visit, upload: Upload, mapping: Mapping) -> web.StreamResponse:
    """Only what another choice changes: of many columns, the page is large."""
    repository = visit.service.repository
    content_type = await repository.fresh_content_type(visit.scope, mapping.type_slug)
    offered = offers(content_type.value_fields)
    page = rendered(
        "wizard/checked.html",
        needed=shown.needed(offered, mapping),
        columns=await shown.columns(upload, mapping, offered),
    )
    return html(page)


def _is_for(wish: ImportRequest, type_slug: str, language: str) -> bool:
    """Whether it is what an address asks for; what that leaves out is as it was."""
    return type_slug in ("", wish.content_type_slug) and language in ("", wish.options.language)


def _of(kept: Previewed) -> Mapping:
    wish = kept.request
    return Mapping(
        type_slug=wish.content_type_slug,
        language=wish.options.language,
        targets=wish.targets,
        update=wish.options.update,
    )


def _address(visit: Visit, upload: Upload, type_slug: str, language: str) -> str:
    return visit.link("imports", upload.id, "columns", type=type_slug, language=language)


async def _refuse(visit: Visit, upload: Upload, mapping: Mapping, code: int) -> web.StreamResponse:
    where = _address(visit, upload, mapping.type_slug, mapping.language)
    return shown_at(where, await _show(visit, upload, mapping, code))


async def _show(
    visit: Visit, upload: Upload, mapping: Mapping, code: int = 200
) -> web.StreamResponse:
    repository = visit.service.repository
    content_type = await repository.fresh_content_type(visit.scope, mapping.type_slug)
    offered = offers(content_type.value_fields)
    return await show(
        visit,
        "wizard/columns.html",
        code,
        steps=STEPS,
        upload=upload,
        table=upload.table,
        mapping=mapping,
        content_type=content_type,
        columns=await shown.columns(upload, mapping, offered),
        is_large=len(mapping.targets) * len(offered) > MOST_OPTIONS,
        groups=shown.groups(offered, content_type),
        needed=shown.needed(offered, mapping),
        choices=await choices(visit),
        delimiter=sent_delimiter(upload.table.delimiter),
        separator=separator(upload.table.delimiter),
        first_rows=shown.first_rows(upload),
        cut_columns=shown.cut_columns(upload),
        how_to_write=shown.how_to_write(content_type.value_fields),
    )
