"""The document as a whole."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from api.openapi.answers import of_the_router
from api.openapi.bodiless import TAG, completed
from api.openapi.examples import SECRET
from api.openapi.graphql import graphql_path
from api.openapi.headers import HEADERS
from api.openapi.open_paths import open_paths
from api.openapi.parameters import PARAMETERS
from api.openapi.paths import content_paths
from api.openapi.schemas import schemas

_ABOUT = """\
Content entries of a workspace, over an event log.

- The workspace comes from the **API key**: `Authorization: Bearer <key>`, or `X-API-Key`.
- Every error is `{"error": "<message>"}`. Branch on the status, never on the text.
- **Rate limits** count requests of a key and of an address in windows of 60 seconds (behind a
  proxy that the service trusts, of the address in `X-Forwarded-For`). Every response carries
  `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`; a 429 says in `Retry-After`
  how many seconds to wait. Retry 5xx with exponential delays.
- Checks come in this order: address limit, key (401), key limit, permission (403), environment
  (400, 402, 404), parameters (400), body (400), what is named (404, 400, 409, 402).
- Each GET answers **HEAD** too. Reads carry an `ETag`; `If-None-Match` saves the body.
- **Scripts of any origin** may read what declares `Access-Control-Allow-Origin`, and `OPTIONS`
  there answers a preflight. `/v1/content` is for servers: it never sends such a header.
- **Whatever is no operation of this document** is answered in the same envelope and with the same
  headers: an unknown path (404), an unknown method (405 with `Allow`), what is no HTTP (400) and an
  unknown `Expect` (417). They are among this document's `components`, as `responses`.
- Unknown query parameters are ignored, the first of duplicates counts, an empty value is an
  absent one. A path with a slash at its end is another path.
"""
_BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": f"Wins where both are sent. Example: `Authorization: Bearer {SECRET}`",
}
_API_KEY = {
    "type": "apiKey",
    "in": "header",
    "name": "X-API-Key",
    "description": f"Serves where there is no Authorization header. Example: `X-API-Key: {SECRET}`",
}
_TAGS = {
    "Content": "Entries: lists, single ones, and making them.",
    "Content types": "What entries are made of.",
    "GraphQL": "Another door to the same content, and the rest of an entry's life.",
    "Operations": "For operators and their machines; not counted against rate limits.",
    "Documentation": "What you are reading.",
    TAG: "HEAD of each GET, and what browsers ask before a page may ask.",
}


def document() -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": "contentlog", "version": version("contentlog"), "description": _ABOUT},
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": _paths(),
        "security": [{"bearer": []}, {"apiKey": []}],
        "components": {
            "schemas": schemas(),
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "responses": of_the_router(),
            "securitySchemes": {"bearer": _BEARER, "apiKey": _API_KEY},
        },
    }


def _paths() -> dict[str, Any]:
    described = {**content_paths(), **graphql_path(), **open_paths()}
    return {path: completed(path, operations) for path, operations in described.items()}
