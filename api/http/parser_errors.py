"""Responses to what aiohttp's parser refuses, before there is a request."""

from __future__ import annotations

import re

from aiohttp import web
from aiohttp.http_exceptions import (
    BadHttpMessage,
    BadHttpMethod,
    BadStatusLine,
    InvalidURLError,
    LineTooLong,
)

from api.errors import MAX_TARGET, BadRequest

NO_HTTP = "Bad request: this is not valid HTTP"
BAD_URL = f"{NO_HTTP}; in a URL, percent-encode spaces and characters outside ASCII"
_METHOD = re.compile(r"b'[A-Za-z][\w-]* (?:/|\*|https?:)", re.ASCII)


def refusal_of(error: BaseException | None) -> Exception:
    """The error to respond with: 414, 431, 501, or 400 for anything that is not HTTP."""
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
