"""Request bodies decompressed piece by piece, up to a limit.

aiohttp's own decompression has no limit, and includes bodies that no handler reads: it drains them
from the connection after the response, and 2 MB may decompress to 2 GB.
"""

from __future__ import annotations

import zlib
from typing import Protocol

ENCODINGS = ("gzip", "deflate")
UNSUPPORTED = ("br", "zstd")
# The rest of a piece is copied for the next member, so pieces are small.
PIECE = 4096
# An empty member takes 20 bytes, and more time than others.
MAX_MEMBERS = 1024


class Damaged(Exception):
    """The body does not match its Content-Encoding."""


class _Member(Protocol):
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


class Decompressor:
    """``encoding``: one of ``ENCODINGS``. A gzip file may have several members (RFC 1952, 2.2);
    "deflate" is zlib's format, or without its header, as some clients send it.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._member: _Member | None = None
        self._members = 0

    def decompress(self, data: bytes, limit: int) -> bytes:
        """The next part of the body, up to ``limit`` (> 0) bytes; beyond them it is lost.

        Raises Damaged.
        """
        body = bytearray()
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            while piece:
                member = self._member_of(piece)
                body += _decompress(member, piece, limit - len(body))
                if len(body) >= limit:
                    return bytes(body)
                piece = member.unused_data
        return bytes(body)

    def end(self) -> None:
        """Raises Damaged if the body is incomplete; an empty one is complete."""
        if self._member is not None and not self._member.eof:
            raise Damaged

    def _member_of(self, piece: bytes) -> _Member:
        """The current member, or the next one, which begins with the piece."""
        if self._member is None or self._member.eof:
            self._members += 1
            if self._members > (MAX_MEMBERS if self._encoding == "gzip" else 1):
                raise Damaged
            self._member = zlib.decompressobj(self._format(piece[0]))
        return self._member

    def _format(self, first: int) -> int:
        """zlib's number for the format. zlib's header begins with a byte whose lower half is 8."""
        if self._encoding == "gzip":
            return zlib.MAX_WBITS + 16
        return zlib.MAX_WBITS if first & 0xF == zlib.DEFLATED else -zlib.MAX_WBITS


def _decompress(member: _Member, piece: bytes, limit: int) -> bytes:
    try:
        return member.decompress(piece, limit)
    except zlib.error:
        raise Damaged from None
