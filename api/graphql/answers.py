"""What a request is answered with: data, and errors that say which status REST would give."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from graphql import GraphQLError

from api.errors import BadRequest, message_of, status_of
from api.graphql.wire import Extensions, GraphQLAnswer, GraphQLFault, Location
from api.http.request_log import log_fault
from api.rest.wire import encode

DEEP = "The query is nested too deep to be read"


def answer(request: web.Request, data: Any, errors: list[GraphQLError]) -> web.Response:
    """Always HTTP 200. Numbers and the order of keys in JSON values are as they were stored."""
    body = GraphQLAnswer(errors=[_shown(request, error) for error in errors], data=data)
    return web.Response(body=encode(body), content_type="application/json")


def refusal(request: web.Request, error: Exception) -> web.Response:
    """Of the request as a whole."""
    return answer(request, None, [GraphQLError(str(error), original_error=error)])


def _shown(request: web.Request, error: GraphQLError) -> GraphQLFault:
    cause = _cause(error)
    status = 400 if cause is None else _status(cause)
    if cause is not None and status >= 500:
        log_fault(request, cause)
    message = error.message if cause is None else message_of(cause)
    return GraphQLFault(
        message=message.encode("utf-8", "replace").decode(),
        locations=[Location(at.line, at.column) for at in error.locations or ()],
        path=list(error.path or ()),
        extensions=Extensions(status),
    )


def _cause(error: GraphQLError) -> Exception | None:
    """What was raised; None where the query itself is wrong."""
    cause: BaseException | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    if isinstance(cause, RecursionError):
        return BadRequest(DEEP)
    return cause if isinstance(cause, Exception) else None


def _status(cause: Exception) -> int:
    return cause.status if isinstance(cause, web.HTTPException) else status_of(cause)
