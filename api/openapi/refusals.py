"""Every refusal that a client can meet, in the very words of the code that refuses.

Each is an exception as the service raises it, under the name that its example has in the document;
its status, message and headers are what ``api.errors`` makes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from api import errors
from api.http.connections import NO_HTTP
from api.rest import parameters
from api.rest.idempotency import command_key
from api.rest.positions import HEADER as POSITION
from api.rest.request_body import DAMAGED, MISSING, NOT_OURS
from read_side.refusals import EntryNotFound, ReadModelUnavailable, TypeNotFound
from write_side.domain import refusals as r
from write_side.domain.identity import PRODUCTION, STAGING, Scope
from write_side.domain.text import NotJSON, check_text

_SCOPE = Scope("acme", PRODUCTION)


def _raised(refuses: Callable[[], object]) -> Exception:
    try:
        refuses()
    except Exception as refusal:
        return refusal
    raise AssertionError("an example of a refusal is accepted")


REFUSALS: dict[str, Exception] = {
    "notHTTP": errors.BadRequest(NO_HTTP),
    "unknownEnvironment": _raised(lambda: parameters.environment({"environment": "prod"}, None)),
    "unsupportedLocale": _raised(lambda: parameters.locale({"locale": "en"})),
    "unknownStatus": _raised(lambda: parameters.status({"status": "live"})),
    "malformedTime": _raised(lambda: parameters.as_of({"asOf": "yesterday"})),
    "futureTime": _raised(lambda: parameters.as_of({"asOf": "9999-12-31"})),
    "unknownPosition": errors.BadRequest(f"Unknown {POSITION}"),
    "positionBeyondTheLog": errors.BadRequest(f"{POSITION} is beyond the log"),
    "missing": errors.BadRequest(MISSING),
    "notJSON": NotJSON(),
    "damaged": errors.BadRequest(DAMAGED),
    "encoding": errors.BadRequest(NOT_OURS),
    "slug": errors.BadRequest("slug must be a string"),
    "fields": errors.BadRequest("fields must be an object"),
    "value": r.InvalidField("views", "a finite number"),
    "reference": r.UnknownReference("related", "nothing", "which is no entry of this environment"),
    "text": _raised(lambda: check_text("\x00", "The title")),
    "idempotencyKey": _raised(lambda: command_key("", "", _SCOPE)),
    "key": errors.Unauthorized(),
    "stagingNotInPlan": r.StagingNotInPlan(),
    "planLimit": r.PlanLimitReached("entries", 5000),
    "viewPermission": errors.Forbidden("content.view"),
    "editPermission": errors.Forbidden("content.edit"),
    "stagingNotSetUp": r.EnvironmentNotSetUp(STAGING),
    "contentType": TypeNotFound(),
    "entry": EntryNotFound(),
    "nothing": web.HTTPNotFound(),
    "method": web.HTTPMethodNotAllowed("DELETE", ("GET", "HEAD", "POST")),
    "slowBody": errors.SlowClient(),
    "slugTaken": r.SlugTaken("hello--world-"),
    "inFlight": errors.StillInFlight(),
    "tooLarge": web.HTTPRequestEntityTooLarge(4194304),
    "expectation": web.HTTPExpectationFailed(),
    "keyReused": r.CommandKeyReused(),
    "rateLimit": errors.RateLimited(17),
    "fault": RuntimeError(),
    "unavailable": ReadModelUnavailable(),
}


def status_of(name: str) -> int:
    return _answer(name).status


def headers_of(name: str) -> list[str]:
    """Those that this refusal has besides what every response has."""
    return [str(header) for header in _answer(name).headers if header != "Content-Type"]


def example_of(name: str) -> Any:
    body = _answer(name).body
    assert isinstance(body, bytes)
    return msgspec.json.decode(body)


def _answer(name: str) -> web.Response:
    refusal = REFUSALS[name]
    if isinstance(refusal, web.HTTPException):
        return errors.router_response(refusal)
    return errors.error_response(refusal)
