"""The checks of every content request, in the order of readings.md, «The order of checks».

The router and aiohttp come first; the body and the content that it names are checked by handlers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from api.auth.keys import secret_of
from api.context import SERVICE, Call
from api.errors import BadRequest, Forbidden, NotVisibleYet, Unauthorized
from api.rate_limits.enforcement import check_address_limit, check_key_limit
from api.rest import parameters
from api.rest.positions import HEADER
from write_side.domain.workspace import check_environment

Check = Callable[[Call], Awaitable[None]]
Handler = Callable[[Call], Awaitable[web.Response]]


async def check_key(call: Call) -> None:
    """401."""
    call.caller = await call.service.access.caller(secret_of(call.request.headers))
    if call.caller is None:
        raise Unauthorized


async def check_permission(call: Call) -> None:
    """403, naming the permission."""
    if call.permission not in call.known_caller.permissions:
        raise Forbidden(call.permission)


async def resolve_environment(call: Call) -> None:
    """400 if unknown, 402 if the plan lacks it, 404 if it is not set up."""
    request = call.request
    call.environment = parameters.environment(request.query, request.headers.get("X-Environment"))
    caller = call.known_caller
    check_environment(caller.plan, caller.environments, call.scope)


async def check_locale(call: Call) -> None:
    """400 if unsupported."""
    call.locale = parameters.locale(call.request.query)


async def check_position(call: Call) -> None:
    """Reads alone wait: see ``wait_for_position``."""
    if call.request.method in ("GET", "HEAD"):
        await wait_for_position(call)


async def wait_for_position(call: Call) -> None:
    """Waits until the position in the request's header can be read: 503 if that takes too long,
    400 for a position of another workspace or beyond the log."""
    given = call.request.headers.get(HEADER)
    if not given:
        return
    service = call.service
    position = service.positions.position(call.scope.workspace, given)
    if position is None:
        raise BadRequest(f"Unknown {HEADER}")
    if position <= service.checkpoint.position:
        return
    if position > await service.repository.recorder.head():
        raise BadRequest(f"{HEADER} is beyond the log")
    if not await service.checkpoint.wait(position, service.settings.read_your_writes):
        raise NotVisibleYet


AUTHENTICATION: tuple[Check, ...] = (check_address_limit, check_key, check_key_limit)
"""For every request with a key, REST or not."""
CHECKS: tuple[Check, ...] = (
    *AUTHENTICATION,
    check_permission,
    resolve_environment,
    check_locale,
    check_position,
)


def checked(permission: str, handler: Handler) -> Callable[[web.Request], Awaitable[web.Response]]:
    """The handler behind all checks."""

    async def handle(request: web.Request) -> web.Response:
        call = Call(request, request.app[SERVICE], permission)
        for check in CHECKS:
            await check(call)
        return await handler(call)

    return handle
