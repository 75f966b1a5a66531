"""``Idempotency-Key`` on a GraphQL request: each of its mutations is carried out once.

The first mutation of a document has the same key as a POST over REST, so that a key names one
request through either API. The others add their place in the document to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any

from api.context import Call
from api.errors import StillInFlight
from api.rest.idempotency import HEADER, command_key, digest
from write_side.domain.identity import Scope


class IdempotencyKeys:
    """Gives the mutations of one request their keys, by their place in the document."""

    def __init__(self, call: Call, body: bytes) -> None:
        self._call = call
        self._header = call.request.headers.get(HEADER)
        self._digest = digest(body)
        self._places = count()
        self._in_flight = False

    def next_place(self) -> int:
        """Each mutation takes one, also if it is refused: a retry must count the same."""
        return next(self._places)

    def arguments(self, place: int, scope: Scope) -> dict[str, Any]:
        """What makes a command safe to send again. Raises BadRequest, StillInFlight."""
        if self._header is None:
            return {}
        key = command_key(self._header, self._call.known_caller.key_id, scope)
        if self._in_flight:
            raise StillInFlight
        return {"command_key": f"{key}/{place}" if place else key, "digest": self._digest}

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
                stack.enter_context(self._call.service.in_flight.reserve(name))
            except StillInFlight:
                self._in_flight = True
            yield
