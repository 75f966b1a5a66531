"""When an API key expires."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from write_side.domain.refusals import InvalidDefinition
from write_side.domain.values import utc_of

EXPIRY = "an ISO 8601 date or time, such as 2027-01-31 or 2027-01-31T09:30:00Z"
_DURATION = re.compile(r"([1-9][0-9]{0,4})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def expiry(text: str) -> datetime:
    """The time in UTC, cut to milliseconds as in events. A date is its beginning, and a time
    without an offset is UTC. Raises InvalidDefinition."""
    time = utc_of(text)
    if time is None:
        raise InvalidDefinition(f"'{text[:100]}' is not a time: use {EXPIRY}")
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def check_expiry(expires_at: datetime | None, now: datetime) -> None:
    """``now``: by the event store's clock, which decides when keys expire. Raises InvalidDefinition
    for a time that is not in the future."""
    if expires_at is not None and expires_at <= now:
        raise InvalidDefinition(
            f"An expiry of {shown_time(expires_at)} is in the past: use a later one"
        )


def shown_time(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def expiry_or_duration(text: str, now: datetime) -> datetime:
    """Like ``expiry``; a duration (``30m``, ``12h``, ``90d``, ``8w``) counts from now."""
    duration = _DURATION.fullmatch(text)
    if duration is None:
        try:
            return expiry(text)
        except InvalidDefinition as error:
            raise InvalidDefinition(f"{error}, or a duration such as 90d or 12h") from None
    try:
        end = now + timedelta(**{_UNITS[duration[2]]: int(duration[1])})
    except OverflowError:
        raise InvalidDefinition(f"'{text}' is too long; use {EXPIRY}") from None
    return end.replace(microsecond=end.microsecond // 1000 * 1000)
