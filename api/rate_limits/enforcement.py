"""The checks that count a request, and the rate limit headers of every response."""

from __future__ import annotations

from aiohttp import web

from api.auth.keys import secret_of
from api.context import SERVICE, Call
from api.errors import RateLimited
from api.rate_limits.bucket import LimitStatus

LIMIT_STATUS = web.RequestKey("rate_limit", LimitStatus)
"""The bucket that the response describes."""


async def check_address_limit(call: Call) -> None:
    """429. A request with an invalid key is counted here only."""
    _enforce(call, await call.service.limits.count_address(call.request))


async def check_key_limit(call: Call) -> None:
    """429. From here on the response describes the key's bucket."""
    _enforce(call, await call.service.limits.count_key(call.known_caller))


async def check_sign_in_limit(call: Call) -> None:
    """429. The response describes this bucket only where it refuses."""
    status = await call.service.limits.count_sign_in(call.request)
    if not status.passed:
        _enforce(call, status)


async def add_rate_limits(request: web.Request, response: web.StreamResponse) -> None:
    """``on_response_prepare``: for requests that were not counted too."""
    status = request.get(LIMIT_STATUS) or await _uncounted(request)
    headers = response.headers
    headers["X-RateLimit-Limit"] = str(status.limit)
    headers["X-RateLimit-Remaining"] = str(status.remaining)
    headers["X-RateLimit-Reset"] = str(status.reset)


async def _uncounted(request: web.Request) -> LimitStatus:
    """The bucket of a request that reached no check. A router's response or a preflight describes
    the key's, where the key is valid (readings.md, «Rate limits»); health and documentation take
    no key.

    An invalid key counts against the address, and is not looked up where the address has nothing
    left: guessing keys here reveals no more than a 401 does.
    """
    service = request.app[SERVICE]
    address = service.limits.peek_address(request)
    secret = secret_of(request.headers)
    takes_a_key = request.match_info.http_exception is not None or request.method == "OPTIONS"
    if not takes_a_key or not secret or address.remaining == 0:
        return address
    caller = service.access.cached_caller(secret)
    if caller is None:
        return await service.limits.count_address(request)
    return service.limits.peek_key(caller)


def _enforce(call: Call, status: LimitStatus) -> None:
    call.request[LIMIT_STATUS] = status
    if not status.passed:
        raise RateLimited(status.wait)
