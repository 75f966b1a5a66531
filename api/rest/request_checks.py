"""The checks every content request passes, in the order of readings.md, «The order of checks».

The router and aiohttp come before them; the body and what it names come after, in the handler.
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
    """400 unknown; then 402 not in the plan; then 404 not set up."""
    request = call.request
    call.environment = parameters.environment(request.query, request.headers.get("X-Environment"))
    caller = call.known_caller
    check_environment(caller.plan, caller.environments, call.scope)


async def check_locale(call: Call) -> None:
    """400 for an unsupported one."""
    call.locale = parameters.locale(call.request.query)


async def check_position(call: Call) -> None:
    """Of a read: see ``wait_for_position``."""
    if call.request.method in ("GET", "HEAD"):
        await wait_for_position(call)


async def wait_for_position(call: Call) -> None:
    """What names a position waits until it can be read: 503 where that takes too long, 400 for a
    position that is none of the workspace's, or beyond the log."""
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
"""Who asks, and how often: the same through every door."""
CHECKS: tuple[Check, ...] = (
    *AUTHENTICATION,
    check_permission,
    resolve_environment,
    check_locale,
    check_position,
)


def checked(permission: str, handler: Handler) -> Callable[[web.Request], Awaitable[web.Response]]:
    """The handler behind all the checks."""

    async def handle(request: web.Request) -> web.Response:
        call = Call(request, request.app[SERVICE], permission)
        for check in CHECKS:
            await check(call)
        return await handler(call)

    return handle
