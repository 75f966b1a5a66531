"""A body unpacked piece by piece, and only as far as somebody wants it.

aiohttp would unpack by itself, also what no handler reads: it takes that off the connection after
the answer, and 2 MB may unpack to 2 GB.
"""

from __future__ import annotations

import zlib
from typing import Protocol

ENCODINGS = ("gzip", "deflate")
NOT_UNPACKED = ("br", "zstd")
# What a member leaves of a piece is copied for the next one: the piece is to be small.
PIECE = 4096
# A member of no bytes costs 20, and more time than others.
MEMBERS = 1024


class Damaged(Exception):
    """What was sent is not what its encoding says."""


class _Member(Protocol):
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


class Unpacking:
    """``encoding``: one of ``ENCODINGS``. A gzip file may have several members (RFC 1952, 2.2);
    "deflate" is zlib's format, or bare, as some clients send it.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._member: _Member | None = None
        self._members = 0

    def unpacked(self, data: bytes, limit: int) -> bytes:
        """What came next, unpacked: up to ``limit`` bytes, more than 0. Where it is so many there
        may be more, which is lost. Raises Damaged."""
        unpacked = bytearray()
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            while piece:
                member = self._member_of(piece)
                unpacked += self._decompressed(member, piece, limit - len(unpacked))
                if len(unpacked) >= limit:
                    return bytes(unpacked)
                piece = member.unused_data
        return bytes(unpacked)

    def end(self) -> None:
        """Raises Damaged where something is missing; a body of nothing lacks nothing."""
        if self._member is not None and not self._member.eof:
            raise Damaged

    def _member_of(self, piece: bytes) -> _Member:
        """The member under way, or the next one, which begins with the piece."""
        if self._member is None or self._member.eof:
            self._members += 1
            if self._members > (MEMBERS if self._encoding == "gzip" else 1):
                raise Damaged
            self._member = zlib.decompressobj(self._format(piece[0]))
        return self._member

    def _format(self, first: int) -> int:
        """zlib's number for it. Its own header begins with a byte whose lower half is 8."""
        if self._encoding == "gzip":
            return zlib.MAX_WBITS + 16
        return zlib.MAX_WBITS if first & 0xF == zlib.DEFLATED else -zlib.MAX_WBITS

    @staticmethod
    def _decompressed(member: _Member, piece: bytes, limit: int) -> bytes:
        try:
            return member.decompress(piece, limit)
        except zlib.error:
            raise Damaged from None
