"""What one command appends, and the columns in which some of them go to PostgreSQL together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from eventsourcing.persistence import StoredEvent
from msgspec import Struct

from write_side.domain.identity import Scope, new_id
from write_side.domain.slugs import slug_hash

Quota = Literal["entries", "content_types"]
ENTRIES: Quota = "entries"
CONTENT_TYPES: Quota = "content_types"


class EntryClaim(Struct, frozen=True):
    """An entry's id, and its slug among the entries of one type and language."""

    entry_id: str
    scope: Scope
    content_type_id: str
    language: str
    slug: str

    @property
    def slug_hash(self) -> bytes:
        return slug_hash(self.slug)


class TypeCheck(Struct, frozen=True):
    """The version of the content type that a command was decided on."""

    content_type_id: str
    version: int


class Use(Struct, frozen=True):
    """What a command adds to what counts against the plan."""

    scope: Scope
    quota: Quota
    n: int


class Append(Struct, frozen=True, kw_only=True):
    """The events of one command and what must hold for them: appended as a whole or not at all.

    ``command_key`` decides whether an append that is sent again has happened; ``digest`` is of the
    request it came from. ``changes`` are rare changes of claims, as
    ``write_side.change_claims`` documents them. ``apart``: it is large, and goes over another
    connection than the others, its events staged beforehand.
    """

    events: Sequence[StoredEvent]
    command_key: str = msgspec.field(default_factory=new_id)
    digest: bytes = b""
    claims: Sequence[EntryClaim] = ()
    type_checks: Sequence[TypeCheck] = ()
    uses: Sequence[Use] = ()
    changes: dict[str, Any] | None = None
    apart: bool = False

    @property
    def size(self) -> int:
        """Bytes of its events."""
        return sum(len(event.state) for event in self.events)

    @property
    def coalescable(self) -> bool:
        """Whether it may share a call: what is refused is then easily given back."""
        return (
            not self.apart
            and self.changes is None
            and len(self.claims) <= 1
            and len(self.uses) <= 1
            and len(self.events) <= 50
        )

    def names(self) -> set[object]:
        """What no two commands of one call may have in common."""
        claims = ((c.scope, c.content_type_id, c.language, c.slug) for c in self.claims)
        ids = (claim.entry_id for claim in self.claims)
        return {
            self.command_key,
            *claims,
            *ids,
            *(event.originator_id for event in self.events),
        }


class Appended(Struct, frozen=True):
    """Where the events of a command stand in the log: ``position`` is of the first.

    ``replayed``: it had happened before, under the digest that was sent then.
    """

    position: int
    events: int
    replayed: bool = False
    digest: bytes = b""

    @property
    def last(self) -> int:
        return self.position + self.events - 1


def columns(
    appends: Sequence[Append], *, thorough: bool = False, batch: str | None = None
) -> tuple[Any, ...]:
    """The parameters of ``write_side.append``, commands numbered from 1.

    ``batch``: where the states of the events are staged, which then are left out.
    """
    numbered = list(enumerate(appends, 1))
    claims = [(n, claim) for n, append in numbered for claim in append.claims]
    checks = [(n, check) for n, append in numbered for check in append.type_checks]
    uses = [(n, use) for n, append in numbered for use in append.uses]
    events = [(n, event) for n, append in numbered for event in append.events]
    changes = appends[0].changes
    first_events = [append.events[0] for append in appends]
    return (
        thorough,
        [append.command_key for append in appends],
        [append.digest for append in appends],
        [event.originator_id for event in first_events],
        [event.originator_version for event in first_events],
        [len(append.events) for append in appends],
        [n for n, _ in claims],
        [claim.entry_id for _, claim in claims],
        [claim.scope.workspace for _, claim in claims],
        [claim.scope.environment for _, claim in claims],
        [claim.content_type_id for _, claim in claims],
        [claim.language for _, claim in claims],
        [claim.slug_hash for _, claim in claims],
        [n for n, _ in checks],
        [check.content_type_id for _, check in checks],
        [check.version for _, check in checks],
        [n for n, _ in uses],
        [use.scope.workspace for _, use in uses],
        [use.scope.environment for _, use in uses],
        [use.quota for _, use in uses],
        [use.n for _, use in uses],
        None if changes is None else msgspec.json.encode(changes).decode(),
        [n for n, _ in events],
        [event.originator_id for _, event in events],
        [event.originator_version for _, event in events],
        [event.topic for _, event in events],
        [] if batch else [event.state.decode() for _, event in events],
        batch,
    )
