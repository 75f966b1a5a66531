"""Requests that change something come from our own pages, or they are refused.

Two checks, each enough by itself. What the browser says of the request's origin: no page can make
it say otherwise. And a token that only a page of the same session can hold; it is another one on
each page, so that nothing can be learnt from how well a page packs.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from urllib.parse import urlsplit

from aiohttp import web

_NONCE = 16
_PURPOSE = b"contentlog dashboard forms"


def token_for(session: str) -> str:
    """A token for one page of the session."""
    nonce = secrets.token_hex(_NONCE)
    return nonce + _proof(session, nonce)


def is_genuine(session: str, token: str) -> bool:
    nonce, proof = token[: 2 * _NONCE], token[2 * _NONCE :]
    return hmac.compare_digest(_proof(session, nonce).encode(), proof.encode("utf-8", "replace"))


def is_from_here(request: web.Request) -> bool:
    """By Sec-Fetch-Site, which browsers send on https and to this machine, else by Origin, which
    they send with every POST. Neither of the two: not a browser's form."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    return urlsplit(request.headers.get("Origin", "")).netloc.lower() == request.host.lower() != ""


def _proof(session: str, nonce: str) -> str:
    message = _PURPOSE + nonce.encode("utf-8", "replace")
    return hmac.new(session.encode("utf-8", "surrogateescape"), message, hashlib.sha256).hexdigest()
