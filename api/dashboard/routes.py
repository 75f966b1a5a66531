"""The addresses of the dashboard."""

from __future__ import annotations

from aiohttp import web

from api.dashboard import entries, entry, files, imports, projections, signing_in
from api.dashboard.pages import VIEW, action, no_page, page, see
from api.dashboard.shell import start_of
from api.dashboard.visit import ROOT, Visit
from api.dashboard.wizard import routes as wizard


def routes() -> list[web.RouteDef]:
    return [
        web.get(f"{ROOT}/static/{{file:[^/]+}}", files.file),
        web.get(f"{ROOT}/sign-in", signing_in.ask),
        web.post(f"{ROOT}/sign-in", signing_in.sign_in),
        web.post(f"{ROOT}/sign-out", action("", signing_in.sign_out)),
        web.get(ROOT, page("", _home)),
        web.get(f"{ROOT}/", page("", _home)),
        web.get(f"{ROOT}/entries", page(VIEW, entries.table)),
        web.get(f"{ROOT}/entries/export.{{kind:csv|xlsx}}", page(VIEW, entries.exported)),
        web.get(f"{ROOT}/entries/{{id:[^/]+}}", page(VIEW, entry.page)),
        web.get(f"{ROOT}/imports", page(VIEW, imports.table)),
        *wizard.routes(),
        web.get(f"{ROOT}/projections", page("", projections.page, active=False)),
        # Last: whatever else is asked for here is answered with a page too.
        web.route("*", f"{ROOT}/{{rest:.*}}", page("", no_page)),
    ]


async def _home(visit: Visit) -> web.StreamResponse:
    return see(visit.link(start_of(visit.known_caller)))
