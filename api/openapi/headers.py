"""Response headers by name."""

from __future__ import annotations

from typing import Any

from api.http.cors import ALLOWED_HEADERS, EXPOSED_HEADERS, MAX_AGE
from api.http.representation import READ, VARY
from api.openapi.examples import ETAG, POSITION, REQUEST_ID


def _header(description: str, schema: Any, example: Any, *, required: bool = True) -> Any:
    """``required``: present on every response that refers to it."""
    return {
        "description": description,
        "required": required,
        "schema": schema,
        "example": example,
    }


_WHOLE = {"type": "integer", "minimum": 0}
HEADERS: dict[str, Any] = {
    "X-Request-Id": _header(
        "The request's id: yours if it was well-formed.",
        {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$"},
        REQUEST_ID,
    ),
    "X-RateLimit-Limit": _header("Requests allowed in the current window.", _WHOLE, 600),
    "X-RateLimit-Remaining": _header(
        "Requests left in the window; may be too low by what other processes have leased.",
        _WHOLE,
        587,
    ),
    "X-RateLimit-Reset": _header("When the window resets, in Unix seconds.", _WHOLE, 1769851860),
    "WWW-Authenticate": _header(
        "The scheme to send a key with.", {"type": "string", "const": "Bearer"}, "Bearer"
    ),
    "Retry-After": _header("Seconds to wait.", {"type": "integer", "minimum": 1}, 17),
    "ETag": _header(
        "Identifies this response, for If-None-Match.",
        {"type": "string", "pattern": '^W/"[0-9a-f]{32}"$'},
        ETAG,
    ),
    "Cache-Control": _header(
        "Only the client itself may cache the response, and must revalidate it.",
        {"type": "string"},
        READ,
    ),
    "Vary": _header(
        "The response depends on the key and the environment.",
        {"type": "string"},
        VARY,
        required=False,
    ),
    "Content-Encoding": _header(
        "The body is compressed: it has more than 1 KB, and Accept-Encoding allows it.",
        {"type": "string", "const": "gzip"},
        "gzip",
        required=False,
    ),
    "Allow": _header("The methods of the path.", {"type": "string"}, "GET,HEAD,OPTIONS"),
    "Content-Security-Policy": _header(
        "The page loads nothing from other hosts.", {"type": "string"}, "default-src 'none'"
    ),
    "X-Content-Type-Options": _header(
        "The browser must not guess content types.",
        {"type": "string", "const": "nosniff"},
        "nosniff",
    ),
    "X-Content-Position": _header(
        "The entry's position in the log, for reads that must see it: an opaque token of "
        "your workspace.",
        {"type": "string", "pattern": "^[A-Za-z0-9_-]{32}$"},
        POSITION,
    ),
    "X-Content-Visible": _header(
        "Whether the entry can be read yet. It is in the log, and will be, in any case.",
        {"type": "string", "enum": ["true", "false"]},
        "true",
    ),
    "Access-Control-Allow-Origin": _header(
        "Any origin may read this.", {"type": "string", "const": "*"}, "*"
    ),
    "Access-Control-Expose-Headers": _header(
        "The headers that scripts in browsers may read.",
        {"type": "string"},
        EXPOSED_HEADERS,
    ),
    "Access-Control-Allow-Methods": _header(
        "The methods that a page may use.", {"type": "string"}, "GET, HEAD, OPTIONS"
    ),
    "Access-Control-Allow-Headers": _header(
        "The headers that a page may send.", {"type": "string"}, ALLOWED_HEADERS
    ),
    "Access-Control-Max-Age": _header(
        "Seconds for which this response may be cached.", _WHOLE, int(MAX_AGE)
    ),
}
ALWAYS = (
    "X-Request-Id",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "Cache-Control",
    "Vary",
)
CORS = ("Access-Control-Allow-Origin", "Access-Control-Expose-Headers")
PREFLIGHT = (
    "Allow",
    "Access-Control-Allow-Methods",
    "Access-Control-Allow-Headers",
    "Access-Control-Max-Age",
)


def referred(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def optional(name: str) -> dict[str, Any]:
    """A header that this response has only sometimes."""
    return {name: {**HEADERS[name], "required": False}}
