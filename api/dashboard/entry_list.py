"""The table of entries with its filters, and its export."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import cast

from aiohttp import web
from msgspec import Struct

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import show
from api.dashboard.table_pages import ROWS, Paging, page_number
from api.export.response import Kind, export_response
from api.operations.health import STATUS
from api.rest import parameters
from read_side import export
from read_side.content_types import ContentTypeRow, content_types
from read_side.lookups import languages, locales
from read_side.paging import EntrySummary, Filters, Page, list_summaries
from read_side.queries.pages import list_summaries_found
from read_side.queries.request import EntryQuery
from read_side.refusals import TypeNotFound
from read_side.search import LONGEST as MAX_SEARCH
from write_side.domain import rendering
from write_side.domain.definition import Stage
from write_side.domain.locales import check_locale
from write_side.imports.table import LIMITS

COLUMNS = ("Title", "Type", "Slug", "Status", "Stage", "Language", "Updated", "Published")


class FilterForm(Struct, frozen=True):
    """The available filters and the chosen ones. ``type``: the chosen content type."""

    types: list[ContentTypeRow]
    languages: list[str]
    locales: list[str]
    type: ContentTypeRow | None
    filters: Filters

    @property
    def query(self) -> dict[str, str]:
        """Query parameters for links that keep the filters."""
        return {
            "type": self.filters.type_slug or "",
            "status": self.filters.status or "",
            "language": self.filters.language or "",
            "locale": self.filters.locale,
            "search": self.filters.search,
        }

    @property
    def is_empty(self) -> bool:
        """Whether no filter excludes an entry."""
        f = self.filters
        return not (self.type or f.status or f.language or f.search)

    @property
    def type_options(self) -> list[tuple[str, str]]:
        return [(row.slug, row.name) for row in self.types]


async def show_entries(request: DashboardRequest) -> web.StreamResponse:
    form = await _filter_form(request)
    page = page_number(request.query.get("page", ""))
    found, is_complete = await _page(request, form.filters, page)
    types = {row.id: row for row in form.types}
    return await show(
        request,
        "entries.html",
        form=form,
        rows=found.rows,
        # None for a content type that was just added.
        type_of=lambda entry: types.get(entry.type_id),
        stage_of=stage_of,
        paging=Paging(page, found.matches),
        columns=_columns(form, found.rows),
        figures=await request.request.app[STATUS].current(),
        max_search=MAX_SEARCH,
        is_complete=is_complete,
        export_limit=export.LIMIT,
        import_limit=LIMITS.rows,
    )


async def _page(
    request: DashboardRequest, filters: Filters, page: int
) -> tuple[Page[EntrySummary, int], bool]:
    """Newest first, or the most relevant of a search; and whether there are no other matches."""
    offset = (page - 1) * ROWS
    if not filters.search:
        found = await list_summaries(*request.read_model, filters, limit=ROWS, offset=offset)
        return found, True
    query = EntryQuery(
        type_slug=filters.type_slug,
        status=filters.status,
        language=filters.language,
        words=filters.search,
        locale=filters.locale,
        limit=ROWS,
        offset=offset,
    )
    matches, rows = await list_summaries_found(*request.read_model, query)
    return Page(rows, matches.paged), matches.total is not None


def _columns(form: FilterForm, rows: Sequence[EntrySummary]) -> list[str]:
    """The columns of the table that are not empty on this page."""
    stages = {row.id: row.stages for row in form.types}
    empty = {
        "Type": form.type is not None,
        "Stage": not any(stage_of(stages.get(row.type_id, ()), row) for row in rows),
        "Published": not any(row.published_at for row in rows),
    }
    return [name for name in COLUMNS if not empty.get(name)]


async def export_entries(request: DashboardRequest) -> web.StreamResponse:
    """The entries that match the same filters, as a file; 404 without a content type."""
    form = await _filter_form(request)
    if form.type is None:
        raise web.HTTPNotFound
    await request.service.limits.check_cost(request.caller)
    kind = cast("Kind", request.request.match_info["kind"])
    return await export_response(request, form.filters, kind)


def stage_of(stages: tuple[Stage, ...], entry: EntrySummary) -> Stage | None:
    by_id = {stage.id: stage for stage in stages}
    return rendering.stage_of(by_id, entry.status, entry.stage_id)


async def _filter_form(request: DashboardRequest) -> FilterForm:
    """An invalid filter is an error: without it, other entries would be listed and exported. Raises
    TypeNotFound, BadRequest and InvalidEntry."""
    query = request.query
    status = parameters.any_status(query)
    types = await content_types(*request.read_model)
    language, language_options = _code(query, "language", await languages(*request.read_model))
    locale, locale_options = _code(query, "locale", await locales(*request.read_model))
    of_type = next((row for row in types if row.slug == query.get("type")), None)
    if query.get("type") and of_type is None:
        raise TypeNotFound
    filters = Filters(
        type_slug=of_type.slug if of_type else None,
        status=status,
        language=language or None,
        locale=locale,
        search=parameters.searchable(query.get("search", "").strip())[:MAX_SEARCH],
    )
    return FilterForm(types, language_options, locale_options, of_type, filters)


def _code(query: Mapping[str, str], name: str, used: Collection[str]) -> tuple[str, list[str]]:
    """The chosen code, "" for none, and the codes to choose from: those in use, and the chosen one
    even if its last entry has been deleted. Raises InvalidEntry."""
    code = query.get(name, "")
    if not code or code in used:
        return code, list(used)
    return check_locale(code, name), [*used, code]
