"""``POST /graphql``, and GraphiQL at ``GET /graphql``.

A bad key is 401 and a rate limit 429, as over REST; everything else is answered in the body (§7).
"""

from __future__ import annotations

from aiohttp import web

from api.context import SERVICE, Call
from api.errors import RateLimited, Unauthorized
from api.graphql.context import GraphQLContext
from api.graphql.idempotency import IdempotencyKeys
from api.graphql.request import read_body
from api.graphql.response import refuse, respond
from api.graphql.schema import schema
from api.http.static_files import StaticFiles, limited_by_address
from api.rest.positions import HEADER as POSITION
from api.rest.request_body import receive_body
from api.rest.request_checks import AUTHENTICATION

PATH = "/graphql"
_GRAPHIQL = StaticFiles(
    "graphql",
    "graphiql",
    types={
        "graphiql.min.css": "text/css",
        "graphiql.min.js": "text/javascript",
        "react.production.min.js": "text/javascript",
        "react-dom.production.min.js": "text/javascript",
        "start.css": "text/css",
        "start.js": "text/javascript",
    },
    policy=(
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        # The stylesheet has its fonts in data: URLs.
        "font-src data:",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ),
)


def routes() -> list[web.RouteDef]:
    return [
        web.post(PATH, post),
        web.get(PATH, limited_by_address(graphiql)),
        web.get(f"{PATH}/{{file:[^/]+}}", limited_by_address(_GRAPHIQL.file)),
    ]


async def graphiql(request: web.Request) -> web.Response:
    """A page for browsers, which needs no key. Queries are accepted by POST alone: a link must not
    query with somebody's key, and a cache must not keep the answer."""
    if "text/html" not in request.headers.get("Accept", ""):
        raise web.HTTPMethodNotAllowed(request.method, ("OPTIONS", "POST"))
    response = await _GRAPHIQL.page(request)
    response.headers["Vary"] = "Accept"
    return response


async def post(request: web.Request) -> web.Response:
    try:
        return await _execute(Call(request, request.app[SERVICE], permission=""))
    except (Unauthorized, RateLimited):
        raise
    except Exception as error:
        return refuse(request, error)


async def _execute(call: Call) -> web.Response:
    for check in AUTHENTICATION:
        await check(call)
    sent = await receive_body(call)
    body = read_body(sent)
    context = GraphQLContext(call, body, IdempotencyKeys(call, sent))
    with context.keys.reserved():
        result = await schema.execute(
            body.query, context_value=context, operation_name=body.operation_name
        )
    response = respond(call.request, result.data, result.errors or [])
    if context.written:
        token = call.service.positions.token(call.known_caller.workspace, context.written)
        response.headers[POSITION] = token
        response.headers["X-Content-Visible"] = "true" if await context.visible() else "false"
    return response
