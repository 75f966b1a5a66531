"""Classes of lifetimes, by which versions of entries that were valid at a moment are found.

A version that was valid at a moment began before it, by less than its lifetime. So of each class,
only the versions are read that began within its longest lifetime before the moment; there are two
classes for each doubling, so most of those were still valid (ADR 47).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

MILLISECOND = timedelta(milliseconds=1)
CLASSES = range(1, 88)
"""The last class is that of 400 to 550 years."""
_FIRST = datetime.min.replace(tzinfo=UTC)


def class_of(since: datetime, until: datetime) -> int:
    """The class of a lifetime of at least a millisecond. ``past_version`` stores it, so another
    classification is another shape of the read model."""
    length = (until - since) // MILLISECOND
    shift = max(length.bit_length() - 2, 0)
    return 2 * shift + (length >> shift)


def beginnings(at: datetime) -> list[datetime]:
    """For each class, the time after which a version of it began if it was valid at that time."""
    return [_before(at, _longest(one)) for one in CLASSES]


def _longest(lifetime_class: int) -> int:
    """Milliseconds that every lifetime of the class is shorter than."""
    shift = max((lifetime_class - 2) // 2, 0)
    return (lifetime_class - 2 * shift + 1) << shift


def _before(at: datetime, milliseconds: int) -> datetime:
    try:
        return at - milliseconds * MILLISECOND
    except OverflowError:  # before the first day of the calendar
        return _FIRST
