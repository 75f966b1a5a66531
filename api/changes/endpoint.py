"""The endpoint of the change feed: by pages, or as a stream (ADR 48)."""

from __future__ import annotations

from aiohttp import web

from api.changes.bodies import ChangesBody
from api.changes.pages import ChangesRequest, first_page, with_current
from api.changes.stream import stream_changes, wants_stream
from api.context import Call
from api.rest.cached_response import add_position, json_response
from api.rest.request_checks import check_read, with_checks


def routes() -> list[web.RouteDef]:
    return [web.get("/v1/changes", with_checks(check_read, changes))]


async def changes(call: Call) -> web.StreamResponse:
    """The changes after a token, oldest first."""
    request = ChangesRequest.of(call)
    if wants_stream(call.request):
        return await stream_changes(call, request)
    page, view = await first_page(call, request), request.view
    found, current = await with_current(call, view, page.changes)
    shown = list(view.changes(found, view.previous(page), current))
    following = shown[-1].id if shown else request.token_after(page)
    is_all = len(found) == len(page.changes)
    response = json_response(call, ChangesBody(shown, following, page.is_last and is_all))
    response.headers["Vary"] = "Accept"
    add_position(call, response, page.through)
    return response
