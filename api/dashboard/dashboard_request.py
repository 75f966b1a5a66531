"""A request to the dashboard, and the checks that it passes.

They are the REST API's checks, with the session in place of the API key. Pages count against the
rate limit of the client's address only: using the dashboard does not reduce the key's limit for
programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from api.auth.keys import Caller
from api.context import Call
from api.dashboard.security import check_origin, cookie_token, new_csrf_token
from api.http.default_headers import ROOT
from api.http.large_bodies import WORKSPACE
from api.rest.request_checks import check_address_limit, check_permission, resolve_environment
from read_side.pool import Pool
from write_side.domain.events import Plan
from write_side.domain.identity import PRODUCTION, Scope
from write_side.repository import Repository
from write_side.store.access import Sessions


class NoSession(Exception):
    """No session exists, the session or its key has expired, or the key was revoked."""


ANONYMOUS = Caller("", "", "", frozenset(), Plan(), ())
"""The caller of a request without a session. It has no permissions."""


class DashboardRequest(Call):
    """``session`` is the token; it is never shown or logged."""

    session: str = ""

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query

    @property
    def environment(self) -> str:
        return self.scope.environment

    @property
    def csrf(self) -> str:
        return new_csrf_token(self.session)

    @property
    def repository(self) -> Repository:
        return self.service.repository

    @property
    def sessions(self) -> Sessions:
        return Sessions(self.repository.recorder)

    @property
    def read_model(self) -> tuple[Pool, Scope]:
        """The first arguments of queries: connection pool and scope."""
        return self.service.read_model, self.scope

    def may(self, permission: str) -> bool:
        return permission in self.caller.permissions

    def link(self, *path: str, **query: str | int) -> str:
        """The URL of a page in this request's environment; see ``link``."""
        return link(*path, **{"environment": in_url(self.environment), **query})

    async def wait_until_readable(self, position: int) -> None:
        """Waits briefly for the read model; a slightly stale page does no harm."""
        if position:
            await self.service.checkpoint.wait(position, self.service.settings.read_your_writes)


def in_url(environment: str) -> str:
    """The query parameter for the environment; production needs none."""
    return "" if environment == PRODUCTION else environment


def link(*path: str, **query: str | int) -> str:
    """``link("entries", "abc", page=2)`` is ``/dashboard/entries/abc?page=2``. Empty query
    parameters are omitted."""
    address = "/".join([ROOT, *(quote(part, safe="") for part in path)])
    given = {name: value for name, value in query.items() if value != ""}
    return f"{address}?{urlencode(given)}" if given else address


async def check_session(request: DashboardRequest, *, active: bool = True) -> None:
    """``active``: whether the request keeps the session alive. Raises NoSession.

    Permissions are those that the key has now.
    """
    request.session = cookie_token(request.request)
    if not request.session:
        raise NoSession
    sessions = request.sessions
    key_id = await sessions.key_of(request.session, active=active)
    if key_id is None:
        raise NoSession
    caller = await request.service.access.caller_of_key(key_id)
    if caller is None:
        await sessions.end(request.session)
        raise NoSession
    request.caller = caller
    request.request[WORKSPACE] = caller.workspace


async def check(request: DashboardRequest, permission: str, *, active: bool) -> None:
    """All checks, in order. ``permission``: "" for none."""
    await check_address_limit(request.request)
    check_origin(request.request)
    await check_session(request, active=active)
    if permission:
        check_permission(request.caller, permission)
    # A URL without an environment, such as a bookmark, means the one in which the key works.
    resolve_environment(request, request.caller.environment or PRODUCTION)
