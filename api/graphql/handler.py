"""``POST /graphql``: the checks, the body, the answer.

A bad key is 401 and a limit 429, as everywhere; all else is answered inside the body (§7).
"""

from __future__ import annotations

from aiohttp import web

from api.context import SERVICE, Call
from api.errors import RateLimited, Unauthorized
from api.graphql import page
from api.graphql.answers import answer, refusal
from api.graphql.asking import Asking
from api.graphql.once import Once
from api.graphql.schema import SENT, schema
from api.graphql.sent import read_body
from api.rest.positions import HEADER as POSITION
from api.rest.request_body import receive_body
from api.rest.request_checks import AUTHENTICATION

PATH = "/graphql"


def routes() -> list[web.RouteDef]:
    return [web.post(PATH, post), *page.routes()]


async def post(request: web.Request) -> web.Response:
    try:
        return await _answered(Call(request, request.app[SERVICE], permission=""))
    except (Unauthorized, RateLimited):
        raise
    except Exception as error:
        return refusal(request, error)


async def _answered(call: Call) -> web.Response:
    for check in AUTHENTICATION:
        await check(call)
    body = await receive_body(call)
    sent = read_body(body)
    asking = Asking(call, Once(call, body))
    with asking.once.alone():
        result = await schema.execute(
            sent.query,
            variable_values={SENT: sent.variables},
            context_value=asking,
            operation_name=sent.operation,
        )
    response = answer(call.request, result.data, result.errors or [])
    if asking.written:
        token = call.service.positions.token(call.known_caller.workspace, asking.written)
        response.headers[POSITION] = token
        response.headers["X-Content-Visible"] = "true" if await asking.visible() else "false"
    return response
