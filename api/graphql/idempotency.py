"""``Idempotency-Key`` on a GraphQL request: each of its mutations is carried out once.

The first mutation of a document has the same key as a POST over REST, so that a key names one
request through either API. The others add their place in the document to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from msgspec import Struct

from api.context import Call
from api.errors import StillInFlight
from api.idempotency import HEADER, command_key, digest
from write_side.domain.identity import Scope


class MutationKey(Struct, frozen=True):
    """``place``: of the mutation among those of its document."""

    header: str | None
    digest: bytes
    place: int
    in_flight: bool

    def arguments(self, key_id: str, scope: Scope) -> dict[str, Any]:
        """What makes a command safe to send again. Raises BadRequest, StillInFlight."""
        if self.header is None:
            return {}
        key = command_key(self.header, key_id, scope)
        if self.in_flight:
            raise StillInFlight
        return {
            "command_key": f"{key}/{self.place}" if self.place else key,
            "digest": self.digest,
        }


class IdempotencyKeys:
    """Gives the mutations of one request their keys, in the order of the document."""

    def __init__(self, call: Call, body: bytes) -> None:
        self._call = call
        self._header = call.request.headers.get(HEADER)
        self._digest = digest(body)
        self._count = 0
        self._in_flight = False

    def next(self) -> MutationKey:
        key = MutationKey(self._header, self._digest, self._count, self._in_flight)
        self._count += 1
        return key

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Holds the key while the request is answered. If another request holds it, the mutations
        of this one are refused."""
        if self._header is None:
            yield
            return
        request, key_id = self._call.request, self._call.known_caller.key_id
        environment = request.query.get("environment") or request.headers.get("X-Environment")
        name = f"graphql\n{key_id}\n{environment}\n{self._header}"
        with ExitStack() as stack:
            try:
                stack.enter_context(self._call.service.in_flight.alone(name))
            except StillInFlight:
                self._in_flight = True
            yield
