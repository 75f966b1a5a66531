"""Responses: a success with its body, and every refusal with an example of its message (§7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api.openapi.headers import ALWAYS, optional, referred
from api.openapi.refusals import example_of, headers_of, status_of

Responses = dict[str, Any]

_DESCRIPTIONS = {
    400: "The request itself is wrong",
    401: "No key, or an invalid one",
    402: "Not in the team's plan",
    403: "The key lacks a permission",
    404: "What the request names does not exist",
    405: "The path does not answer this method; Allow has those that it does",
    408: "The body did not come in time",
    409: "The slug is taken, or the same request is in flight",
    413: "The body is too large",
    417: "Expect asks for something unknown",
    422: "The idempotency key was used for another body",
    429: "Over the key's or the address's limit",
    500: "A fault of ours: safe to retry",
    503: "A database is out of reach, or what X-Content-Position names not visible yet: retry",
}
ANYBODY = ("rateLimit", "fault")
"""Where no key is asked for, but the address is counted."""
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


def success(description: str, schema: str, example: Any, *headers: str) -> dict[str, Any]:
    """A body of one of the schemas."""
    body = {"schema": {"$ref": f"#/components/schemas/{schema}"}, "example": example}
    return response(description, {"application/json": body}, *headers)


def response(description: str, content: dict[str, Any], *headers: str) -> dict[str, Any]:
    """Content by media type; large ones are packed."""
    return {
        "description": description,
        "headers": referred(*ALWAYS, "Content-Encoding", *headers),
        "content": content,
    }


def refused(*names: str) -> Responses:
    """By status; the names are those of ``refusals.py``."""
    by_status: dict[int, list[str]] = {}
    for name in names:
        by_status.setdefault(status_of(name), []).append(name)
    return {str(status): _refusal(status, named) for status, named in by_status.items()}


def unchanged() -> Responses:
    return {
        "304": {
            "description": "What If-None-Match names still holds",
            "headers": referred(*ALWAYS, "ETag"),
        }
    }


def of_the_router() -> dict[str, Any]:
    """What is answered where no operation is described, by the names of its components."""
    named = {
        "NotFound": "nothing",
        "MethodNotAllowed": "method",
        "NotHTTP": "notHTTP",
        "UnknownExpectation": "expectation",
    }
    return {component: _on_any_path(name) for component, name in named.items()}


def _on_any_path(name: str) -> dict[str, Any]:
    answer = _refusal(status_of(name), [name])
    answer["headers"].update(optional("Access-Control-Allow-Origin"))
    answer["headers"].update(optional("Access-Control-Expose-Headers"))
    return answer


def _refusal(status: int, names: Iterable[str]) -> dict[str, Any]:
    """In the error envelope, with an example by name for each message."""
    examples = {name: {"value": example_of(name)} for name in names}
    body = {"schema": {"$ref": "#/components/schemas/ErrorBody"}, "examples": examples}
    headers = dict.fromkeys(header for name in names for header in headers_of(name))
    return response(_DESCRIPTIONS[status], {"application/json": body}, *headers)
