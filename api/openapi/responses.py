"""Responses: successes with their bodies, and every refusal with the code's own message.

A refusal is an exception as the service raises it, under the name of its example in the document;
``api.errors`` makes its status, message and headers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from api import errors
from api.http.connections import NO_HTTP
from api.openapi.headers import ALWAYS, CORS, optional, referred
from api.rest import parameters
from api.rest.idempotency import command_key
from api.rest.positions import HEADER as POSITION
from api.rest.request_body import DAMAGED, MISSING, NOT_OURS
from read_side.refusals import EntryNotFound, ReadModelUnavailable, TypeNotFound
from write_side.domain import refusals as r
from write_side.domain.identity import PRODUCTION, STAGING, Scope
from write_side.domain.text import NotJSON, check_text

Responses = dict[str, Any]


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
    "idempotencyKey": _raised(lambda: command_key("", "", Scope("acme", PRODUCTION))),
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
ANYBODY = ("rateLimit", "fault")
"""Where no key is needed, but the address is counted."""
_CALLER = (
    *ANYBODY,
    "key",
    "unknownEnvironment",
    "stagingNotInPlan",
    "stagingNotSetUp",
    "unsupportedLocale",
    "unavailable",
)
READ = (*_CALLER, "viewPermission", "unknownPosition", "positionBeyondTheLog")
CREATE = (
    *_CALLER,
    "editPermission",
    "idempotencyKey",
    "notJSON",
    "damaged",
    "encoding",
    "missing",
    "slug",
    "fields",
    "text",
    "value",
    "reference",
    "contentType",
    "slowBody",
    "tooLarge",
    "slugTaken",
    "inFlight",
    "keyReused",
    "planLimit",
)
_OF_THE_ROUTER = {
    "NotFound": "nothing",
    "MethodNotAllowed": "method",
    "NotHTTP": "notHTTP",
    "UnknownExpectation": "expectation",
}
_DESCRIPTIONS = {
    400: "The request itself is wrong",
    401: "No key, or an invalid one",
    402: "Not in the team's plan",
    403: "The key lacks a permission",
    404: "The request names something that does not exist",
    405: "The path has no such method; Allow lists those it has",
    408: "The body did not arrive in time",
    409: "The slug is taken, or the same request is in flight",
    413: "The body is too large",
    417: "Unknown expectation in Expect",
    422: "The idempotency key was used for another body",
    429: "Over the key's or the address's limit",
    500: "Internal error: safe to retry",
    503: "A database is unavailable, or X-Content-Position is not visible yet: retry",
}


def response(description: str, content: dict[str, Any], *headers: str) -> dict[str, Any]:
    """``content`` by media type; large responses are compressed."""
    return {
        "description": description,
        "headers": referred(*ALWAYS, "Content-Encoding", *headers),
        "content": content,
    }


def success(description: str, schema: str, example: Any, *headers: str) -> dict[str, Any]:
    return response(description, json_content(schema, example=example), *headers)


def json_content(schema: str, **more: Any) -> dict[str, Any]:
    """A body of one of the document's schemas."""
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}, **more}}


def unchanged() -> Responses:
    return {
        "304": {
            "description": "Unchanged since the ETag in If-None-Match",
            "headers": referred(*ALWAYS, "ETag"),
        }
    }


def refused(*names: str) -> Responses:
    """By status, with an example by name for each message."""
    answers: dict[int, dict[str, web.Response]] = {}
    for name in names:
        answer = _answer(name)
        answers.setdefault(answer.status, {})[name] = answer
    return {str(status): _refusal(status, named) for status, named in answers.items()}


def of_the_router() -> Responses:
    """Responses outside of all described operations, by the names of their components."""
    components = {}
    for component, name in _OF_THE_ROUTER.items():
        [answer] = refused(name).values()
        for header in CORS:
            answer["headers"].update(optional(header))
        components[component] = answer
    return components


def _refusal(status: int, answers: dict[str, web.Response]) -> dict[str, Any]:
    examples = {name: {"value": _body(answer)} for name, answer in answers.items()}
    headers = dict.fromkeys(str(header) for answer in answers.values() for header in answer.headers)
    headers.pop("Content-Type")
    content = json_content("ErrorBody", examples=examples)
    return response(_DESCRIPTIONS[status], content, *headers)


def _body(answer: web.Response) -> Any:
    assert isinstance(answer.body, bytes)
    return msgspec.json.decode(answer.body)


def _answer(name: str) -> web.Response:
    refusal = REFUSALS[name]
    if isinstance(refusal, web.HTTPException):
        return errors.router_response(refusal)
    return errors.error_response(refusal)
