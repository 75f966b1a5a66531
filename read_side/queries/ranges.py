"""Sets of keys as half-open ranges, in order and disjoint (ADR 44), and the order of entries under
several sort keys as one text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from write_side.domain.keys import INCOMPARABLE, MISSING

Range: TypeAlias = tuple[bytes, bytes]
Ranges: TypeAlias = tuple[Range, ...]

END = MISSING + b"\0"
"""Above every key."""
ALL: Ranges = ((b"", END),)
COMPARABLE: Ranges = ((b"", INCOMPARABLE),)
EXISTING: Ranges = ((b"", MISSING),)
# Above and below each hexadecimal digit, so that a key sorts by its beginning first.
_END, _END_DOWN = "!", "g"
_DOWN = str.maketrans("0123456789abcdef", "fedcba9876543210")


def point(key: bytes) -> Range:
    return key, key + b"\0"


def points(keys: Iterable[bytes]) -> Ranges:
    return tuple(point(key) for key in sorted(set(keys)))


def is_point(range_: Range) -> bool:
    return range_[1] == range_[0] + b"\0"


def beginning_with(prefix: bytes) -> Ranges:
    """``prefix`` is UTF-8, so its last byte has a successor."""
    return ((prefix, prefix[:-1] + bytes([prefix[-1] + 1])),) if prefix else COMPARABLE


def complement(ranges: Ranges) -> Ranges:
    """All other keys."""
    lows = (b"", *(high for _, high in ranges))
    highs = (*(low for low, _ in ranges), END)
    return _not_empty(zip(lows, highs, strict=True))


def intersection(left: Ranges, right: Ranges) -> Ranges:
    return _not_empty((max(low, from_), min(high, to)) for low, high in left for from_, to in right)


def _not_empty(ranges: Iterable[Range]) -> Ranges:
    return tuple((low, high) for low, high in ranges if low < high)


def of_operator(operator: str, keys: Sequence[bytes]) -> Ranges:
    """The keys that the operator selects, except for a part of a text."""
    key = keys[0]
    match operator:
        case "eq" | "in" | "contains":
            return points(keys)
        case "ne" | "nin":
            return complement(points(keys))
        case "lt":
            return _not_empty([(b"", key)])
        case "lte":
            return ((b"", key + b"\0"),)
        case "gt":
            return ((key + b"\0", INCOMPARABLE),)
        case "gte":
            return ((key, INCOMPARABLE),)
        case "startsWith":
            return beginning_with(key)
    raise AssertionError(operator)


def rank(keys: Sequence[bytes], descending: Sequence[bool]) -> str:
    """Sorts (by code points) as the keys of the entry do, each in its own direction. Values that
    cannot be compared and missing ones come last in both. ``query_collect.sql`` makes the same
    ranks."""
    return "".join(map(_rank, keys, descending))


def _rank(key: bytes, descending: bool) -> str:
    if not descending:
        return key.hex() + _END
    if key < INCOMPARABLE:
        return "0" + key.hex().translate(_DOWN) + _END_DOWN
    return "1" + key.hex()
