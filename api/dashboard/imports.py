"""The list of past imports."""

from __future__ import annotations

from aiohttp import web

from api.dashboard.pages import EDIT, show
from api.dashboard.paging import ROWS, page_of
from api.dashboard.visit import Visit
from read_side.lookups import import_runs


async def table(visit: Visit) -> web.StreamResponse:
    page = page_of(visit.request.query.get("page", ""))
    scope = visit.scope
    # One more than is shown says whether there is a next page: nobody needs their number.
    rows = await import_runs(
        visit.service.read_model,
        scope.workspace,
        scope.environment,
        limit=ROWS + 1,
        offset=(page - 1) * ROWS,
    )
    return await show(
        visit,
        "imports.html",
        rows=rows[:ROWS],
        page=page,
        has_more=len(rows) > ROWS,
        may_edit=EDIT in visit.known_caller.permissions,
    )
