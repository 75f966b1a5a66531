"""``Idempotency-Key`` on a POST: a repeated request is executed once.

The write side stores the command's key in the transaction of its append. The key is derived here
from the API key, the environment and the client's own key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager

from api.errors import BadRequest, RequestInProgress
from write_side.domain.identity import Scope

HEADER = "Idempotency-Key"
_CLIENT_KEY = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")


def command_key(client_key: str | None, key_id: str, scope: Scope) -> str | None:
    """The key under which the command is stored, if the client has one. Raises BadRequest."""
    if client_key is None:
        return None
    if not _CLIENT_KEY.fullmatch(client_key):
        raise BadRequest(f"{HEADER} takes 1 to 255 printable ASCII characters")
    # The first two contain no line break, so the combination is unambiguous.
    origin = "\n".join((key_id, scope.environment, client_key))
    return f"http/{hashlib.sha256(origin.encode()).hexdigest()}"


def digest(body: bytes) -> bytes:
    """Distinguishes bodies sent with the same key."""
    return hashlib.sha256(body).digest()


class InFlight:
    """The requests with a key that are in progress in this process.

    A repeated request that reaches another process is not refused: its append waits for the first
    one and returns its result.
    """

    def __init__(self) -> None:
        self._keys: set[str] = set()

    @contextmanager
    def reserve(self, key: str) -> Iterator[None]:
        """Raises RequestInProgress."""
        if key in self._keys:
            raise RequestInProgress
        self._keys.add(key)
        try:
            yield
        finally:
            self._keys.discard(key)
