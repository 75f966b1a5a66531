"""``Idempotency-Key`` on a POST: the request is carried out once, however often it is sent.

The write side remembers a command by its key, in the transaction of its append; here the key is
made of what it holds for: the API key, the environment and what the client calls it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager

from api.errors import BadRequest, StillInFlight
from write_side.domain.identity import Scope

HEADER = "Idempotency-Key"
_GIVEN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")


def command_key(given: str, key_id: str, scope: Scope) -> str:
    """What the log remembers the request by. Raises BadRequest."""
    if not _GIVEN.fullmatch(given):
        raise BadRequest(f"{HEADER} takes 1 to 255 visible ASCII characters")
    # The two before hold no line break, so no two of these read the same.
    named = "\n".join((key_id, scope.environment, given))
    return f"http/{hashlib.sha256(named.encode()).hexdigest()}"


def digest(body: bytes) -> bytes:
    """What tells one body from another."""
    return hashlib.sha256(body).digest()


class InFlight:
    """The requests that this process has not answered yet.

    One that came to another process meanwhile is not refused: its append waits for the first one's,
    and is answered from it.
    """

    def __init__(self) -> None:
        self._keys: set[str] = set()

    @contextmanager
    def reserve(self, key: str) -> Iterator[None]:
        """Raises StillInFlight."""
        if key in self._keys:
            raise StillInFlight
        self._keys.add(key)
        try:
            yield
        finally:
            self._keys.discard(key)
