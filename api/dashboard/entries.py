"""The table of entries, and the files that are made of it."""

from __future__ import annotations

from typing import Literal, cast

from aiohttp import web

from api.dashboard.filters import Chosen, chosen
from api.dashboard.pages import EDIT, show
from api.dashboard.paging import ROWS, Paging, page_of
from api.dashboard.visit import Visit
from api.export.response import export_response
from read_side import export
from read_side.content_types import ContentTypeRow
from read_side.paging import SEARCHED, EntrySummary, list_summaries
from write_side.domain.definition import Stage
from write_side.domain.events import STATUSES


async def table(visit: Visit) -> web.StreamResponse:
    choice = await chosen(visit)
    page = page_of(visit.request.query.get("page", ""))
    scope = visit.scope
    found = await list_summaries(
        visit.service.read_model,
        scope.workspace,
        scope.environment,
        choice.filters,
        limit=ROWS,
        offset=(page - 1) * ROWS,
    )
    return await show(
        visit,
        "entries.html",
        choice=choice,
        statuses=[(status, status.capitalize()) for status in STATUSES],
        rows=[Row(entry, _type_of(choice, entry)) for entry in found.rows],
        paging=Paging(page, found.total),
        searched=found.searched if found.searched >= SEARCHED else 0,
        exported=export.LIMIT,
        exportable=await _exportable(visit, choice, found.total),
        may_edit=EDIT in visit.known_caller.permissions,
    )


async def exported(visit: Visit) -> web.StreamResponse:
    """The same filters as a file; without a content type there is no page of that address."""
    choice = await chosen(visit)
    kind = visit.request.match_info["kind"]
    if choice.type is None:
        raise web.HTTPNotFound
    return await export_response(
        visit.request,
        visit.service.read_model,
        visit.scope,
        choice.filters,
        cast("Literal['csv', 'xlsx']", kind),
    )


async def _exportable(visit: Visit, choice: Chosen, found: int) -> int:
    """How many of those found are in a file's one language; as far as a file could hold fewer."""
    if choice.type is None or found <= export.LIMIT or choice.filters.language:
        return found
    scope = visit.scope
    return await export.total(
        visit.service.read_model, scope.workspace, scope.environment, choice.filters
    )


class Row:
    """An entry and its content type, for a line of the table."""

    def __init__(self, entry: EntrySummary, content_type: ContentTypeRow | None) -> None:
        self.entry = entry
        self.type = content_type

    @property
    def stage(self) -> Stage | None:
        return stage_of(self.type.stages if self.type else (), self.entry)


def stage_of(stages: tuple[Stage, ...], entry: EntrySummary) -> Stage | None:
    """As the API tells it: none in the archive, the first for a stage that is gone."""
    if entry.status == "archived" or not stages:
        return None
    return next((stage for stage in stages if stage.id == entry.stage_id), stages[0])


def _type_of(choice: Chosen, entry: EntrySummary) -> ContentTypeRow | None:
    """None for one that was added a moment ago."""
    return next((one for one in choice.types if one.id == entry.type_id), None)
