"""``POST /graphql``, and GraphiQL at ``GET /graphql``.

An invalid key is 401 and an exceeded rate limit 429, as over REST. Everything else is reported in
the body (§7), with the status that REST would return.
"""

from __future__ import annotations

import re
from typing import Any, cast

from aiohttp import web
from graphql import GraphQLError
from msgspec import Struct

from api.errors import BadRequest, RateLimitExceeded, Unauthorized, message_of, status_of
from api.graphql.context import GraphQLContext, IdempotencyKeys
from api.graphql.document_limits import TOO_DEEP
from api.graphql.request import read_body
from api.graphql.schema import schema
from api.http.loop_turns import DECODE_JSON
from api.http.request_log import log_fault
from api.http.static_files import StaticFiles, limited_by_address
from api.rest.cached_response import add_written_position
from api.rest.ignored_members import ignored_header
from api.rest.request_body import defer_continue, receive_body
from api.rest.request_checks import authenticate
from api.rest.wire import encode
from write_side import tracing

PATH = "/graphql"
# graphql-core quotes the whole input object, in which a value of type JSON is "<Raw instance>".
_QUOTED_INPUT = re.compile(
    r"(not to include unknown|to include required) (field .*?)(?:, found|(?<=\?) Found): .*",
    re.DOTALL,
)
# The stylesheet has its fonts in data: URLs.
_GRAPHIQL = StaticFiles("graphql", "graphiql", policy=("font-src data:",))


class Location(Struct, frozen=True):
    line: int
    column: int


class Extensions(Struct, frozen=True):
    """``status``: the status that REST would return."""

    status: int


class GraphQLFault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    message: str
    locations: list[Location] = []
    path: list[str | int] = []
    extensions: Extensions


class GraphQLAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    errors: list[GraphQLFault] = []
    data: dict[str, Any] | None


def routes() -> list[web.RouteDef]:
    return [
        web.post(PATH, post, expect_handler=defer_continue),
        web.get(PATH, limited_by_address(graphiql)),
        web.get(f"{PATH}/{{file:[^/]+}}", limited_by_address(_GRAPHIQL.file)),
    ]


async def graphiql(request: web.Request) -> web.Response:
    """A page for browsers, which needs no key. Queries are accepted only by POST: a link must not
    run a query with a user's key, and a cache must not store the response."""
    if "text/html" not in request.headers.get("Accept", ""):
        raise web.HTTPMethodNotAllowed(request.method, ("OPTIONS", "POST"))
    response = await _GRAPHIQL.page(request)
    response.headers["Vary"] = "Accept"
    return response


async def post(request: web.Request) -> web.Response:
    try:
        return await _execute(request)
    except (Unauthorized, RateLimitExceeded):
        raise
    except Exception as error:
        return respond(request, None, [GraphQLError(str(error), original_error=error)])


async def _execute(request: web.Request) -> web.Response:
    with tracing.span("checks"):
        call = await authenticate(request)
    sent = await receive_body(call)
    async with call.service.loop_turns.turn(call.client, DECODE_JSON, len(sent)):
        body = read_body(sent)
    context = GraphQLContext(call, body, len(sent), IdempotencyKeys(call, sent))
    async with context.resources:
        with context.keys.reserved(), tracing.span("graphql"):
            result = await schema.execute(
                body.query, context_value=context, operation_name=body.operation_name
            )
        for error in result.errors or ():
            if isinstance(cause := _cause(error), RateLimitExceeded):
                context.charge_cost(0)
                raise cause
        response = respond(request, result.data, result.errors or [])
    context.charge_cost(len(cast("bytes", response.body)))
    if context.written:
        add_written_position(call, response, context.written, visible=await context.visible())
        response.headers.update(ignored_header(context.ignored))
    return response


def respond(request: web.Request, data: Any, errors: list[GraphQLError]) -> web.Response:
    """Always HTTP 200. JSON values keep their numbers and the order of their keys."""
    body = GraphQLAnswer(errors=[_fault(request, error) for error in errors], data=data)
    return web.Response(body=encode(body), content_type="application/json")


def _fault(request: web.Request, error: GraphQLError) -> GraphQLFault:
    cause = _cause(error)
    status = 400 if cause is None else status_of(cause)
    if cause is not None and status >= 500:
        log_fault(request, cause)
    message = _QUOTED_INPUT.sub(r"\1 \2", error.message) if cause is None else message_of(cause)
    return GraphQLFault(
        message=message.encode("utf-8", "replace").decode(),
        locations=[Location(at.line, at.column) for at in error.locations or ()],
        path=list(error.path or ()),
        extensions=Extensions(status),
    )


def _cause(error: GraphQLError) -> Exception | None:
    """The exception behind an error; None if the query itself is wrong."""
    cause: BaseException | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    if isinstance(cause, RecursionError):
        return BadRequest(TOO_DEEP)
    return cause if isinstance(cause, Exception) else None
