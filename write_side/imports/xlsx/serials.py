"""Serials, the days since an epoch by which spreadsheets store dates, as ISO 8601 text."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation

from write_side.imports.table import Epoch

_MILLISECONDS = 86_400_000
_DAY_ZERO: dict[Epoch, datetime] = {1900: datetime(1899, 12, 30), 1904: datetime(1904, 1, 1)}
_LIKE_A_NUMBER = re.compile(r"[\d._eE+\s-]+")
"""A quick test that most texts fail; Decimal decides for the others."""
_NEVER = 60
"""29 February 1900, which spreadsheets count although it never existed."""


def iso_date_time(serial: str, epoch: Epoch) -> str | None:
    """``2026-01-31``, or ``2026-01-31T09:30:00``, with milliseconds if there are any. None if it is
    not a day between the epoch and the year 9999."""
    text = iso_with_time(serial, epoch)
    return text and text.removesuffix("T00:00:00")


def reads_like_a_serial(text: str) -> bool:
    return _LIKE_A_NUMBER.fullmatch(text) is not None and _milliseconds(text) is not None


def iso_with_time(serial: str, epoch: Epoch) -> str | None:
    """Like ``iso_date_time``, but always with the time."""
    total = _milliseconds(serial)
    if total is None or total < 0:
        return None
    days, rest = divmod(total, _MILLISECONDS)
    if epoch == 1900:
        if days in (0, _NEVER):
            return None
        days += days < _NEVER
    try:
        moment = _DAY_ZERO[epoch] + timedelta(days, milliseconds=rest)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")


def clock_time(serial: str) -> str | None:
    """``09:30:00``; hours may exceed a day: ``26:30:00``."""
    total = _milliseconds(serial)
    if total is None:
        return None
    seconds, thousandths = divmod(abs(total), 1000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return ("-" if total < 0 else "") + text + (f".{thousandths:03}" if thousandths else "")


def is_below_a_day(serial: str) -> bool:
    total = _milliseconds(serial)
    return total is not None and 0 <= total < _MILLISECONDS


def _milliseconds(serial: str) -> int | None:
    """Rounded, because a double is exact only to a microsecond."""
    try:
        days = Decimal(serial)
        return round(days * _MILLISECONDS) if days.adjusted() < 8 else None
    except (InvalidOperation, ValueError, OverflowError):
        return None
