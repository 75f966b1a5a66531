"""Filters, sort keys and pages over entries in memory, implemented in the simplest way."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

from msgspec import Struct

from read_side.queries.request import EntryQuery, Filter, SortKey

ATTRIBUTES = {"id": "id", "status": "status", "language": "language", "contentType": "type_slug"}
NUMBERS = ("fields.views",)
TIMES = ("createdAt", "updatedAt", "publishedAt", "fields.goes_live")
TIMES_OF_RANGES = ("fields.campaign.from", "fields.campaign.to")
BOOLEANS = ("fields.featured",)
MULTIPLE = ("fields.tags", "fields.related")
LONGEST = 1_000
MAX_EXPONENT = 16_383


class Known(Struct, frozen=True):
    """An entry. ``values``: by path, as written; absent for null."""

    id: str
    position: int
    type_slug: str
    status: str
    language: str
    values: dict[str, Any]


def expected(entries: Sequence[Known], query: EntryQuery) -> list[Known]:
    """All matches in order."""
    found = [
        one
        for one in entries
        if query.type_slug in (None, one.type_slug)
        and query.status in (None, one.status)
        and query.language in (None, one.language)
        and all(matches(one, filter_) for filter_ in query.filters)
    ]

    def compare(one: Known, other: Known) -> int:
        for key in query.sort:
            if order := compared(one, other, key):
                return order
        return other.position - one.position

    return sorted(found, key=cmp_to_key(compare))


def compared(one: Known, other: Known, key: SortKey) -> int:
    a, b = value_of(one, key.field), value_of(other, key.field)
    if group(a) or group(b):
        return group(a) - group(b)
    order = int(a > b) - int(a < b)
    return -order if key.descending else order


def group(value: Any) -> int:
    """0 for values that can be compared; a higher number for those that come after them in both
    directions."""
    return 2 if value is None else 1 if is_long(value) else 0


def is_long(value: Any) -> bool:
    """Whether the value is too long for a key."""
    if isinstance(value, Decimal):
        return bool(value) and abs(value.adjusted()) > MAX_EXPONENT
    return isinstance(value, str) and len(value.encode()) > LONGEST


def value_of(one: Known, path: str) -> Any:
    if path in ATTRIBUTES:
        return getattr(one, ATTRIBUTES[path])
    return typed(path, one.values.get(path))


def typed(path: str, value: Any) -> Any:
    if value is None or path in MULTIPLE:
        return value
    if path in NUMBERS:
        return Decimal(str(value))
    if path in (*TIMES, *TIMES_OF_RANGES):
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
        cut = path in TIMES[:3] and not isinstance(value, str)
        return time.replace(microsecond=time.microsecond // 1000 * 1000) if cut else time
    if path in BOOLEANS:
        return value in (True, "true")
    return value


def matches(one: Known, filter_: Filter) -> bool:
    value = value_of(one, filter_.field)
    operator = filter_.operator
    if operator == "exists":
        return (value is not None) == (filter_.values[0] == "true")
    if filter_.field in MULTIPLE:
        return value is not None and filter_.values[0] in value
    wanted = [typed(filter_.field, text) for text in filter_.values]
    if operator in ("ne", "nin"):
        return value not in wanted
    if value is None or is_long(value):
        return False
    match operator:
        case "eq" | "in":
            return value in wanted
        case "lt":
            return bool(value < wanted[0])
        case "lte":
            return bool(value <= wanted[0])
        case "gt":
            return bool(value > wanted[0])
        case "gte":
            return bool(value >= wanted[0])
        case "startsWith":
            return bool(value.startswith(wanted[0]))
        case "contains":
            return wanted[0].lower() in value.lower()
    raise AssertionError(operator)
