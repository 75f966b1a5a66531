"""The checks of every content request, in the order of behaviour.md, "Order of checks".

The router and aiohttp run their checks first; handlers check the body and the content that it
names.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import typedefs, web

from api.auth.keys import Caller, secret_of
from api.context import LIMIT_STATUS, SERVICE, Call, Service
from api.errors import (
    ApiError,
    BadRequest,
    Forbidden,
    NotVisibleYet,
    OtherEnvironment,
    RateLimitExceeded,
    Unauthorized,
)
from api.http.large_bodies import WORKSPACE
from api.rate_limits.bucket import LimitStatus, stricter
from api.rest import parameters
from api.rest.tokens import POSITION
from write_side import tracing
from write_side.domain.events import STATUSES
from write_side.domain.identity import PRODUCTION, Scope
from write_side.domain.workspace import (
    EDIT,
    OPERATE,
    VIEW,
    VIEW_PUBLISHED,
    check_environment,
)

Handler = Callable[[Call], Awaitable[web.StreamResponse]]
UNKNOWN_POSITION = f"Unknown {POSITION}: send one that this workspace returned, or read without it"
BEYOND_THE_LOG = f"{POSITION} is beyond the log: read without it"


async def check_address_limit(request: web.Request) -> None:
    """429. A request with an invalid key is counted only here."""
    _enforce(request, await request.app[SERVICE].limits.count_address(request))


async def check_sign_in_limit(request: web.Request) -> None:
    """429. The response describes this bucket only if it refuses."""
    status = await request.app[SERVICE].limits.count_sign_in(request)
    if not status.passed:
        _enforce(request, status)


def _enforce(request: web.Request, status: LimitStatus) -> None:
    before = request.get(LIMIT_STATUS)
    request[LIMIT_STATUS] = status if before is None else stricter(before, status)
    if not status.passed:
        raise RateLimitExceeded(status.wait)


def check_permission(caller: Caller, permission: str) -> None:
    """403, naming the permission."""
    if permission not in caller.permissions:
        raise Forbidden(permission)


def check_read(call: Call, status: str | None = None) -> None:
    """403 for a key that reads no entries, or only published ones if ``status`` is a different one.
    The check of parameters refuses an unknown status."""
    permissions = call.caller.permissions
    if VIEW in permissions:
        return
    if VIEW_PUBLISHED not in permissions or (status in STATUSES and status != "published"):
        raise Forbidden(VIEW)


def check_read_of_status(call: Call) -> None:
    """Like ``check_read``, for the status in the query."""
    check_read(call, call.request.query.get("status"))


def check_edit(call: Call) -> None:
    """403."""
    check_permission(call.caller, EDIT)


async def check_operator(request: web.Request) -> None:
    """401 or 403. Requests with a live key are not counted, so monitoring never uses up a limit;
    others count against their address."""
    caller = await request.app[SERVICE].access.caller(secret_of(request.headers))
    if caller is None:
        await check_address_limit(request)
        raise Unauthorized
    check_permission(caller, OPERATE)


def resolve_environment(call: Call, default: str = PRODUCTION) -> None:
    """The environment that the request names, or else the default: 400 if unknown, 403 if the key
    works in the other one, 402 if the plan lacks it, 404 if it is not set up. A key that may not
    use it does not learn what the plan includes."""
    request, caller = call.request, call.caller
    environment = parameters.environment(
        request.query, request.headers.get("X-Environment"), default
    )
    call.scope = Scope(caller.workspace, environment)
    if caller.environment not in (None, environment):
        raise OtherEnvironment(caller.environment)
    check_environment(caller.plan, caller.environments, call.scope)


async def wait_for_position(call: Call) -> None:
    """Waits until the position in the request's header can be read: 503 if that takes too long,
    400 for a position of another workspace or beyond the log."""
    token = call.request.headers.get(POSITION)
    if not token:
        return
    service = call.service
    position = service.positions.position(call.scope.workspace, token)
    if position is None:
        raise BadRequest(UNKNOWN_POSITION)
    call.position = position
    if position > service.checkpoint.position:
        await wait_until_visible(service, position, BadRequest(BEYOND_THE_LOG))


async def wait_until_visible(service: Service, position: int, beyond: ApiError) -> None:
    """Raises ``beyond`` for a position beyond the log, and NotVisibleYet."""
    if position > await service.repository.recorder.head():
        raise beyond
    if not await service.checkpoint.wait(position, service.settings.read_your_writes):
        raise NotVisibleYet


async def authenticate(request: web.Request) -> Call:
    """The checks of every request with a key, REST or not: 429, 401, 429."""
    service = request.app[SERVICE]
    await check_address_limit(request)
    caller = await service.access.caller(secret_of(request.headers))
    if caller is None:
        raise Unauthorized
    request[WORKSPACE] = caller.workspace
    _enforce(request, await service.limits.count_key(caller))
    await service.limits.check_cost(caller)
    return Call(request, service, caller)


def with_checks(check: Callable[[Call], None], handler: Handler) -> typedefs.Handler:
    """The handler behind all checks; ``check`` is the check of the permission. Reads wait for the
    position that they name."""

    async def handle(request: web.Request) -> web.StreamResponse:
        with tracing.span("checks"):
            call = await authenticate(request)
            check(call)
            resolve_environment(call)
            call.locale = parameters.locale(request.query)
            if request.method in ("GET", "HEAD"):
                await wait_for_position(call)
        return await handler(call)

    return handle
