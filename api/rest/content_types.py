"""The content type endpoints (interface.md, «HTTP besides the specification»)."""

from __future__ import annotations

from aiohttp import web

from api import type_wire
from api.context import Call
from api.rest import parameters
from api.rest.request_checks import checked
from api.rest.wire import Wire, encode
from read_side import content_types

VIEW = "content.view"
# As in the content endpoints: any text but a slash.
_SLUG = "{slug:[^/]+}"


def routes() -> list[web.RouteDef]:
    return [
        web.get("/v1/content-types", checked(VIEW, every)),
        web.get(f"/v1/content-types/{_SLUG}", checked(VIEW, one)),
    ]


async def every(call: Call) -> web.Response:
    """All of the environment's, by slug."""
    scope = call.scope
    rows = await content_types.content_types(
        call.service.read_model, scope.workspace, scope.environment
    )
    return _json(type_wire.ContentTypesBody(True, [type_wire.shown(row) for row in rows]))


async def one(call: Call) -> web.Response:
    row = await content_types.content_type(
        call.service.read_model,
        call.scope.workspace,
        call.scope.environment,
        parameters.searchable(call.request.match_info["slug"]),
    )
    return _json(type_wire.ContentTypeBody(True, type_wire.shown(row)))


def _json(body: Wire) -> web.Response:
    return web.Response(body=encode(body), content_type="application/json")
