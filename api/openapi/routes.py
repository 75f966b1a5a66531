"""The OpenAPI documents, JSON Schema of each content type, and Swagger UI at ``/docs``.

Without a key, the document describes any workspace; with one, that of the key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cache

from aiohttp import web
from msgspec import Raw

from api.auth.keys import has_key
from api.context import Call
from api.errors import BadRequest
from api.http.static_files import StaticFiles, limited_by_address
from api.openapi.document import document
from api.openapi.workspace import entry_schema, workspace_document
from api.rest import parameters, wire
from api.rest.cached_response import json_response
from api.rest.request_checks import check_read, with_checks
from read_side import content_types
from read_side.content_types import ContentTypeRow
from write_side.domain.definition import Field

MAX_DESCRIBED = 20_000
"""Fields and options of a document."""
FEW = 200
"""Fields and options that are described within a few milliseconds."""
PER_TYPE = 10
"""A content type counts as many, because of the schemas that every type has."""
_SWAGGER_UI = StaticFiles("docs")


def routes() -> list[web.RouteDef]:
    return [
        web.get("/v1/openapi.json", openapi),
        web.get(
            "/v1/content-types/{slug:[^/]+}/schema.json",
            with_checks(check_read, schema_of_type),
        ),
        web.get("/docs", limited_by_address(_SWAGGER_UI.page)),
        web.get("/docs/{file:[^/]+}", limited_by_address(_SWAGGER_UI.file)),
    ]


async def openapi(request: web.Request) -> web.StreamResponse:
    handle = _of_workspace if has_key(request.headers) else _of_any_workspace
    return await handle(request)


@limited_by_address
async def _of_any_workspace(_request: web.Request) -> web.Response:
    return web.Response(body=_encoded(), content_type="application/json")


@cache
def _encoded() -> bytes:
    return wire.encode(document())


async def describe_workspace(call: Call) -> web.Response:
    rows = await content_types.content_types(call.service.read_model, call.scope)
    return await _described(call, rows, lambda: workspace_document(rows))


_of_workspace = with_checks(check_read, describe_workspace)


async def schema_of_type(call: Call) -> web.Response:
    """JSON Schema of an entry as it is served alone."""
    row = await content_types.content_type(
        call.service.read_model,
        call.scope,
        parameters.searchable(call.request.match_info["slug"]),
    )
    return await _described(call, [row], lambda: wire.encode(entry_schema(row)))


async def _described(
    call: Call, rows: Sequence[ContentTypeRow], describe: Callable[[], bytes]
) -> web.Response:
    """Large descriptions are made in a thread, one at a time for each workspace.

    Raises BadRequest, Overloaded.
    """
    size = sum(PER_TYPE + _size(row.fields) for row in rows)
    if size > MAX_DESCRIBED:
        raise BadRequest(
            f"The content types have {size:,} fields and options; the limit of a document is "
            f"{MAX_DESCRIBED:,}: use /v1/content-types/{{slug}}/schema.json for each type"
        )
    if size <= FEW:
        return json_response(call, Raw(describe()))
    async with call.service.descriptions.turn(call.scope.workspace):
        description = await asyncio.to_thread(describe)
    return json_response(call, Raw(description))


def _size(fields: Sequence[Field]) -> int:
    return sum(1 + len(field.options) + _size(field.fields) for field in fields)
