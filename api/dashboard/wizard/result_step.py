"""The last step: the outcome of each row, and the revert. Also the list of past imports."""

from __future__ import annotations

from aiohttp import web

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import Form, redirect, show
from api.dashboard.table_pages import ROWS, Paging, page_number, tabs, valid_choice
from api.dashboard.wizard import wizard_steps
from api.dashboard.wizard.preview_summary import entry_counts
from api.dashboard.wizard.wizard_steps import requested_report, result_link
from api.imports.result import result_of_report, without_positions
from api.rest.wire import encode
from read_side.lookups import import_runs
from write_side.domain.workspace import EDIT, OPERATE
from write_side.imports.report import revert_import
from write_side.imports.uploads import drop_upload, unfinished_uploads

RESULT_ROWS = 50
OUTCOMES = (
    ("new", "New"),
    ("update", "Updated"),
    ("unchanged", "Unchanged"),
    ("skipped", "Skipped"),
    ("error", "Left out"),
)


async def show_imports(request: DashboardRequest) -> web.StreamResponse:
    page = page_number(request.query.get("page", ""))
    unfinished = []
    if page == 1 and request.may(EDIT):
        unfinished = await unfinished_uploads(request.repository, request.scope)
    # One row more than shown, to know whether there is a next page.
    rows = await import_runs(*request.read_model, limit=ROWS + 1, offset=(page - 1) * ROWS)
    return await show(
        request,
        "imports.html",
        unfinished=unfinished,
        rows=rows[:ROWS],
        page=page,
        has_more=len(rows) > ROWS,
    )


async def discard(request: DashboardRequest, _form: Form) -> web.StreamResponse:
    """Deletes an upload that is not imported; a second request changes nothing."""
    await drop_upload(request.repository, request.scope, wizard_steps.import_id(request))
    return redirect(request.link("imports"))


async def show_result(request: DashboardRequest) -> web.StreamResponse:
    report = await requested_report(request)
    outcome = valid_choice(OUTCOMES, request.query.get("outcome", ""))
    rows = [row for row in report.rows if not outcome or row.state == outcome]
    paging = Paging(page_number(request.query.get("page", "")), len(rows), RESULT_ROWS)
    return await show(
        request,
        "wizard/result.html",
        report=report,
        tabs=tabs(OUTCOMES, [row.state for row in report.rows]),
        outcome=outcome,
        paging=paging,
        rows=paging.of(rows),
        deleted={entry.entry_id for entry in report.reverted.deleted} if report.reverted else (),
        entries=entry_counts(report.rows),
    )


async def result_as_json(request: DashboardRequest) -> web.StreamResponse:
    """The report that ``contentlog import --json`` prints."""
    result = result_of_report(await requested_report(request))
    if not request.may(OPERATE):
        result = without_positions(result)
    return web.Response(body=encode(result), content_type="application/json", charset="utf-8")


async def confirm_revert(request: DashboardRequest) -> web.StreamResponse:
    """A page for browsers without the dialog."""
    report = await requested_report(request)
    if report.reverted is not None:
        return redirect(result_link(request))
    entries = entry_counts(report.rows)
    return await show(request, "wizard/revert.html", report=report, entries=entries)


async def revert(request: DashboardRequest, _form: Form) -> web.StreamResponse:
    await requested_report(request)
    reverted = await revert_import(
        request.repository,
        request.scope,
        wizard_steps.import_id(request),
        request.actor,
        request.request_id,
        request.service.limits.projection(request.caller),
    )
    await request.wait_until_readable(reverted.position)
    return redirect(result_link(request))
