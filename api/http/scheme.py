"""Whether a request came over https."""

from __future__ import annotations

from functools import cache

from aiohttp import web

from api.context import SERVICE
from api.http import client_address
from api.http.request_log import ROUTE

# A year. Not for subdomains: they may be other services.
_STRICT = "max-age=31536000"
_networks = cache(client_address.networks)


def is_https(request: web.Request) -> bool:
    """According to the connection, or to a trusted proxy."""
    return came_over_https(request, request.app[SERVICE].settings.trusted_proxies)


def came_over_https(request: web.Request, trusted_proxies: str) -> bool:
    """Like ``is_https``, for a request that has not reached the application."""
    if request.scheme == "https":
        return True
    trusted = _networks(trusted_proxies)
    remote = client_address.parsed(request.remote or "") if trusted else None
    if remote is None or not any(remote in network for network in trusted):
        return False
    # The last value is that of our own proxy; a client can have sent the others.
    protocol = ",".join(request.headers.getall("X-Forwarded-Proto", ())).rpartition(",")[2]
    return protocol.strip().lower() == "https"


def add_strict_transport(request: web.Request, response: web.StreamResponse) -> None:
    """Browsers that use https keep using it."""
    # Malformed HTTP has not reached the application, which knows the proxies.
    if ROUTE in request and is_https(request):
        response.headers["Strict-Transport-Security"] = _STRICT
