"""The checks that count a request, and the headers that every response shows."""

from __future__ import annotations

from aiohttp import web

from api.auth.keys import secret_of
from api.context import SERVICE, Call
from api.errors import RateLimited
from api.rate_limits.bucket import LimitStatus

STANDING = web.RequestKey("rate_limit", LimitStatus)
"""Of the bucket that the response describes."""


async def check_address_limit(call: Call) -> None:
    """429. Bad keys count here alone."""
    _show(call, await call.service.limits.count_address(call.request))


async def check_key_limit(call: Call) -> None:
    """429. From here on the response describes the key's bucket."""
    _show(call, await call.service.limits.count_key(call.known_caller))


async def check_sign_in_limit(call: Call) -> None:
    """429, the stricter one; else the response describes the address's bucket still."""
    standing = await call.service.limits.count_sign_in(call.request)
    if not standing.passed:
        _show(call, standing)


async def show_limits(request: web.Request, response: web.StreamResponse) -> None:
    """``on_response_prepare``, for what was not counted too."""
    standing = request.get(STANDING) or await _uncounted(request)
    headers = response.headers
    headers["X-RateLimit-Limit"] = str(standing.limit)
    headers["X-RateLimit-Remaining"] = str(standing.remaining)
    headers["X-RateLimit-Reset"] = str(standing.reset)


async def _uncounted(request: web.Request) -> LimitStatus:
    """What the router answers, and a preflight, describe the bucket of a valid key that was given
    (readings, «Rate limits»); health and documentation take no key.

    A bad key counts against the address, and where that has nothing left, none is looked at: who
    tries keys learns no more here than from a 401.
    """
    service = request.app[SERVICE]
    of_address = service.limits.look(request)
    secret = secret_of(request.headers)
    takes_a_key = request.match_info.http_exception is not None or request.method == "OPTIONS"
    if not takes_a_key or not secret or of_address.remaining == 0:
        return of_address
    caller = service.access.known(secret)
    if caller is None:
        return await service.limits.count_address(request)
    return service.limits.look_at_key(caller)


def _show(call: Call, standing: LimitStatus) -> None:
    call.request[STANDING] = standing
    if not standing.passed:
        raise RateLimited(standing.wait)
