"""What a command appends; the parameters and the outcomes of ``write_side.append``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

import msgspec
from eventsourcing.persistence import StoredEvent
from msgspec import Struct

from write_side.domain.content_type import ContentType
from write_side.domain.identity import Scope, new_id, slug_hash
from write_side.store.conflicts import Conflict, conflict

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


class Use(Struct, frozen=True):
    """An amount that a command adds to the usage of a quota of the plan."""

    scope: Scope
    quota: Quota
    n: int


class Append(Struct, frozen=True, kw_only=True):
    """The events of one command and the conditions for them: appended completely or not at all.

    ``command_key`` identifies an append that is sent again; ``digest`` is that of its request.
    ``type_checks``: the content types that it depends on, which must still have these versions.
    ``changes``: see functions/change_claims.sql. ``is_large``: the append uses a separate
    connection, and its events are staged first (ADR 16).
    """

    events: Sequence[StoredEvent]
    command_key: str = msgspec.field(default_factory=new_id)
    digest: bytes = b""
    claims: Sequence[EntryClaim] = ()
    type_checks: Sequence[ContentType] = ()
    uses: Sequence[Use] = ()
    changes: dict[str, Any] | None = None
    is_large: bool = False

    @property
    def coalescable(self) -> bool:
        """Whether it may share a call: if it is refused, little must be undone."""
        return (
            not self.is_large
            and self.changes is None
            and len(self.claims) <= 1
            and len(self.uses) <= 1
            and len(self.events) <= 50
        )


class Appended(Struct, frozen=True):
    """The place of a command's events in the log: ``position`` is that of the first, ``at`` the
    time of all.

    ``replayed``: the command was appended before, with this ``digest``.
    """

    position: int
    events: int
    at: datetime
    replayed: bool = False
    digest: bytes = b""

    @property
    def last(self) -> int:
        return self.position + self.events - 1


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Outcome: TypeAlias = Appended | Conflict


def parameters(
    appends: Sequence[Append], *, check_streams: bool = False, batch: str | None = None
) -> tuple[Any, ...]:
    """The parameters of ``write_side.append``; commands are numbered from 1.

    ``check_streams``: check even if all streams are new. ``batch``: the batch in which the states
    of the events are staged; they are then omitted.
    """
    numbered = list(enumerate(appends, 1))
    changes = appends[0].changes
    return (
        check_streams or any(e.originator_version > 1 for a in appends for e in a.events),
        [
            (
                append.command_key,
                append.digest,
                append.events[0].originator_id,
                append.events[0].originator_version,
                len(append.events),
            )
            for append in appends
        ],
        [
            (
                n,
                claim.entry_id,
                claim.scope.workspace,
                claim.scope.environment,
                claim.content_type_id,
                claim.language,
                slug_hash(claim.slug),
            )
            for n, append in numbered
            for claim in append.claims
        ],
        [(n, type_.id, type_.version) for n, append in numbered for type_ in append.type_checks],
        [
            (n, use.scope.workspace, use.scope.environment, use.quota, use.n)
            for n, append in numbered
            for use in append.uses
        ],
        None if changes is None else msgspec.json.encode(changes).decode(),
        [
            (
                n,
                event.originator_id,
                event.originator_version,
                event.topic,
                None if batch else event.state.decode(),
            )
            for n, append in numbered
            for event in append.events
        ],
        batch,
    )


def outcomes(appends: Sequence[Append], rows: Iterable[Any]) -> list[Outcome]:
    """The outcome of each command, from the rows (n, outcome, detail) of ``write_side.append``."""
    exceptions: dict[int, Outcome] = {}
    position: int | None = None
    at = _EPOCH
    for n, outcome, detail in rows:
        if outcome == "first":
            first, milliseconds = detail.split(":")
            position, at = int(first), _time(milliseconds)
        elif outcome == "replayed":
            first, events, milliseconds, digest = detail.split(":")
            exceptions[n] = Appended(
                int(first),
                int(events),
                _time(milliseconds),
                replayed=True,
                digest=bytes.fromhex(digest),
            )
        else:
            exceptions[n] = conflict(outcome, detail)
    found: list[Outcome] = []
    for n, append in enumerate(appends, 1):
        if n in exceptions:
            found.append(exceptions[n])
        else:
            assert position is not None, "write_side.append returned no outcome for a command"
            found.append(Appended(position, len(append.events), at))
            position += len(append.events)
    return found


def _time(milliseconds: str) -> datetime:
    return _EPOCH + timedelta(milliseconds=int(milliseconds))
