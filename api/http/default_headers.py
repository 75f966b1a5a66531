"""The headers of every response (``on_response_prepare``)."""

from __future__ import annotations

from aiohttp import web

from api.auth.keys import secret_of
from api.context import LIMIT_STATUS, SERVICE
from api.http.client_address import is_https
from api.http.cors import add_cors
from api.http.request_log import ROUTE, request_id
from api.rate_limits.bucket import LimitStatus

ROOT = "/dashboard"
"""The path of the dashboard."""
# No inline script, style or event handler, and nothing from other hosts except thumbnails, so
# markup that an entry's text injects into a page has no effect.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_SECURITY = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
IMAGE_SOURCES = web.RequestKey("image_sources", frozenset[str])
"""The sources of a page's images from the media library; browsers load no images from others."""
# A year. Not for subdomains: they may be other services.
_STRICT = "max-age=31536000"


def add_own(request: web.Request, response: web.StreamResponse) -> None:
    headers = response.headers
    headers["X-Request-Id"] = request_id(request)
    # Without the versions that aiohttp would name.
    headers["Server"] = "contentlog"
    # A response without its own rule is not cached.
    headers.setdefault("Cache-Control", "no-store")
    status = request[LIMIT_STATUS]
    headers["X-RateLimit-Limit"] = str(status.limit)
    headers["X-RateLimit-Remaining"] = str(status.remaining)
    headers["X-RateLimit-Reset"] = str(status.reset)


async def _uncounted(request: web.Request) -> LimitStatus:
    """The bucket of a request that reached no check. A response of the router or to a preflight
    describes the key's bucket (if the key is valid) or the address's, whichever has fewer requests
    left (behaviour.md §8); health and documentation take no key.

    An invalid key counts against the address, and is not looked up if the address has no requests
    left, so guessing keys here reveals no more than a 401 does.
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
    return min(service.limits.peek_key(caller), address, key=lambda status: status.remaining)


def add_security_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Adds the headers of every dashboard response, including errors."""
    path = request.rel_url.path_safe
    if path == ROOT or path.startswith(f"{ROOT}/"):
        response.headers.update(_SECURITY)
        if sources := request.get(IMAGE_SOURCES):
            allowed = " ".join(("img-src 'self'", *sorted(sources)))
            policy = CONTENT_SECURITY_POLICY.replace("img-src 'self'", allowed)
            response.headers["Content-Security-Policy"] = policy


def add_strict_transport(request: web.Request, response: web.StreamResponse) -> None:
    """Browsers that use https keep using it."""
    # Malformed HTTP has not reached the application, which knows the proxies.
    if ROUTE in request and is_https(request, request.app[SERVICE].settings.trusted_proxies):
        response.headers["Strict-Transport-Security"] = _STRICT


ADDED = (add_own, add_cors, add_security_headers, add_strict_transport)
_FAILED = web.RequestKey("default_headers_failed", bool)


async def add_default_headers(request: web.Request, response: web.StreamResponse) -> None:
    """If one of them fails, the others are still added and the response becomes a 500."""
    fault: Exception | None = None
    if LIMIT_STATUS not in request:
        try:
            request[LIMIT_STATUS] = await _uncounted(request)
        except Exception as error:
            fault = error
    for add in ADDED:
        try:
            add(request, response)
        except Exception as error:
            fault = fault or error
    if fault is not None and _FAILED not in request:
        request[_FAILED] = True
        raise fault
