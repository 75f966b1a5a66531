"""One request of somebody who is signed in, and the checks that it passes.

They are those of the REST API, with the session in the place of the key. Pages count against the
address's limit; the key's is left to the programs that use it, so that nobody who clicks about
takes requests from a website.
"""

from __future__ import annotations

from urllib.parse import quote, urlencode, urlsplit

from aiohttp import web

from api.context import SERVICE, Call, Service
from api.dashboard import cookie, forgery
from api.dashboard.sessions import Sessions
from api.errors import Forged
from api.rate_limits.enforcement import check_address_limit
from api.rest.request_checks import check_permission, resolve_environment
from write_side.domain.identity import PRODUCTION

ROOT = "/dashboard"
SESSIONS = web.AppKey("dashboard_sessions", Sessions)


class SignedOut(Exception):
    """Nobody is signed in: there never was a session, it has expired, or its key was revoked."""


class Visit(Call):
    """``session`` is the token: it is never shown and never logged. ``active``: whether a person
    did something, rather than a page refreshing itself."""

    session: str = ""
    active: bool = True

    @property
    def is_partial(self) -> bool:
        """Whether htmx asks, and takes from the page what it wants to swap."""
        return "HX-Request" in self.request.headers

    @property
    def csrf(self) -> str:
        return forgery.token_for(self.session)

    def link(self, *path: str, **query: str | int) -> str:
        """Of the dashboard's pages, in the environment of this one; what is empty is left out."""
        environment = "" if self.environment == PRODUCTION else self.environment
        return link(*path, **{"environment": environment, **query})


def link(*path: str, **query: str | int) -> str:
    """``link("entries", "abc", page=2)`` is ``/dashboard/entries/abc?page=2``."""
    address = "/".join([ROOT, *(quote(part, safe="") for part in path)])
    given = {name: value for name, value in query.items() if value != ""}
    return f"{address}?{urlencode(given)}" if given else address


def visit_of(request: web.Request, permission: str, *, active: bool = True) -> Visit:
    service: Service = request.app[SERVICE]
    return Visit(request, service, permission, active=active)


async def check_session(visit: Visit) -> None:
    """Raises SignedOut. What the key may do is as of now, whenever the session began."""
    visit.session = cookie.token_of(visit.request)
    if not visit.session:
        raise SignedOut
    sessions = visit.request.app[SESSIONS]
    key_id = await sessions.key_of(visit.session, active=visit.active)
    if key_id is None:
        raise SignedOut
    visit.caller = await visit.service.access.caller_of_key(key_id)
    if visit.caller is None:
        await sessions.end(visit.session)
        raise SignedOut


async def check_origin(visit: Visit) -> None:
    """403 for what another site's page sends."""
    if visit.request.method not in ("GET", "HEAD") and not forgery.is_from_here(visit.request):
        raise Forged("This request came from another site, so nothing was done")


def check_token(visit: Visit, token: str) -> None:
    """403 for a form that is not from a page of this session."""
    if not forgery.is_genuine(visit.session, token):
        raise Forged("This form is from an earlier session, so nothing was done")


def is_ours(address: str) -> bool:
    """A path of the dashboard: where a link leads that another site has made, it leads here."""
    return address.startswith(f"{ROOT}/") and "\\" not in address and address.isprintable()


def page_before(request: web.Request) -> str:
    """The page of ours that a form was sent from; "" where the browser does not say."""
    before = urlsplit(request.headers.get("Referer", ""))
    address = before._replace(scheme="", netloc="", fragment="").geturl()
    return address if before.netloc == request.host and is_ours(address) else ""


async def check(visit: Visit) -> None:
    """All of them, in order."""
    await check_address_limit(visit)
    await check_origin(visit)
    await check_session(visit)
    if visit.permission:
        await check_permission(visit)
    await resolve_environment(visit)
