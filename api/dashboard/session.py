"""The cookie of a dashboard session: a random token, which the event store maps to a key.

The key's permissions are looked up on every request, so a session never allows more than its key
does now.
"""

from __future__ import annotations

from functools import cache

from aiohttp import web

from api.context import SERVICE
from api.dashboard.security import ROOT
from api.http import client_address
from write_side.store.dashboard_sessions import LIFETIME, Sessions

COOKIE = "contentlog_session"
SESSIONS = web.AppKey("dashboard_sessions", Sessions)
_networks = cache(client_address.networks)


def cookie_token(request: web.Request) -> str:
    """Empty if there is no cookie."""
    return request.cookies.get(COOKIE, "")


def set_cookie(request: web.Request, response: web.StreamResponse, token: str) -> None:
    response.set_cookie(
        COOKIE,
        token,
        path=ROOT,
        max_age=int(LIFETIME.total_seconds()),
        httponly=True,
        samesite="Lax",
        secure=_is_https(request),
    )


def delete_cookie(request: web.Request, response: web.StreamResponse) -> None:
    secure = _is_https(request)
    response.del_cookie(COOKIE, path=ROOT, httponly=True, samesite="Lax", secure=secure)


def _is_https(request: web.Request) -> bool:
    """Whether the browser uses https, according to a trusted proxy or to the browser itself: its
    Origin header decides about its own cookie only."""
    if request.scheme == "https" or request.headers.get("Origin", "").startswith("https://"):
        return True
    remote = client_address.parsed(request.remote or "")
    trusted = _networks(request.app[SERVICE].settings.trusted_proxies)
    if remote is None or not any(remote in network for network in trusted):
        return False
    # The last value is that of our own proxy; a client can have sent the others.
    protocol = ",".join(request.headers.getall("X-Forwarded-Proto", ())).rpartition(",")[2]
    return protocol.strip().lower() == "https"
