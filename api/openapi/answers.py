"""Responses: a success with its body, and every refusal with an example of its message (§7)."""

from __future__ import annotations

from typing import Any

from api.openapi.headers import ALWAYS, CORS, referred

Responses = dict[str, Any]

_ENVIRONMENT = {
    "unknownEnvironment": "Unknown environment 'prod': use production or staging",
    "unsupportedLocale": "Unsupported locale 'en': use a code like en-US or fr-FR",
}
_STATUS = {"unknownStatus": "Unknown status 'live': use published, draft or archived"}
_BODY = {
    "missing": "Missing required fields: contentTypeSlug and title",
    "notJSON": "Request body must be valid JSON",
    "slug": "slug must be a string",
    "fields": "fields must be an object",
    "value": "Field 'views' takes a finite number",
    "reference": "Field 'related' refers to 'nothing', which is no entry of this environment",
}
_STAGING = {
    "stagingNotInPlan": "The staging environment is not included in your team's plan",
}
_PLAN = {
    **_STAGING,
    "planLimit": "Your plan's limit of 5000 entries is reached; upgrade the plan or delete some "
    "to add more",
}
_TYPE = {
    "contentType": "Content type not found",
    "stagingNotSetUp": "This team has no staging environment yet",
}
_ENTRY = {**_TYPE, "entry": "Content entry not found"}
_TAKEN = {
    "slugTaken": "An entry with the slug 'hello--world-' already exists in this content type; "
    "send another slug or update that entry",
    "inFlight": "A request with this idempotency key is still in flight; repeat it in a moment",
}
_REUSED = {
    "keyReused": "This idempotency key was used for a different request; choose a new one",
}


def success(
    description: str, schema: str, example: Any, *headers: str, cors: bool = False
) -> dict[str, Any]:
    """A body of one of the schemas."""
    body = {"schema": {"$ref": f"#/components/schemas/{schema}"}, "example": example}
    return response(description, {"application/json": body}, *headers, cors=cors)


def response(
    description: str, content: dict[str, Any], *headers: str, cors: bool = False
) -> dict[str, Any]:
    """Content by media type."""
    return {
        "description": description,
        "headers": referred(*ALWAYS, *headers, *(CORS if cors else ())),
        "content": content,
    }


def of_list(*, cors: bool = True) -> Responses:
    return _of_read({**_ENVIRONMENT, **_STATUS} if cors else _ENVIRONMENT, _TYPE, cors=cors)


def of_entry() -> Responses:
    return _of_read(_ENVIRONMENT, _ENTRY, cors=True)


def of_types() -> Responses:
    return _of_read(_ENVIRONMENT, _TYPE, cors=True)


def of_create() -> Responses:
    return {
        **_of_key({**_ENVIRONMENT, **_BODY}, _PLAN, _TYPE, "content.edit", cors=False),
        "409": refusal("The slug is taken, or the same request is in flight", _TAKEN),
        "413": refusal("The body is too large", {"tooLarge": "Request body is too large"}),
        "422": refusal("The idempotency key was used for another body", _REUSED),
    }


def of_anybody() -> Responses:
    """Where no key is asked for, but the address is counted."""
    return {"429": _limited(cors=False), "500": _fault(cors=False)}


def of_operators() -> Responses:
    return {"500": _fault(cors=False)}


def not_found(description: str) -> Responses:
    return {"404": refusal(description, {"notFound": "Not found"})}


def refusal(
    description: str, messages: dict[str, str], *headers: str, cors: bool = False
) -> dict[str, Any]:
    """In the error envelope, with an example by name for each message."""
    examples = {name: {"value": {"error": message}} for name, message in messages.items()}
    body = {"schema": {"$ref": "#/components/schemas/ErrorBody"}, "examples": examples}
    return response(description, {"application/json": body}, *headers, cors=cors)


def unchanged(*, cors: bool = False) -> Responses:
    return {
        "304": {
            "description": "What If-None-Match names still holds",
            "headers": referred(*ALWAYS, "ETag", *(CORS if cors else ())),
        }
    }


def _of_read(bad: dict[str, str], unknown: dict[str, str], *, cors: bool) -> Responses:
    return {
        **unchanged(cors=cors),
        **_of_key(bad, _STAGING, unknown, "content.view", cors=cors),
    }


def _of_key(
    bad: dict[str, str],
    plan: dict[str, str],
    unknown: dict[str, str],
    permission: str,
    *,
    cors: bool,
) -> Responses:
    key = {"key": "Unauthorized - Invalid or missing API key"}
    lacking = {"permission": f"Forbidden - this API key needs the {permission} permission"}
    away = {"unavailable": "Service temporarily unavailable, please retry"}
    return {
        "400": refusal("The request itself is wrong", bad, cors=cors),
        "401": refusal("No key, or an invalid one", key, cors=cors),
        "402": refusal("Not in the team's plan", plan, cors=cors),
        "403": refusal("The key lacks a permission", lacking, cors=cors),
        "404": refusal("What the request names does not exist", unknown, cors=cors),
        "429": _limited(cors=cors),
        "500": _fault(cors=cors),
        "503": refusal("A database is out of reach: retry", away, "Retry-After", cors=cors),
    }


def _limited(*, cors: bool) -> dict[str, Any]:
    limited = {"rateLimit": "Rate limit exceeded, retry in 17 seconds"}
    return refusal("Over the key's or the address's limit", limited, "Retry-After", cors=cors)


def _fault(*, cors: bool) -> dict[str, Any]:
    return refusal("A fault of ours: safe to retry", {"fault": "Internal server error"}, cors=cors)
