"""The response to a GraphQL request: data, and errors with the status that REST would give."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from graphql import GraphQLError
from msgspec import Struct

from api.errors import BadRequest, message_of, status_of
from api.http.request_log import log_fault
from api.rest.wire import encode

TOO_DEEP = "The query is nested too deep to be read"


class Location(Struct, frozen=True):
    line: int
    column: int


class Extensions(Struct, frozen=True):
    """``status``: what REST would have answered with."""

    status: int


class GraphQLFault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    message: str
    locations: list[Location] = []
    path: list[str | int] = []
    extensions: Extensions


class GraphQLAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    errors: list[GraphQLFault] = []
    data: dict[str, Any] | None


def respond(request: web.Request, data: Any, errors: list[GraphQLError]) -> web.Response:
    """Always HTTP 200. JSON values keep their numbers and the order of their keys."""
    body = GraphQLAnswer(errors=[_fault(request, error) for error in errors], data=data)
    return web.Response(body=encode(body), content_type="application/json")


def refuse(request: web.Request, error: Exception) -> web.Response:
    """Refuses the request as a whole."""
    return respond(request, None, [GraphQLError(str(error), original_error=error)])


def _fault(request: web.Request, error: GraphQLError) -> GraphQLFault:
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
    """The exception behind an error; None if the query itself is wrong."""
    cause: BaseException | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    if isinstance(cause, RecursionError):
        return BadRequest(TOO_DEEP)
    return cause if isinstance(cause, Exception) else None


def _status(cause: Exception) -> int:
    return cause.status if isinstance(cause, web.HTTPException) else status_of(cause)
