"""A request for entries: filters, sort keys, and the page."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from write_side.domain.refusals import shortened

MOST_FILTERS = 10
MOST_SORT_KEYS = 3
MOST_VALUES = 100
"""The most values of ``in`` and ``nin``."""
LONGEST_VALUE = 1_000
"""Bytes of UTF-8."""
ANY_OF = ("in", "nin")
"""The operators that take several values."""
UNKNOWN_CURSOR = (
    "Unknown cursor: use first, or the pagination.next of the same list, with the same status, "
    "language, filters, sort keys, search, locale and asOf"
)
OPERATORS = (
    *("eq", "ne", "lt", "lte", "gt", "gte"),
    *ANY_OF,
    *("exists", "contains", "startsWith"),
)


class Filter(Struct, frozen=True, order=True, omit_defaults=True):
    """``field`` as the caller writes it; ``values``: as text, one unless the operator takes
    several. ``kinds``: the types of the values in JSON; none if they were given as text, which has
    no types."""

    field: str
    operator: str
    values: tuple[str, ...]
    kinds: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name of the filter in refusals."""
        operator = "" if self.operator == "eq" else f"[{self.operator}]"
        return f"filter[{shortened(self.field)}]{operator}"


class SortKey(Struct, frozen=True):
    field: str
    descending: bool = False


class Boundary(Struct, frozen=True, array_like=True):
    """Where a page begins: after the entry with these keys, one for each sort key, and this
    position. The entry need not exist any more. ``type_id``: of the list's content type, because
    another type may get its slug later; None for a list of several types or of the past."""

    keys: tuple[bytes, ...]
    position: int
    type_id: str | None = None


class EntryQuery(Struct, frozen=True, kw_only=True):
    """``type_slug``, ``status`` and ``language``: None for any. ``words``: what a search has to
    find, None to find all, in the texts of the locale. ``custom``: whether filters and sort keys
    may be fields of the type. ``counted``: whether the total is wanted. ``as_of``: None for
    now."""

    type_slug: str | None
    status: str | None
    language: str | None
    words: str | None = None
    locale: str = ""
    filters: tuple[Filter, ...] = ()
    sort: tuple[SortKey, ...] = ()
    limit: int
    offset: int = 0
    after: Boundary | None = None
    custom: bool = True
    counted: bool = True
    as_of: datetime | None = None
