"""The responses of refusals, each with the message that the code gives.

A refusal is an exception as the service raises it, under the name of its example in the document;
``api.errors`` makes its status, message and headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import resources
from typing import Any

import msgspec
from aiohttp import web

from api import errors
from api.http.connections import NO_HTTP
from api.http.cors import ALLOWED_HEADERS, EXPOSED_HEADERS, MAX_AGE
from api.http.representation import READ, VARY
from api.rest import parameters
from api.rest.content import FIELDS, MISSING
from api.rest.idempotency import command_key
from api.rest.positions import HEADER as POSITION
from api.rest.request_body import DAMAGED, NOT_OURS
from read_side.refusals import EntryNotFound, ReadModelUnavailable, TypeNotFound
from write_side.domain import refusals as r
from write_side.domain.events import STATUSES
from write_side.domain.identity import ENVIRONMENTS, PRODUCTION, STAGING, Scope
from write_side.domain.text import NotJSON, check_text
from write_side.domain.workspace import EDIT, OPERATE, VIEW


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
    "fields": errors.BadRequest(FIELDS),
    "value": r.InvalidField("views", "a finite number"),
    "reference": r.UnknownReference("related", "nothing", "which is not in this environment"),
    "text": _raised(lambda: check_text("\x00", "The title")),
    "idempotencyKey": _raised(lambda: command_key("", "", Scope("acme", PRODUCTION))),
    "key": errors.Unauthorized(),
    "stagingNotInPlan": r.StagingNotInPlan(),
    "planLimit": r.PlanLimitReached("entries", 5000),
    "viewPermission": errors.Forbidden(VIEW),
    "editPermission": errors.Forbidden(EDIT),
    "operatorPermission": errors.Forbidden(OPERATE),
    "otherEnvironment": errors.OtherEnvironment(STAGING),
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
    "rateLimit": errors.RateLimitExceeded(17),
    "fault": RuntimeError(),
    "unavailable": ReadModelUnavailable(),
    "keysUnchecked": errors.KeysUnchecked(),
}


@cache
def source() -> dict[str, Any]:
    """``document.json``, with the values that the code decides."""
    text = resources.files("api.openapi").joinpath("document.json").read_bytes()
    written = msgspec.json.decode(text, type=dict[str, Any])
    parameters, headers = written["components"]["parameters"], written["components"]["headers"]
    parameters["status"]["schema"]["enum"] = ["", *STATUSES]
    for name in ("environment", "environmentHeader"):
        parameters[name]["schema"]["enum"] = ["", *ENVIRONMENTS]
    headers["Cache-Control"]["example"] = READ
    headers["Vary"]["example"] = VARY
    headers["Access-Control-Expose-Headers"]["example"] = EXPOSED_HEADERS
    headers["Access-Control-Allow-Headers"]["example"] = ALLOWED_HEADERS
    headers["Access-Control-Max-Age"]["example"] = int(MAX_AGE)
    return written


def expand_groups(names: Iterable[str]) -> Iterator[str]:
    """The names, with those of a group in place of ``...group``."""
    for name in names:
        if name.startswith("..."):
            yield from expand_groups(source()["groups"][name[3:]])
        else:
            yield name


def response_object(description: str, *headers: str, **more: Any) -> dict[str, Any]:
    return {"description": description, "headers": header_references("...always", *headers), **more}


def header_references(*headers: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in expand_groups(headers)}


def json_content(schema: str, **more: Any) -> dict[str, Any]:
    """A body of one of the document's schemas."""
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}, **more}}


def refusal_responses(*names: str) -> dict[str, Any]:
    """The responses by status, with an example by name for each message."""
    answers: dict[int, dict[str, web.Response]] = {}
    for name in names:
        answer = errors.error_response(REFUSALS[name])
        answers.setdefault(answer.status, {})[name] = answer
    return {str(status): _refusal(status, named) for status, named in answers.items()}


def _refusal(status: int, answers: dict[str, web.Response]) -> dict[str, Any]:
    examples = {name: {"value": _body(answer)} for name, answer in answers.items()}
    headers = dict.fromkeys(str(header) for answer in answers.values() for header in answer.headers)
    headers.pop("Content-Type")
    content = json_content("ErrorBody", examples=examples)
    return response_object(
        source()["statuses"][str(status)], "Content-Encoding", *headers, content=content
    )


def _body(answer: web.Response) -> Any:
    assert isinstance(answer.body, bytes)
    return msgspec.json.decode(answer.body)
