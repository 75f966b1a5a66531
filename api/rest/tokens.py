"""Opaque tokens: bytes that clients can neither read nor change, for one context only.

As in SIV (RFC 5297), the authentication tag of the bytes also encrypts them, so the same bytes have
the same token in every process and after every restart.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache
from hashlib import blake2b

from msgspec import Struct

from read_side.changes import BEGINNING, ChangeRecord
from write_side.domain.identity import Scope

POSITION = "X-Content-Position"
"""The header with the token of a position of the log."""
REMEMBERED = 1024
"""Tokens of positions in memory: one for each workspace, while nothing is written."""
_KEY = 32
_TAG = 16
_BLOCK = 64
_POSITION_BYTES = 8
_FINGERPRINT_BYTES = 6


class Seal:
    """``key``: a secret for one kind of tokens."""

    def __init__(self, key: bytes) -> None:
        self._tag_key = keyed_hash(key, b"tag", _KEY)
        self._mask_key = keyed_hash(key, b"hide", _KEY)

    def token(self, context: bytes, plain: bytes) -> str:
        tag = keyed_hash(self._tag_key, plain + context, _TAG)
        return urlsafe_b64encode(tag + self._masked(tag, plain)).decode()

    def open(self, context: bytes, token: str, size: int | None = None) -> bytes | None:
        """None for a token of another context, of another size, or other text."""
        try:
            decoded = urlsafe_b64decode(token.encode("ascii"))
        except (UnicodeEncodeError, binascii.Error):
            return None
        if len(decoded) <= _TAG or (size is not None and len(decoded) != _TAG + size):
            return None
        plain = self._masked(decoded[:_TAG], decoded[_TAG:])
        # The whole token is compared, because base64 can encode the same bytes in several ways.
        is_ours = hmac.compare_digest(self.token(context, plain), token)
        return plain if is_ours else None

    def _masked(self, tag: bytes, text: bytes) -> bytes:
        """Masks the text, or unmasks it: the function is its own inverse."""
        mask = b""
        for start in range(0, len(text), _BLOCK):
            # The first block has no number, because tokens once had only one.
            block = tag + start.to_bytes(4, "big") if start else tag
            mask += keyed_hash(self._mask_key, block, min(_BLOCK, len(text) - start))
        masked = int.from_bytes(text, "big") ^ int.from_bytes(mask, "big")
        return masked.to_bytes(len(text), "big")


def keyed_hash(key: bytes, text: bytes, size: int) -> bytes:
    """Keyed BLAKE2b (RFC 7693). HMAC-SHA256 takes several times as long on such short texts."""
    return blake2b(text, key=key, digest_size=size).digest()


class Positions:
    """Tokens of positions of the log, each of one workspace."""

    def __init__(self, key: bytes) -> None:
        self._seal = Seal(key)
        # Reads between two writes have the same position.
        self.token = lru_cache(REMEMBERED)(self._token)

    def _token(self, workspace: str, position: int) -> str:
        return self._seal.token(workspace.encode(), position.to_bytes(_POSITION_BYTES, "big"))

    def position(self, workspace: str, token: str) -> int | None:
        """None for a token of another workspace, or other text."""
        plain = self._seal.open(workspace.encode(), token, _POSITION_BYTES)
        return None if plain is None else int.from_bytes(plain, "big")


class ChangePosition(Struct, frozen=True):
    """The place of a change in the feed (ADR 48): its position, and a fingerprint of its event.

    Positions are reused after the log was restored to an earlier point; fingerprints are not.
    """

    position: int
    fingerprint: bytes = bytes(_FINGERPRINT_BYTES)

    @classmethod
    def of(cls, change: ChangeRecord | None) -> ChangePosition:
        """The position of the change; None: the beginning of the feed."""
        if change is None:
            return cls(BEGINNING)
        event = f"{change.subject} {change.version} {change.at.timestamp():.3f}"
        digest = blake2b(event.encode(), digest_size=_FINGERPRINT_BYTES).digest()
        return cls(change.position, digest)


class ChangeTokens:
    """The ids of changes, each of one workspace and environment."""

    def __init__(self, key: bytes) -> None:
        self._seal = Seal(keyed_hash(key, b"changes", 32))

    def token(self, scope: Scope, change: ChangeRecord | None) -> str:
        """None: the beginning of the feed."""
        at = ChangePosition.of(change)
        return self._seal.token(
            _context(scope), at.position.to_bytes(_POSITION_BYTES, "big") + at.fingerprint
        )

    def position(self, scope: Scope, token: str) -> ChangePosition | None:
        """None for a token of another workspace or environment, or other text."""
        text = self._seal.open(_context(scope), token, _POSITION_BYTES + _FINGERPRINT_BYTES)
        if text is None:
            return None
        return ChangePosition(int.from_bytes(text[:_POSITION_BYTES], "big"), text[_POSITION_BYTES:])


def _context(scope: Scope) -> bytes:
    return f"{scope.workspace}/{scope.environment}".encode()
