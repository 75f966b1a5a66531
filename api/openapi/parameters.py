"""Request parameters, by the names under which operations refer to them."""

from __future__ import annotations

from typing import Any

from api.openapi.examples import AS_OF, ETAG, POSITION
from write_side.domain.events import STATUSES
from write_side.domain.identity import ENVIRONMENTS

Parameter = dict[str, Any]
_TEXT = {"type": "string"}
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = "[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}(:?[0-5][0-9])?)?"


def _query(name: str, description: str, example: str, schema: Any = _TEXT) -> Parameter:
    return {
        "name": name,
        "in": "query",
        "description": description,
        "schema": schema,
        "example": example,
    }


def _header(name: str, description: str, example: str, schema: Any = _TEXT) -> Parameter:
    return {**_query(name, description, example, schema), "in": "header"}


def _left_out(parameter: Parameter, name: str) -> Parameter:
    """Shown with its example under this name, but empty when the page is tried out: the example
    refers to something that must exist."""
    value = parameter.pop("example")
    return {**parameter, "examples": {"absent": {"value": ""}, name: {"value": value}}}


def _path(name: str, description: str, example: str) -> Parameter:
    return {**_query(name, description, example), "in": "path", "required": True}


def _limit(default: int) -> Parameter:
    return _query(
        "limit",
        f"Entries to return, clamped to 1..100. Text that is not a number counts as {default}.",
        "25",
        {"type": "string", "default": str(default)},
    )


PARAMETERS: dict[str, Parameter] = {
    "type": _path("type", "The slug of a content type.", "posts"),
    "slug": _path("slug", "The slug of an entry, percent-encoded.", "hello--world-"),
    "typeSlug": _path("slug", "The slug of a content type.", "posts"),
    "file": _path("file", "The name of a file of the documentation page.", "start.js"),
    "limitOf10": _limit(10),
    "limitOf50": _limit(50),
    "offset": _query(
        "offset",
        "Entries to skip, at least 0. Text that is not a number counts as absent.",
        "0",
        {"type": "string", "default": "0"},
    ),
    "status": _query(
        "status",
        "Only entries of this status.",
        "published",
        {"type": "string", "enum": ["", *STATUSES], "default": "published"},
    ),
    "language": _query(
        "language",
        "Only entries written in this language; an unknown one matches nothing.",
        "en-US",
        {"type": "string", "default": "en-US"},
    ),
    "ofType": _query("type", "Only entries of the content type with this slug.", "posts"),
    "locale": _query(
        "locale",
        "The translation to show, each text falling back to the original: a "
        "language-territory code of CLDR.",
        "fr-FR",
        {"type": "string", "pattern": "^([a-z]{2,3}-[0-9A-Z]{2,3})?$", "default": "en-US"},
    ),
    "asOf": _left_out(
        _query(
            "asOf",
            "The entry as it was at this time: an ISO 8601 date or date-time of the past, in UTC "
            "unless it has an offset (encode its + as %2B). The entry that had the slug then is "
            "found, even if renamed or deleted since, with its content type at that time.",
            AS_OF,
            {"type": "string", "pattern": f"^({_DAY}([Tt ]{_TIME})?)?$"},
        ),
        "ofThePast",
    ),
    "environment": _query(
        "environment",
        "The environment; takes precedence over the header X-Environment.",
        "production",
        {"type": "string", "enum": ["", *ENVIRONMENTS], "default": "production"},
    ),
    "environmentHeader": _header(
        "X-Environment",
        "The environment, if the query has none.",
        "production",
        {"type": "string", "enum": ["", *ENVIRONMENTS]},
    ),
    "requestId": _header(
        "X-Request-Id",
        "Your own id of the request: 1 to 128 of A-Z, a-z, 0-9, '.', '_' and '-'. It is echoed, "
        "logged and stored in the events; an invalid one is replaced.",
        "import-2026-01-31.7",
    ),
    "ifNoneMatch": _header(
        "If-None-Match",
        "ETags of responses you have: 304 without a body if one of them is current.",
        ETAG,
    ),
    "acceptEncoding": _header(
        "Accept-Encoding",
        "Responses over 1 KB are compressed if this allows gzip.",
        "gzip",
    ),
    "contentEncoding": _left_out(
        _header("Content-Encoding", "The compression of the body: gzip or deflate.", "gzip"),
        "compressed",
    ),
    "position": _left_out(
        _header(
            "X-Content-Position",
            "The token that a create returned: the read waits until it sees that entry, and is 503 "
            "if that takes too long.",
            POSITION,
            {"type": "string", "pattern": "^([A-Za-z0-9_-]{32})?$"},
        ),
        "ofACreate",
    ),
    "idempotencyKey": _header(
        "Idempotency-Key",
        "Makes retries safe for 24 hours: the same body returns the first success again, "
        "another body is 422, and 409 says that the first request is still in flight.",
        "7f1c6a52-order-42",
        {"type": "string", "pattern": "^[!-~]([ -~]{0,253}[!-~])?$"},
    ),
}
