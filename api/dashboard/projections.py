"""How far the read model is, for operators; and for others, whether it is up to date.

Positions count the events of all workspaces, which is nobody's business but the operators': they
are those whose key has ``service.view``. Others see how old the read model is, and how far a
rebuild has come.
"""

from __future__ import annotations

from aiohttp import web

from api.dashboard.pages import OPERATE, show
from api.dashboard.visit import Visit
from api.operations.status import STATUS


async def page(visit: Visit) -> web.StreamResponse:
    figures = await visit.request.app[STATUS].current()
    return await show(
        visit,
        "projections.html",
        figures=figures,
        # What moves by itself can be stopped (WCAG 2.2.2).
        refreshes=visit.request.query.get("refresh") != "off",
        is_operator=OPERATE in visit.known_caller.permissions,
    )
