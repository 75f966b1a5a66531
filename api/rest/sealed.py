"""Opaque tokens: bytes that clients can neither read nor change, for one context only.

As in SIV (RFC 5297), the authentication tag of the bytes also encrypts them, so the same bytes have
the same token in every process and after every restart.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b

_KEY = 32
_TAG = 16
_BLOCK = 64


class Seal:
    """``key``: a secret for one kind of tokens."""

    def __init__(self, key: bytes) -> None:
        self._tag_key = keyed(key, b"tag", _KEY)
        self._mask_key = keyed(key, b"hide", _KEY)

    def token(self, context: bytes, plain: bytes) -> str:
        tag = keyed(self._tag_key, plain + context, _TAG)
        return urlsafe_b64encode(tag + self._masked(tag, plain)).decode()

    def opened(self, context: bytes, token: str, size: int | None = None) -> bytes | None:
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
        mask = b"".join(
            keyed(self._mask_key, tag + _number(start), min(_BLOCK, len(text) - start))
            for start in range(0, len(text), _BLOCK)
        )
        masked = int.from_bytes(text, "big") ^ int.from_bytes(mask, "big")
        return masked.to_bytes(len(text), "big")


def _number(start: int) -> bytes:
    """The number of a block. The first one has none, because tokens once had only one block."""
    return start.to_bytes(4, "big") if start else b""


def keyed(key: bytes, text: bytes, size: int) -> bytes:
    """Keyed BLAKE2b (RFC 7693). HMAC-SHA256 takes several times as long on such short texts."""
    return blake2b(text, key=key, digest_size=size).digest()
