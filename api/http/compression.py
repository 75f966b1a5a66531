"""Compression of response bodies, and their ETags."""

from __future__ import annotations

import asyncio
import hashlib
import zlib

THREAD_ABOVE = 64 * 1024  # bytes; in the event loop this would delay other requests
# Level 6 makes it a tenth smaller and takes twice the time.
GZIP_LEVEL = 2
GZIP_FORMAT = 31  # zlib's number for a gzip header and a window of 32 kB


def etag(body: bytes) -> str:
    """A weak one: the same with and without compression."""
    return tag_of(hashlib.sha256(body).hexdigest())


def tag_of(digest: str) -> str:
    """``digest``: SHA-256 of the body, in hexadecimal."""
    return f'W/"{digest[:32]}"'


async def gzipped(body: bytes) -> bytes:
    if len(body) > THREAD_ABOVE:
        return await asyncio.to_thread(zlib.compress, body, GZIP_LEVEL, GZIP_FORMAT)
    return zlib.compress(body, GZIP_LEVEL, GZIP_FORMAT)
