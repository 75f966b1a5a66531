"""The one map from exceptions to HTTP.

Refusals of ``write_side`` and ``read_side`` do not depend on HTTP. The API's own are:

ApiError
├── BadRequest              400
├── Unauthorized            401
├── Forbidden, OtherEnvironment, ForgedRequest  403
├── SlowClient              408
├── RequestInProgress, NothingToRevert  409
├── Gone                    410
├── BodyTooLarge, FileTooLarge  413
├── UnsupportedMedia        415
├── RateLimitExceeded ── CostLimitExceeded, TooManyImports, TooManyStreams  429
└── NotVisibleYet, Busy, KeysUnavailable, NoTemporarySpace  503
"""

from __future__ import annotations

import re

import asyncpg
from aiohttp import web
from aiohttp.http_exceptions import (
    BadHttpMessage,
    BadHttpMethod,
    BadStatusLine,
    InvalidURLError,
    LineTooLong,
)

from api.rest.wire import ErrorBody, encode
from read_side.refusals import IncompleteIndex, InvalidQuery, NotFound, ReadModelUnavailable
from write_side.domain import refusals as r
from write_side.domain.text import NotJSON
from write_side.fair_queue import Overloaded
from write_side.store.conflicts import StoreUnavailable

RETRY = 5
"""Seconds until an import or a stream may have ended."""
MAX_TARGET = 32_768
"""Bytes of a request target. Different from MAX_HEADER, so that aiohttp's error shows which of the
two was exceeded."""
MAX_HEADER = 8_192
"""Bytes of one header."""
MAX_HEADERS = 65_536
"""Bytes of all headers in total. 128 of the largest would take 2 MB of memory for each
connection."""
NO_HTTP = "Bad request: this is not valid HTTP"
BAD_URL = f"{NO_HTTP}; in a URL, percent-encode spaces and characters outside ASCII"
_METHOD = re.compile(r"b'[A-Za-z][\w-]* (?:/|\*|https?:)", re.ASCII)


class ApiError(Exception):
    """A request that cannot be served; the text is the message of the response."""


class BadRequest(ApiError):
    """The request itself is invalid, regardless of the workspace's content."""


class Unauthorized(ApiError):
    def __init__(self) -> None:
        super().__init__("Unauthorized - Invalid or missing API key")


class Forbidden(ApiError):
    def __init__(self, permission: str) -> None:
        super().__init__(f"Forbidden - this API key needs the {permission} permission")


class OtherEnvironment(ApiError):
    """The key works in one environment, and the request names the other one, or none
    (production)."""

    def __init__(self, environment: str) -> None:
        super().__init__(
            f"Forbidden - this API key works in {environment} only: use environment={environment} "
            "in the query, or the X-Environment header"
        )


class ForgedRequest(ApiError):
    """A form that was sent from another site's page or another session."""


class SlowClient(ApiError):
    """``seconds``: the time for any body. ``rate``: bytes for each further second."""

    def __init__(self, seconds: float, rate: int) -> None:
        super().__init__(
            f"The request body did not arrive within {seconds:g} seconds plus one for each "
            f"{rate:,} bytes: send it faster, or in smaller requests"
        )


class RequestInProgress(ApiError):
    def __init__(self) -> None:
        super().__init__(
            "A request with this Idempotency-Key is still in progress: retry when it is done"
        )


class NothingToRevert(ApiError):
    """The import changed nothing or is not done."""


class Gone(ApiError):
    """The change feed no longer has the position that the request names."""

    def __init__(self) -> None:
        super().__init__("The feed no longer has this position: copy everything again")


class BodyTooLarge(ApiError):
    """``limit`` is in bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"Request body is too large: the limit is {limit:,} bytes; "
            "send several smaller requests"
        )


class FileTooLarge(ApiError):
    """``limit`` is in bytes."""

    def __init__(self, name: str, limit: int) -> None:
        super().__init__(f"{name or 'The file'} is too large: the limit is {limit // 1024**2} MB")


class UnsupportedMedia(ApiError):
    """A body that is not a form, or a file that is not a table."""


class RateLimitExceeded(ApiError):
    """``wait``: whole seconds until the window ends, at least 1."""

    def __init__(self, wait: int, limit: str = "Rate limit exceeded") -> None:
        super().__init__(f"{limit}, please retry in {wait} seconds")
        self.wait = wait


class CostLimitExceeded(RateLimitExceeded):
    """``limit``: units per minute of the workspace."""

    def __init__(self, wait: int, limit: int) -> None:
        super().__init__(
            wait,
            f"Cost limit exceeded: this workspace has used its {limit:,} units "
            "of this minute; request less at a time",
        )


class TooManyImports(RateLimitExceeded):
    """The workspace has too many imports in progress; each takes a few seconds."""

    def __init__(self, limit: int) -> None:
        super().__init__(RETRY, f"This workspace already has {limit} imports in progress")


class TooManyStreams(RateLimitExceeded):
    """``holder``: what has ``limit`` streams in this process, key or workspace."""

    def __init__(self, holder: str, limit: int) -> None:
        super().__init__(RETRY, f"This {holder} has {limit:,} streams already")


class NotVisibleYet(ApiError):
    """The read model has not reached the position or time that the request names."""

    def __init__(self) -> None:
        super().__init__(
            "The position or time that the request names cannot be read yet, please retry"
        )


class KeysUnavailable(ApiError):
    """The keys that this process knows may include revoked ones."""

    def __init__(self) -> None:
        super().__init__("API keys cannot be checked: the event store is unavailable, please retry")


class Busy(ApiError):
    """The process has no room for the request at the moment."""


class NoTemporarySpace(ApiError):
    """A large request or response does not fit on the disk for temporary files."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"no temporary file for a large request or response: {error.strerror}")


STATUS: dict[type[Exception], int] = {
    BadRequest: 400,
    NotJSON: 400,
    InvalidQuery: 400,
    r.InvalidEntry: 400,
    r.InvalidDefinition: 400,
    Unauthorized: 401,
    r.PlanLimitReached: 402,
    r.StagingNotInPlan: 402,
    Forbidden: 403,
    OtherEnvironment: 403,
    ForgedRequest: 403,
    NotFound: 404,
    r.UnknownContentType: 404,
    r.UnknownEntry: 404,
    r.UnknownVersion: 404,
    r.UnknownImport: 404,
    r.UnknownUpload: 404,
    r.UnknownWebhook: 404,
    r.EnvironmentNotSetUp: 404,
    SlowClient: 408,
    RequestInProgress: 409,
    NothingToRevert: 409,
    r.Taken: 409,
    r.VersionConflict: 409,
    r.ContentTypeInUse: 409,
    Gone: 410,
    BodyTooLarge: 413,
    FileTooLarge: 413,
    UnsupportedMedia: 415,
    r.CommandKeyReused: 422,
    r.FileMismatch: 422,
    RateLimitExceeded: 429,
    NotVisibleYet: 503,
    Busy: 503,
    NoTemporarySpace: 503,
    KeysUnavailable: 503,
    ReadModelUnavailable: 503,
    IncompleteIndex: 503,
    r.StaleDecision: 503,
    StoreUnavailable: 503,
    Overloaded: 503,
    # A full disk, too little memory, too many connections (SQLSTATE class 53).
    asyncpg.InsufficientResourcesError: 503,
}

ROUTER = {
    404: "Not found",
    417: "Unsupported Expect header: use 100-continue, or leave it out",
    414: f"Request target is too long: the limit is {MAX_TARGET:,} bytes",
    431: f"Request headers are too large: the limit is 128 headers of {MAX_HEADER:,} bytes each, "
    f"and {MAX_HEADERS:,} bytes in total",
    501: "Unknown method: use GET, HEAD, POST or OPTIONS",
}
"""Our messages for aiohttp's errors."""
EXPLAINED = (KeysUnavailable, IncompleteIndex, NotVisibleYet)
"""The refusals with 503 whose own message is sent."""


def status_of(error: Exception) -> int:
    """The status of aiohttp's errors, or that of the nearest class in the map; 500 for an
    unexpected error."""
    if isinstance(error, web.HTTPException):
        return error.status
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def message_of(error: Exception) -> str:
    """The message of the response; a 500 or 503 reveals no details."""
    if isinstance(error, web.HTTPMethodNotAllowed):
        return f"Method not allowed: use {r.in_words(sorted(error.allowed_methods))}"
    if isinstance(error, web.HTTPException):
        return ROUTER.get(error.status, error.reason)
    if isinstance(error, NotJSON):
        return "Request body must be valid JSON"
    if isinstance(error, EXPLAINED):
        return str(error)
    match status_of(error):
        case 500:
            return "Internal server error"
        case 503:
            return "Service temporarily unavailable, please retry"
    return str(error)


def headers_of(error: Exception) -> dict[str, str]:
    """The response headers that depend on the error."""
    match error:
        case RateLimitExceeded():
            return {"Retry-After": str(error.wait)}
        case web.HTTPMethodNotAllowed():
            return {"Allow": error.headers["Allow"]}
    match status_of(error):
        case 401:
            return {"WWW-Authenticate": "Bearer"}  # RFC 9110, 15.5.2
        case 503:
            return {"Retry-After": "1"}
    return {}


def refusal_of(error: BaseException | None) -> Exception:
    """The error to respond with if aiohttp's parser refuses a request: 414, 431, 501, or 400 for
    anything that is not HTTP."""
    match error:
        case LineTooLong(args=(_, limit, *_)) if limit == MAX_TARGET:
            return web.HTTPRequestURITooLong()
        case LineTooLong():
            return web.HTTPRequestHeaderFieldsTooLarge()
        case BadHttpMethod() if _METHOD.search(error.message):
            return web.HTTPNotImplemented()
        case BadHttpMessage(message="Too many headers received"):
            return web.HTTPRequestHeaderFieldsTooLarge()
        case InvalidURLError() | BadStatusLine() if not isinstance(error, BadHttpMethod):
            return BadRequest(BAD_URL)
        case BadHttpMessage():
            # Further lines show the bytes.
            reason = error.message.partition("\n")[0].rstrip(":.")
            return BadRequest(f"{NO_HTTP}: {reason}")
    return BadRequest(NO_HTTP)


def error_response(error: Exception) -> web.Response:
    """In the error envelope (§7)."""
    body = encode(ErrorBody(message_of(error)))
    response = web.Response(status=status_of(error), body=body, content_type="application/json")
    response.headers.update(headers_of(error))
    return response
