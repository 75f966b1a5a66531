"""The last step: what became of each row, and taking all of it back."""

from __future__ import annotations

from collections import Counter

import msgspec
from aiohttp import web
from msgspec import Struct

from api.dashboard.pages import EDIT, Form, see, show
from api.dashboard.paging import Paging, page_of
from api.dashboard.visit import Visit
from api.dashboard.wizard.extent import reverted
from api.dashboard.wizard.steps import (
    STEPS,
    actor_of,
    import_id,
    readable,
    report,
    request_of,
    result_of,
)
from api.import_result import result_of_report
from write_side.domain.events import Outcome
from write_side.imports.report import Report, revert_import

ROWS = 50
OUTCOMES: tuple[tuple[Outcome, str], ...] = (
    ("new", "New"),
    ("updated", "Updated"),
    ("unchanged", "Unchanged"),
    ("skipped", "Skipped"),
    ("error", "Left out"),
)
_JSON = msgspec.json.Encoder()


class Tab(Struct, frozen=True):
    outcome: str
    name: str
    count: int


async def result(visit: Visit) -> web.StreamResponse:
    done = await report(visit)
    query = visit.request.query
    outcome = next((name for name, _ in OUTCOMES if name == query.get("outcome", "")), "")
    rows = [row for row in done.rows if not outcome or row.outcome == outcome]
    paging = Paging(page_of(query.get("page", "")), len(rows), ROWS)
    return await show(
        visit,
        "wizard/result.html",
        steps=STEPS,
        report=done,
        type_name=await _type_name(visit, done),
        tabs=_tabs(done),
        outcome=outcome,
        paging=paging,
        rows=rows[paging.first - 1 : paging.last] if not paging.is_beyond else [],
        deleted={one.entry_id for one in done.reverted.deleted} if done.reverted else (),
        reverting=reverted(done),
        may_edit=EDIT in visit.known_caller.permissions,
    )


async def as_json(visit: Visit) -> web.StreamResponse:
    """The same report as ``contentlog import --json`` prints."""
    done = await report(visit)
    return web.Response(
        body=_JSON.encode(result_of_report(done)), content_type="application/json", charset="utf-8"
    )


async def ask_to_revert(visit: Visit) -> web.StreamResponse:
    """The page for those without the dialog."""
    done = await report(visit)
    if done.reverted is not None:
        return see(result_of(visit))
    return await show(visit, "wizard/revert.html", report=done, reverting=reverted(done))


async def revert(visit: Visit, _form: Form) -> web.StreamResponse:
    await report(visit)
    repository = visit.service.repository
    undone = await revert_import(
        repository, visit.scope, import_id(visit), actor_of(visit), request_of(visit)
    )
    await readable(visit, undone.position)
    return see(result_of(visit))


def _tabs(done: Report) -> list[Tab]:
    found = Counter(row.outcome for row in done.rows)
    tabs = [Tab(outcome, name, found[outcome]) for outcome, name in OUTCOMES if found[outcome]]
    return [Tab("", "All", len(done.rows)), *tabs]


async def _type_name(visit: Visit, done: Report) -> str:
    """As it is called now; its slug where it is no more."""
    known = await visit.service.repository.find_import(done.import_id)
    assert known is not None, "there is a report of it"
    content_type = await visit.service.repository.content_type_by_id(known[0].content_type_id)
    return content_type.name
