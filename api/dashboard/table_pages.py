"""Pages of a long table, and tabs that filter its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

ROWS = 25
LAST_PAGE = 1_000_000
T = TypeVar("T")


class Paging(Struct, frozen=True):
    """``page`` counts from 1; ``rows`` is the size of a page."""

    page: int
    total: int
    rows: int = ROWS

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // self.rows))

    @property
    def first(self) -> int:
        return (self.page - 1) * self.rows + 1

    @property
    def last(self) -> int:
        return min(self.page * self.rows, self.total)

    @property
    def is_empty(self) -> bool:
        """Whether the page has no rows."""
        return self.first > self.total

    def of(self, rows: Sequence[T]) -> Sequence[T]:
        return rows[self.first - 1 : self.last]


def number(text: str) -> int | None:
    """A number in a URL; None for other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None


def page_number(text: str) -> int:
    """The page number in a URL; 1 if it is not a number."""
    return min(number(text) or 1, LAST_PAGE)


def valid_choice(names: Sequence[tuple[str, str]], value: str) -> str:
    """The filter in a URL; "" (no filter) for an unknown one."""
    return value if value in dict(names) else ""


def tabs(names: Sequence[tuple[str, str]], values: Sequence[str]) -> list[tuple[str, str, int]]:
    """Value, name and number of rows: a tab for all rows ("") and one for each value that occurs.
    ``names``: pairs of value and name."""
    counts = Counter(values)
    found = [(value, name, counts[value]) for value, name in names if counts[value]]
    return [("", "All", len(values)), *found]
