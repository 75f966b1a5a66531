"""``X-Content-Position``: a position of the log as an opaque token of one workspace.

A position has the same token in every process and after every restart.
"""

from __future__ import annotations

from functools import lru_cache

from api.rest.sealed import Seal

HEADER = "X-Content-Position"
REMEMBERED = 1024
"""Tokens of a process: one for each workspace, while nothing is written."""
_POSITION = 8


class Positions:
    def __init__(self, key: bytes) -> None:
        self._seal = Seal(key)
        # Reads between two writes have the same position.
        self.token = lru_cache(REMEMBERED)(self._token)

    def _token(self, workspace: str, position: int) -> str:
        return self._seal.token(workspace.encode(), position.to_bytes(_POSITION, "big"))

    def position(self, workspace: str, token: str) -> int | None:
        """None for a token of another workspace, or other text."""
        plain = self._seal.opened(workspace.encode(), token, _POSITION)
        return None if plain is None else int.from_bytes(plain, "big")
