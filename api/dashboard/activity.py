"""The page of the latest changes: who changed what."""

from __future__ import annotations

from aiohttp import web

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import show
from api.dashboard.table_pages import ROWS
from api.errors import BadRequest
from read_side.changes import END, newest_changes
from read_side.content_types import content_types
from read_side.entry_details import titles

ACTIONS = {
    "entry.created": "Created",
    "entry.updated": "Updated",
    "entry.published": "Published",
    "entry.unpublished": "Unpublished",
    "entry.archived": "Archived",
    "entry.deleted": "Deleted",
    "contentType.changed": "Defined",
    "contentType.removed": "Removed",
}


async def show_activity(request: DashboardRequest) -> web.StreamResponse:
    """Newest first. ``before`` is a token, because a position counts the changes of all
    workspaces."""
    before = _position(request)
    rows = await newest_changes(*request.read_model, before=before, limit=ROWS + 1)
    shown, tokens = rows[:ROWS], request.service.change_tokens
    ids = {row.entry_id for row in shown if row.entry_id}
    types = await content_types(*request.read_model)
    return await show(
        request,
        "activity.html",
        rows=shown,
        actions=ACTIONS,
        titles=await titles(*request.read_model, ids, ""),
        types={row.slug: row.name for row in types},
        is_first=before == END,
        older=tokens.token(request.scope, shown[-1]) if len(rows) > ROWS else "",
    )


def _position(request: DashboardRequest) -> int:
    """Raises BadRequest."""
    token = request.query.get("before", "")
    if not token:
        return END
    position = request.service.change_tokens.position(request.scope, token)
    if position is None:
        raise BadRequest("This page of changes does not exist; begin with the newest")
    return position.position
