"""The responses of refusals, each with the message that the code gives.

A refusal is an exception as the service raises it, under the name of its example in the document;
``api.errors`` gives its status, message and headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import resources
from typing import Any

import msgspec
from aiohttp import web

from api import errors
from api.changes.pages import UNKNOWN_AFTER, includes_entries, kinds
from api.errors import BAD_URL
from api.http.representation import READ, VARY
from api.imports.endpoints import ENCODED, NOT_A_FORM, NOT_DONE, NOTHING, check_required
from api.rest import parameters, wire
from api.rest.content import FIELDS, MISSING
from api.rest.idempotency import command_key
from api.rest.includes import too_many_included
from api.rest.list_query import PageCursors
from api.rest.request_body import DAMAGED, NOT_OURS, SLOWEST
from api.rest.request_checks import BEYOND_THE_LOG, UNKNOWN_POSITION
from api.rest.shape import parse_include, parse_shape
from read_side.past_lists import TOO_FAR
from read_side.queries.budget import Budget
from read_side.queries.comparison import selection
from read_side.queries.request import EntryQuery, Filter
from read_side.refusals import (
    EntryNotFound,
    IncompleteIndex,
    MediaFileNotFound,
    ReadModelUnavailable,
    TooBroad,
    TypeNotFound,
)
from write_side.domain import refusals as r
from write_side.domain.events import STATUSES
from write_side.domain.field_types import FIELD_TYPES
from write_side.domain.identity import BASE_LANGUAGE, ENVIRONMENTS, PRODUCTION, STAGING, Scope
from write_side.domain.text import NotJSON, check_text
from write_side.domain.workspace import EDIT, OPERATE, VIEW
from write_side.imports.jobs import MOST_OF_WORKSPACE
from write_side.imports.table import LIMITS


def _raised(refuses: Callable[[], object]) -> Exception:
    try:
        refuses()
    except Exception as refusal:
        return refusal
    raise AssertionError("an example of a refusal is accepted")


def _query(*filters: Filter) -> EntryQuery:
    return EntryQuery(type_slug=None, status=None, language=None, filters=filters, limit=1)


def _refused(field: str, operator: str = "eq") -> Exception:
    return _raised(lambda: selection(_query(Filter(field, operator, ("new",))), ()))


_TITLED = _query(Filter("title", "contains", ("new",)))
_SCOPE = Scope("acme", PRODUCTION)
REFUSALS: dict[str, Exception] = {
    "notHTTP": errors.BadRequest(BAD_URL),
    "targetTooLong": web.HTTPRequestURITooLong(),
    "headersTooLarge": web.HTTPRequestHeaderFieldsTooLarge(),
    "unknownMethod": web.HTTPNotImplemented(),
    "unknownEnvironment": _raised(lambda: parameters.environment({"environment": "prod"}, None)),
    "unsupportedLocale": _raised(lambda: parameters.locale({"locale": "en"})),
    "unknownStatus": _raised(lambda: parameters.status({"status": "live"})),
    "unknownField": _refused("price"),
    "wrongOperator": _refused("status", "contains"),
    "wrongValue": _refused("createdAt", "gte"),
    "tooBroad": Budget(selection(_TITLED, ())).exceeded(),
    "unknownCursor": _raised(
        lambda: PageCursors(b"").page_query(_SCOPE, BASE_LANGUAGE, _query(), "an altered one")
    ),
    "malformedTime": _raised(lambda: parameters.as_of({"asOf": "yesterday"})),
    "futureTime": parameters.future_time(parameters.parse_time("9999-12-31")),
    "unknownMember": _raised(lambda: parse_shape({"select": "name"}, wire.ListedEntry)),
    "unknownPath": _raised(lambda: parse_include({"include": "Author"})),
    "tooManyIncluded": too_many_included("entries"),
    "longList": TooBroad(TOO_FAR),
    "unknownPosition": errors.BadRequest(UNKNOWN_POSITION),
    "positionBeyondTheLog": errors.BadRequest(BEYOND_THE_LOG),
    "missing": errors.BadRequest(MISSING),
    "notJSON": NotJSON(),
    "damaged": errors.BadRequest(DAMAGED),
    "encoding": errors.BadRequest(NOT_OURS),
    "slug": errors.BadRequest("slug must be a string"),
    "fields": errors.BadRequest(FIELDS),
    "value": r.InvalidField("views", "a finite number"),
    "reference": r.UnknownReference("related", "nothing", "which is not in this environment"),
    "text": _raised(lambda: check_text("\x00", "The title")),
    "idempotencyKey": _raised(lambda: command_key("", "", _SCOPE)),
    "key": errors.Unauthorized(),
    "stagingNotInPlan": r.StagingNotInPlan(),
    "planLimit": r.PlanLimitReached(5000, "entry", "entries"),
    "viewPermission": errors.Forbidden(VIEW),
    "editPermission": errors.Forbidden(EDIT),
    "operatorPermission": errors.Forbidden(OPERATE),
    "otherEnvironment": errors.OtherEnvironment(STAGING),
    "stagingNotSetUp": r.EnvironmentNotSetUp(STAGING),
    "contentType": TypeNotFound(),
    "entry": EntryNotFound(),
    "mediaFile": MediaFileNotFound(),
    "unknownAfter": errors.BadRequest(UNKNOWN_AFTER),
    "unknownEvent": _raised(lambda: kinds("entry.renamed")),
    "unknownInclude": _raised(lambda: includes_entries("media")),
    "changesGone": errors.Gone(),
    "tooManyStreams": errors.TooManyStreams("key", 100),
    "import": r.UnknownImport("019a3f2e-5a0b-7c3e-8f4d-1b2a3c4d5e6f"),
    "importNotDone": errors.NothingToRevert(NOT_DONE),
    "importOfNothing": errors.NothingToRevert(NOTHING),
    "missingParts": _raised(lambda: check_required("", "")),
    "notAForm": errors.UnsupportedMedia(NOT_A_FORM),
    "encodedForm": errors.UnsupportedMedia(ENCODED),
    "fileTooLarge": errors.FileTooLarge("posts.csv", LIMITS.upload_bytes),
    "tooManyImports": errors.TooManyImports(MOST_OF_WORKSPACE),
    "nothing": web.HTTPNotFound(),
    "method": web.HTTPMethodNotAllowed("DELETE", ("GET", "HEAD", "POST")),
    "slowBody": errors.SlowClient(30, SLOWEST),
    "slugTaken": r.SlugTaken("hello--world-"),
    "inFlight": errors.RequestInProgress(),
    "tooLarge": errors.BodyTooLarge(4194304),
    "expectation": web.HTTPExpectationFailed(),
    "keyReused": r.CommandKeyReused(),
    "rateLimit": errors.RateLimitExceeded(17),
    "fault": RuntimeError(),
    "unavailable": ReadModelUnavailable(),
    "keysUnchecked": errors.KeysUnavailable(),
    "notVisibleYet": errors.NotVisibleYet(),
    "incompleteIndex": IncompleteIndex("fields.price"),
}


@cache
def source() -> dict[str, Any]:
    """``document.json``, with the values that come from the code."""
    text = resources.files("api.openapi").joinpath("document.json").read_bytes()
    written = msgspec.json.decode(text, type=dict[str, Any])
    schemas, headers = written["components"]["schemas"], written["components"]["headers"]
    schemas["EntryStatus"]["enum"] = list(STATUSES)
    schemas["Environment"]["enum"] = list(ENVIRONMENTS)
    schemas["FieldType"] |= {"description": _field_types(), "enum": list(FIELD_TYPES)}
    headers["Cache-Control"]["example"] = READ
    headers["Vary"]["example"] = VARY
    return written


def expand_groups(names: Iterable[str]) -> Iterator[str]:
    """The names, with those of a group in place of ``...group``."""
    for name in names:
        if name.startswith("..."):
            yield from expand_groups(source()["groups"][name[3:]])
        else:
            yield name


def _field_types() -> str:
    kinds = "; ".join(f"{name}: {spec.description}" for name, spec in FIELD_TYPES.items())
    return f"What a value is: {kinds}"


def reference(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def header_references(*headers: str) -> dict[str, Any]:
    return {name: reference("headers", name) for name in expand_groups(headers)}


def json_content(schema: str, **more: Any) -> dict[str, Any]:
    """A body of one of the document's schemas."""
    return {"application/json": {"schema": reference("schemas", schema), **more}}


def status_of_refusals(names: Iterable[str]) -> int:
    [status] = {_response(name).status for name in names}
    return status


def refusal_response(description: str, names: Iterable[str]) -> dict[str, Any]:
    """A response with a named example for each message, and its own headers."""
    answers = {name: _response(name) for name in names}
    headers = dict.fromkeys(str(header) for answer in answers.values() for header in answer.headers)
    headers.pop("Content-Type")
    examples = {name: {"value": _body(answer)} for name, answer in answers.items()}
    return {
        "description": description,
        "headers": header_references(*headers),
        "content": json_content("ErrorBody", examples=examples),
    }


def _response(name: str) -> web.Response:
    return errors.error_response(REFUSALS[name])


def _body(answer: web.Response) -> Any:
    assert isinstance(answer.body, bytes)
    return msgspec.json.decode(answer.body)
