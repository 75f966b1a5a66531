"""The session's cookie, and protection against other sites: CSRF checks and safe redirect targets.

The cookie has a random token, which the event store maps to a key. The key's permissions are looked
up on every request, so a session never allows more than its key does now.

A request that changes something passes two checks, each sufficient on its own. The browser states
the request's origin, which no page can change. And the form has a token that only a page of the
same session can contain; it differs on every page, so that compression reveals nothing about it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from urllib.parse import SplitResult, urlsplit

from aiohttp import web

from api.context import SERVICE
from api.errors import ForgedRequest
from api.http.client_address import is_https
from api.http.default_headers import ROOT
from write_side.store.access import LIFETIME

COOKIE = "contentlog_session"

_NONCE = 16
_PURPOSE = b"contentlog dashboard forms"


def new_csrf_token(session: str) -> str:
    """A new token for one page of the session."""
    nonce = secrets.token_hex(_NONCE)
    return nonce + _proof(session, nonce)


def check_csrf_token(session: str, token: str) -> None:
    """Raises ForgedRequest if the form is not from a page of this session."""
    nonce, proof = token[: 2 * _NONCE], token[2 * _NONCE :].encode("utf-8", "replace")
    if not hmac.compare_digest(_proof(session, nonce).encode(), proof):
        raise ForgedRequest("This form is from an earlier session. Nothing was changed")


def check_origin(request: web.Request) -> None:
    """Raises ForgedRequest if a page of another site sent the form."""
    if request.method not in ("GET", "HEAD") and not _is_same_origin(request):
        raise ForgedRequest("This request came from another site. Nothing was changed")


def is_dashboard_address(address: str) -> bool:
    """Whether a redirect to the URL stays in the dashboard. The URL may come from another site."""
    return address.startswith(f"{ROOT}/") and "\\" not in address and address.isprintable()


def referring_page(request: web.Request) -> str:
    """The dashboard page that a form was sent from; "" if the browser does not send it."""
    referer = _split(request.headers.get("Referer", ""))
    address = referer._replace(scheme="", netloc="", fragment="").geturl()
    return address if referer.netloc == request.host and is_dashboard_address(address) else ""


def _is_same_origin(request: web.Request) -> bool:
    """Looks at Sec-Fetch-Site, which browsers send over https and to localhost, else at Origin,
    which they send with every POST. A request with neither was not sent by a browser's form."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    return _split(request.headers.get("Origin", "")).netloc.lower() == request.host.lower() != ""


def _split(address: str) -> SplitResult:
    """The parts of a URL; empty ones if it is malformed."""
    try:
        return urlsplit(address)
    except ValueError:
        return SplitResult("", "", "", "", "")


def _proof(session: str, nonce: str) -> str:
    message = _PURPOSE + nonce.encode("utf-8", "replace")
    return hmac.new(session.encode("utf-8", "surrogateescape"), message, hashlib.sha256).hexdigest()


def cookie_token(request: web.Request) -> str:
    """The session's token; empty without a cookie."""
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
    """Whether the browser uses https, according to a trusted proxy or to the browser's Origin
    header, which affects only its own cookie."""
    trusted = request.app[SERVICE].settings.trusted_proxies
    is_secure = is_https(request, trusted)
    return is_secure or request.headers.get("Origin", "").startswith("https://")
