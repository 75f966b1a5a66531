"""The cookie that holds a session's token: for the dashboard alone, and out of scripts' reach."""

from __future__ import annotations

from functools import cache

from aiohttp import web

from api.context import SERVICE
from api.dashboard.sessions import LONGEST
from api.http import client_address

NAME = "contentlog_session"
PATH = "/dashboard"


def token_of(request: web.Request) -> str:
    """Empty where there is none."""
    return request.cookies.get(NAME, "")


def give(request: web.Request, response: web.StreamResponse, token: str) -> None:
    response.set_cookie(
        NAME,
        token,
        path=PATH,
        max_age=int(LONGEST.total_seconds()),
        httponly=True,
        samesite="Lax",
        secure=is_secure(request),
    )


def take(request: web.Request, response: web.StreamResponse) -> None:
    response.del_cookie(NAME, path=PATH, httponly=True, samesite="Lax", secure=is_secure(request))


def is_secure(request: web.Request) -> bool:
    """Whether the browser speaks https: a trusted proxy tells us, or the browser itself, by the
    origin of its form. Nobody is harmed who says so of his own cookie."""
    if request.scheme == "https" or request.headers.get("Origin", "").startswith("https://"):
        return True
    remote = client_address.parsed(request.remote or "")
    trusted = _trusted(request.app[SERVICE].settings.trusted_proxies)
    if remote is None or not any(remote in network for network in trusted):
        return False
    # The last one is what our own proxy says; it may have been told others.
    said = ",".join(request.headers.getall("X-Forwarded-Proto", ())).rpartition(",")[2]
    return said.strip().lower() == "https"


@cache
def _trusted(setting: str) -> tuple[client_address.Network, ...]:
    return client_address.networks(setting)
