"""Converts all forms of ISO 8601 dates and date-times to the extended calendar form."""

from __future__ import annotations

import re
from datetime import date, timedelta

_DATE = (
    r"(?P<date>(?P<year>\d{4})"
    r"(?:-\d\d-\d\d|\d{4}|-?(?P<ordinal>\d{3})|(?P<dash>-?)W\d\d(?P=dash)[1-7]))"
)
_TIME = (
    r"(?P<hour>\d\d)(?:(?P<colon>:?)(?P<minute>\d\d)(?:(?P=colon)(?P<second>\d\d)"
    r"(?P<fraction>[.,]\d{1,9})?)?)?"
)
_ZONE = r"(?P<zone>[Zz]|[+-]\d\d(?::?\d\d)?)"
_ISO = re.compile(f"{_DATE}(?:[Tt ]{_TIME}{_ZONE}?)?", re.ASCII)


def extended_form(text: str) -> str | None:
    """``2026-01-31`` for ``20260131``, ``2026-031`` and ``2026-W05-6``, and likewise for
    date-times; ``24:00`` is midnight of the next day. None if the text has no such form. The caller
    checks whether the time of day is valid."""
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    parts = match.groupdict("")
    try:
        day = _day(parts)
        return f"{_moment(day, parts)}{parts['zone']}" if parts["hour"] else day.isoformat()
    except (ValueError, OverflowError):
        return None


def has_no_such_day(text: str) -> bool:
    """Whether the text is written like a date, but the calendar has no such day: 2026-02-31."""
    match = _ISO.fullmatch(text)
    if match is None:
        return False
    try:
        _day(match.groupdict(""))
    except (ValueError, OverflowError):
        return True
    return False


def _day(parts: dict[str, str]) -> date:
    """Raises ValueError or OverflowError for a day that does not exist."""
    if not parts["ordinal"]:
        return date.fromisoformat(parts["date"])
    year = int(parts["year"])
    day = date(year, 1, 1) + timedelta(int(parts["ordinal"]) - 1)
    if day.year != year:
        raise ValueError("the year has no such day")
    return day


def _moment(day: date, parts: dict[str, str]) -> str:
    hour, minute, second = parts["hour"], parts["minute"] or "00", parts["second"]
    if hour == "24":
        if (minute, second or "00", parts["fraction"].strip(".,0")) != ("00", "00", ""):
            raise ValueError("a day ends at 24:00")
        day, hour = day + timedelta(1), "00"
    seconds = f":{second}{parts['fraction']}" if second else ""
    return f"{day.isoformat()}T{hour}:{minute}{seconds}"
