"""The document as a whole, with what every path has besides its operations: HEAD and preflights."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from api.http.cors import crosses_origins
from api.openapi.examples import SECRET
from api.openapi.headers import ALWAYS, CORS, HEADERS, PREFLIGHT, referred
from api.openapi.operations import Operation, operations
from api.openapi.parameters import PARAMETERS
from api.openapi.responses import of_the_router, refused
from api.openapi.schemas import schemas

_BODILESS = "Without a body"
_ABOUT = """\
Content entries of a workspace, over an event log.

- The workspace comes from the **API key**: `Authorization: Bearer <key>`, or `X-API-Key`.
- Every error is `{"error": "<message>"}`. Use the status in code, never the text.
- **Rate limits** count requests of a key and of an address in windows of 60 seconds (behind a
  proxy that the service trusts, of the address in `X-Forwarded-For`). Every response carries
  `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`; a 429 says in `Retry-After`
  how many seconds to wait. Retry 5xx with exponential backoff.
- Checks come in this order: address limit, key (401), key limit, permission (403), environment
  (400, 402, 404), parameters (400), body (400), content (404, 400, 409, 402).
- Every GET path has **HEAD** too. Reads carry an `ETag`; `If-None-Match` saves the body.
- **Scripts of any origin** may read responses with `Access-Control-Allow-Origin`, and `OPTIONS`
  answers a preflight there. `/v1/content` is for servers and never sends that header.
- **Requests outside of this document** get the same envelope and headers: an unknown path (404), an
  unknown method (405 with `Allow`), malformed HTTP (400) and an unknown `Expect` (417). See the
  `responses` in this document's `components`.
- Unknown query parameters are ignored, the first of duplicates counts, and an empty value counts
  as absent. A trailing slash makes another path.
"""
_BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": f"Takes precedence over X-API-Key. Example: `Authorization: Bearer {SECRET}`",
}
_API_KEY = {
    "type": "apiKey",
    "in": "header",
    "name": "X-API-Key",
    "description": f"Used if there is no Authorization header. Example: `X-API-Key: {SECRET}`",
}
_TAGS = {
    "Content": "List, get and create entries.",
    "Content types": "The fields and workflow of entries.",
    "GraphQL": "The same content, and every change of an entry.",
    "Operations": "For operators and monitoring; not counted against rate limits.",
    "Documentation": "This document.",
    _BODILESS: "HEAD for every GET, and preflights of browsers.",
}


def document() -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": "contentlog", "version": version("contentlog"), "description": _ABOUT},
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": {path: _completed(path, named) for path, named in operations().items()},
        "security": [{"bearer": []}, {"apiKey": []}],
        "components": {
            "schemas": schemas(),
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "responses": of_the_router(),
            "securitySchemes": {"bearer": _BEARER, "apiKey": _API_KEY},
        },
    }


def _completed(path: str, named: dict[str, Operation]) -> dict[str, Operation]:
    """Adds HEAD to GET, and a preflight and CORS headers where the path crosses origins."""
    whole = dict(named)
    if "get" in named:
        whole["head"] = _head(named["get"])
    if crosses_origins(path):
        whole["options"] = _preflight(next(iter(named.values())))
        for operation in whole.values():
            for response in operation["responses"].values():
                response["headers"] |= referred(*CORS)
    return whole


def _head(get: Operation) -> Operation:
    return {
        **get,
        "operationId": f"{get['operationId']}Head",
        "tags": [_BODILESS],
        "summary": f"{get['summary']} (headers alone)",
        "responses": {
            status: {
                "description": response["description"],
                "headers": dict(response["headers"]),
            }
            for status, response in get["responses"].items()
        },
    }


def _preflight(asked: Operation) -> Operation:
    """Browsers send it, without a key."""
    own = [
        parameter
        for parameter in asked["parameters"]
        if parameter["$ref"].rpartition("/")[2] in ("type", "slug", "typeSlug", "requestId")
    ]
    allowed = {
        "description": "The requests that pages of any origin may send",
        "headers": referred(*ALWAYS, *PREFLIGHT),
    }
    return {
        "operationId": f"{asked['operationId']}Preflight",
        "tags": [_BODILESS],
        "summary": f"{asked['summary']} (preflight)",
        "parameters": own,
        "security": [],
        "responses": {"204": allowed, **refused("fault")},
    }
