"""The dashboard's routes, and the parts of the application that they need."""

from __future__ import annotations

import time

from aiohttp import web

from api.dashboard import entry_list, entry_page, sign_in, webhook_pages
from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.lag_history import HISTORY, LagHistory, sampling
from api.dashboard.layout import start_address
from api.dashboard.live import follow_changes
from api.dashboard.page_handlers import action, page, public, redirect, show
from api.dashboard.table_pages import ROWS
from api.dashboard.templates import static_file
from api.dashboard.wizard import columns_step, preview_step, result_step, upload_step
from api.dashboard.wizard.wizard_steps import upload_form, upload_page
from api.errors import BadRequest
from api.http.default_headers import ROOT
from api.operations.health import STATUS
from api.rest.request_checks import check_address_limit
from read_side.changes import END, newest_changes
from read_side.content_types import content_types
from read_side.entry_details import titles
from write_side.domain.workspace import EDIT, VIEW

_WEBHOOK = f"{ROOT}/webhooks/{{name:[^/]+}}"
_IMPORT = f"{ROOT}/imports/{{id:[^/]+}}"
# The pages of the forms that post to these URLs, below the page of the object.
_PAGES = {
    "restore": (),
    "test": (),
    "replay": (),
    "enable": (),
    "reading": ("columns",),
    "discard": ("columns",),
    "run": ("preview",),
    "repeats": ("preview",),
}
_FORM = f"{ROOT}/{{section:entries|imports|webhooks}}/{{id:[^/]+}}/{{form:{'|'.join(_PAGES)}}}"
_REST = f"{ROOT}/{{rest:.*}}"
_ACTIONS = {
    "entry.created": "Created",
    "entry.updated": "Updated",
    "entry.published": "Published",
    "entry.unpublished": "Unpublished",
    "entry.archived": "Archived",
    "entry.deleted": "Deleted",
    "contentType.changed": "Defined",
    "contentType.removed": "Removed",
}


def add_dashboard(app: web.Application) -> None:
    app[HISTORY] = LagHistory()
    app.cleanup_ctx.append(sampling)
    app.add_routes(_routes())


def _routes() -> list[web.RouteDef]:
    return [
        web.get(f"{ROOT}/static/{{file:[^/]+}}", public(static_file)),
        web.get(f"{ROOT}/sign-in", public(sign_in.show_form)),
        web.post(f"{ROOT}/sign-in", public(sign_in.sign_in)),
        web.post(f"{ROOT}/sign-out", action("", sign_in.sign_out)),
        web.get(ROOT, page("", _home)),
        web.get(f"{ROOT}/", page("", _home)),
        web.get(f"{ROOT}/entries", page(VIEW, entry_list.show_entries)),
        web.get(f"{ROOT}/entries/export.{{kind:csv|xlsx}}", page(VIEW, entry_list.export_entries)),
        web.post(f"{ROOT}/entries/{{id:[^/]+}}/restore", action(EDIT, entry_page.restore_version)),
        web.get(f"{ROOT}/entries/{{id:[^/]+}}", page(VIEW, entry_page.show_entry)),
        web.get(f"{ROOT}/entries/{{id:[^/]+}}/value", page(VIEW, entry_page.show_value)),
        *_import_routes(),
        web.get(f"{ROOT}/live", page(VIEW, follow_changes, active=False)),
        web.get(f"{ROOT}/activity", page(VIEW, _activity)),
        *_webhook_routes(),
        web.get(f"{ROOT}/projections", page("", _projections)),
        web.get(_FORM, page("", _return_to_page)),
        # Last: every other request below ROOT gets an error page.
        web.get(_REST, page("", _not_found)),
        web.post(_REST, page("", _not_found)),
        web.route("*", _REST, public(_refuse_method)),
    ]


def _import_routes() -> list[web.RouteDef]:
    """Results of imports need the permission to view content, the steps before them the one to edit
    it."""
    return [
        web.get(f"{ROOT}/imports", page(VIEW, result_step.show_imports)),
        web.get(f"{ROOT}/imports/new", page(EDIT, upload_step.show_upload)),
        web.post(f"{ROOT}/imports", page(EDIT, upload_step.receive_upload)),
        web.get(f"{_IMPORT}/columns", upload_page(columns_step.show_columns)),
        web.post(f"{_IMPORT}/columns", upload_form(columns_step.map_columns)),
        web.post(f"{_IMPORT}/reading", upload_form(columns_step.read_again)),
        web.get(f"{_IMPORT}/preview", upload_page(preview_step.preview)),
        web.get(f"{_IMPORT}/problems.csv", upload_page(preview_step.problems_as_csv)),
        web.post(f"{_IMPORT}/discard", action(EDIT, result_step.discard)),
        web.post(f"{_IMPORT}/run", upload_form(preview_step.run)),
        web.post(f"{_IMPORT}/repeats", upload_form(preview_step.choose_repeats)),
        web.get(f"{_IMPORT}/revert", page(EDIT, result_step.confirm_revert)),
        web.post(f"{_IMPORT}/revert", action(EDIT, result_step.revert)),
        web.get(f"{_IMPORT}.json", page(VIEW, result_step.result_as_json)),
        web.get(_IMPORT, page(VIEW, result_step.show_result)),
    ]


def _webhook_routes() -> list[web.RouteDef]:
    return [
        web.get(f"{ROOT}/webhooks", page(VIEW, webhook_pages.show_webhooks)),
        web.get(_WEBHOOK, page(VIEW, webhook_pages.show_webhook)),
        web.post(f"{_WEBHOOK}/test", action(EDIT, webhook_pages.send_test)),
        web.post(f"{_WEBHOOK}/replay", action(EDIT, webhook_pages.replay)),
        web.post(f"{_WEBHOOK}/enable", action(EDIT, webhook_pages.switch_on)),
    ]


async def _home(request: DashboardRequest) -> web.StreamResponse:
    return redirect(start_address(request.caller))


async def _return_to_page(request: DashboardRequest) -> web.StreamResponse:
    """Answers a GET of the URL that a form posts to, as after a refused one."""
    named = request.request.match_info
    return redirect(request.link(named["section"], named["id"], *_PAGES[named["form"]]))


async def _activity(request: DashboardRequest) -> web.StreamResponse:
    """Who changed what, newest first. ``before`` is a token, because a position counts the changes
    of all workspaces."""
    before = _position_before(request)
    rows = await newest_changes(*request.read_model, before=before, limit=ROWS + 1)
    shown, tokens = rows[:ROWS], request.service.change_tokens
    ids = {row.entry_id for row in shown if row.entry_id}
    types = await content_types(*request.read_model)
    return await show(
        request,
        "activity.html",
        rows=shown,
        actions=_ACTIONS,
        titles=await titles(*request.read_model, ids, ""),
        types={row.slug: row.name for row in types},
        is_first=before == END,
        older=tokens.token(request.scope, shown[-1]) if len(rows) > ROWS else "",
    )


def _position_before(request: DashboardRequest) -> int:
    """Raises BadRequest."""
    token = request.query.get("before", "")
    if not token:
        return END
    position = request.service.change_tokens.position(request.scope, token)
    if position is None:
        raise BadRequest("This page of changes does not exist; begin with the newest")
    return position.position


async def _projections(request: DashboardRequest) -> web.StreamResponse:
    """How current the read model is. Positions count the events of all workspaces, so they are
    shown only to keys with ``service.view``."""
    app, now = request.request.app, time.monotonic()
    return await show(
        request,
        "projections.html",
        figures=await app[STATUS].current(),
        lag_chart=app[HISTORY].lag(now),
        rate_chart=app[HISTORY].rate(now),
    )


async def _not_found(_request: DashboardRequest) -> web.StreamResponse:
    raise web.HTTPNotFound


async def _refuse_method(request: DashboardRequest) -> web.StreamResponse:
    await check_address_limit(request.request)
    raise web.HTTPMethodNotAllowed(request.request.method, ("GET", "HEAD", "POST"))
