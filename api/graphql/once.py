"""``Idempotency-Key`` on a GraphQL request: each of its mutations is carried out once.

The first mutation of a document has the very key that a POST over REST would have, the others
theirs after it, by their place in the document. So one key is one request, through either door.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from msgspec import Struct

from api.context import Call
from api.errors import StillInFlight
from api.rest.idempotency import HEADER, command_key, digest
from write_side.domain.identity import Scope


class Place(Struct, frozen=True):
    """One mutation of a document."""

    given: str | None
    digest: bytes
    number: int
    in_flight: bool

    def command_of(self, key_id: str, scope: Scope) -> dict[str, Any]:
        """What makes its command one that may be sent again. Raises BadRequest, StillInFlight."""
        if self.given is None:
            return {}
        key = command_key(self.given, key_id, scope)
        if self.in_flight:
            raise StillInFlight
        return {
            "command_key": f"{key}/{self.number}" if self.number else key,
            "digest": self.digest,
        }


class Once:
    """Counts the mutations of a request; none may overtake another request with its key."""

    def __init__(self, call: Call, body: bytes) -> None:
        self._call = call
        self._given = call.request.headers.get(HEADER)
        self._digest = digest(body)
        self._number = 0
        self._in_flight = False

    def next(self) -> Place:
        place = Place(self._given, self._digest, self._number, self._in_flight)
        self._number += 1
        return place

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While it is answered. Where another with its key is, its mutations are refused."""
        given = self._given
        if given is None:
            yield
            return
        request, key_id = self._call.request, self._call.known_caller.key_id
        environment = request.query.get("environment") or request.headers.get("X-Environment")
        name = f"graphql\n{key_id}\n{environment}\n{given}"
        with ExitStack() as stack:
            try:
                stack.enter_context(self._call.service.in_flight.reserve(name))
            except StillInFlight:
                self._in_flight = True
            yield
