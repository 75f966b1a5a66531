"""Headers of responses, by the names that they have."""

from __future__ import annotations

from typing import Any

from api.openapi.examples import REQUEST_ID


def _header(description: str, schema: Any, example: Any, *, required: bool = True) -> Any:
    """``required``: on every response that refers to it."""
    return {
        "description": description,
        "required": required,
        "schema": schema,
        "example": example,
    }


_WHOLE = {"type": "integer", "minimum": 0}
HEADERS: dict[str, Any] = {
    "X-Request-Id": _header(
        "The request's id: yours where it was well-formed.",
        {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$"},
        REQUEST_ID,
    ),
    "X-RateLimit-Limit": _header("Requests allowed in the current window.", _WHOLE, 600),
    "X-RateLimit-Remaining": _header(
        "Requests left in the window; may understate by what other processes hold.", _WHOLE, 587
    ),
    "X-RateLimit-Reset": _header("When the window resets, in Unix seconds.", _WHOLE, 1769851860),
    "Retry-After": _header("Seconds to wait.", {"type": "integer", "minimum": 1}, 17),
    "ETag": _header(
        "Names this very answer, for If-None-Match.", {"type": "string"}, 'W/"5d41402abc4b2a76"'
    ),
    "Cache-Control": _header(
        "Nothing is kept but by the client itself, and not without asking.",
        {"type": "string"},
        "private, no-cache",
    ),
    "Vary": _header(
        "The answer depends on the key and the environment.",
        {"type": "string"},
        "Authorization, X-API-Key, X-Environment, Accept-Encoding",
        required=False,
    ),
    "Content-Security-Policy": _header(
        "The page loads nothing from other hosts.", {"type": "string"}, "default-src 'none'"
    ),
    "X-Content-Type-Options": _header(
        "Files are what they are declared to be.", {"type": "string", "const": "nosniff"}, "nosniff"
    ),
    "X-Content-Position": _header(
        "A position in the log: all events up to it are in what is answered.",
        _WHOLE,
        120,
        required=False,
    ),
    "X-Content-Visible": _header(
        "Whether the entry can be read by now. It is in the log and will be, either way.",
        {"type": "string", "enum": ["true", "false"]},
        "true",
    ),
    "Access-Control-Allow-Origin": _header(
        "Any origin may read this.", {"type": "string", "const": "*"}, "*"
    ),
    "Access-Control-Expose-Headers": _header(
        "The headers that scripts in browsers may read.",
        {"type": "string"},
        "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, ETag, "
        "X-Request-Id, X-Content-Position, X-Content-Visible",
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


def referred(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
