"""What a handler returns: the events that follow from a command, and what must hold for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from write_side.domain.content_type import ContentType
from write_side.store.append import Appended, EntryClaim, TypeCheck, Use
from write_side.store.mapper import StreamEvent


class Decision(Struct, frozen=True, kw_only=True):
    """No events: the command changes nothing, and nothing is appended.

    ``content_type`` is the one that the events were decided under, where there is one.
    ``recorded``: where the log has it already; it is answered from there, and nothing is appended.
    ``apart``: it is large, and must not keep the other appends of this process waiting.
    """

    events: Sequence[StreamEvent] = ()
    claims: Sequence[EntryClaim] = ()
    type_checks: Sequence[TypeCheck] = ()
    uses: Sequence[Use] = ()
    changes: dict[str, Any] | None = None
    content_type: ContentType | None = None
    recorded: Appended | None = None
    apart: bool = False


def now(not_before: datetime | None = None) -> datetime:
    """The time in UTC cut to milliseconds, never earlier than the last event of the stream."""
    time = datetime.now(UTC)
    time = time.replace(microsecond=time.microsecond // 1000 * 1000)
    return time if not_before is None else max(time, not_before)


def check_of(content_type: ContentType) -> TypeCheck:
    return TypeCheck(content_type.id, content_type.version)
