"""Pages of a long table."""

from __future__ import annotations

from msgspec import Struct

ROWS = 25
FARTHEST = 1_000_000


class Paging(Struct, frozen=True):
    """``page`` counts from 1."""

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
    def is_beyond(self) -> bool:
        return self.page > self.pages


def page_of(text: str) -> int:
    """From an address; the first one for what is none."""
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        return 1
    return min(max(int(text), 1), FARTHEST)
