"""The endpoints for the media library, which all environments of a workspace share."""

from __future__ import annotations

from aiohttp import web

from api.context import Call
from api.rest import parameters, wire
from api.rest.kept_response import json_response
from api.rest.request_checks import check_read, with_checks
from read_side.lookups import media_file, media_page

PAGE = 50


def routes() -> list[web.RouteDef]:
    return [
        web.get("/v1/media", with_checks(check_read, list_media)),
        web.get("/v1/media/{id:[^/]+}", with_checks(check_read, one_media_file)),
    ]


async def list_media(call: Call) -> web.Response:
    """Sorted by id, 50 per page."""
    limit, offset = parameters.paging(call.request.query, PAGE)
    page = await media_page(
        call.service.read_model, call.scope.workspace, limit=limit, offset=offset
    )
    files = [wire.media_file(file) for file in page.files]
    pagination = wire.Pagination(limit, offset, page.total)
    return json_response(call, wire.MediaListBody(True, files, pagination))


async def one_media_file(call: Call) -> web.Response:
    media_id = parameters.searchable(call.request.match_info["id"])
    file = await media_file(call.service.read_model, call.scope.workspace, media_id)
    return json_response(call, wire.MediaBody(True, wire.media_file(file)))
