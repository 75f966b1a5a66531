"""``X-Content-Position``: a position of the log as an opaque token of one workspace.

Nobody but us can read one, make one, or use one of another workspace. The same position has the
same token, in every process and after every restart. The construction is that of SIV (RFC 5297):
the authentication tag of what is said is also what hides it.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

from write_side.repository import Repository

HEADER = "X-Content-Position"
_KEY = "SELECT key FROM write_side.token_key"
_TAG = 16
_POSITION = 8


class Positions:
    def __init__(self, key: bytes) -> None:
        self._tagging = hmac.digest(key, b"tag", "sha256")
        self._hiding = hmac.digest(key, b"hide", "sha256")

    def token(self, workspace: str, position: int) -> str:
        said = position.to_bytes(_POSITION, "big")
        tag = self._tag(workspace, said)
        return urlsafe_b64encode(tag + self._hidden(tag, said)).decode()

    def position(self, workspace: str, token: str) -> int | None:
        """None where the token is none of this workspace's."""
        try:
            decoded = urlsafe_b64decode(token.encode("ascii"))
        except (UnicodeEncodeError, binascii.Error):
            return None
        if len(decoded) != _TAG + _POSITION:
            return None
        said = self._hidden(decoded[:_TAG], decoded[_TAG:])
        position = int.from_bytes(said, "big")
        # The whole token is compared: one position is not to have several, as base64 would have it.
        right = hmac.compare_digest(self.token(workspace, position), token)
        return position if right else None

    def _tag(self, workspace: str, said: bytes) -> bytes:
        return hmac.digest(self._tagging, said + workspace.encode(), "sha256")[:_TAG]

    def _hidden(self, tag: bytes, said: bytes) -> bytes:
        """And back again."""
        mask = hmac.digest(self._hiding, tag, "sha256")
        return bytes(a ^ b for a, b in zip(said, mask, strict=False))


async def load_positions(repository: Repository) -> Positions:
    [row] = await repository.recorder.fetch(_KEY)
    return Positions(row["key"])
