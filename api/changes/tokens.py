"""The ids of changes: opaque tokens of one workspace and environment, from which a client follows
the feed (ADR 48).

A token holds the change's position and a fingerprint of its event. Positions are reused after the
log was restored to an earlier point; fingerprints are not.
"""

from __future__ import annotations

from hashlib import blake2b

from msgspec import Struct

from api.rest.sealed import Seal, keyed
from read_side.changes import BEGINNING, ChangeRecord
from write_side.domain.identity import Scope

_POSITION = 8
_FINGERPRINT = 6


class ChangePosition(Struct, frozen=True):
    position: int
    fingerprint: bytes = bytes(_FINGERPRINT)

    @classmethod
    def of(cls, change: ChangeRecord | None) -> ChangePosition:
        """The position of the change; None: the beginning of the feed."""
        if change is None:
            return cls(BEGINNING)
        event = f"{change.subject} {change.version} {change.at.timestamp():.3f}"
        digest = blake2b(event.encode(), digest_size=_FINGERPRINT).digest()
        return cls(change.position, digest)


class ChangeTokens:
    def __init__(self, key: bytes) -> None:
        self._seal = Seal(keyed(key, b"changes", 32))

    def token(self, scope: Scope, change: ChangeRecord | None) -> str:
        """None: the beginning of the feed."""
        at = ChangePosition.of(change)
        return self._seal.token(
            _context(scope), at.position.to_bytes(_POSITION, "big") + at.fingerprint
        )

    def position(self, scope: Scope, token: str) -> ChangePosition | None:
        """None for a token of another workspace or environment, or other text."""
        text = self._seal.opened(_context(scope), token, _POSITION + _FINGERPRINT)
        if text is None:
            return None
        return ChangePosition(int.from_bytes(text[:_POSITION], "big"), text[_POSITION:])


def _context(scope: Scope) -> bytes:
    return f"{scope.workspace}/{scope.environment}".encode()
