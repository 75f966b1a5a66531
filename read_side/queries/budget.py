"""How much a request may read (ADR 44)."""

from __future__ import annotations

from collections.abc import Sequence

from read_side.queries.comparison import EntrySelection
from read_side.queries.statements import CHUNK
from read_side.refusals import TooBroad
from write_side.domain.refusals import in_words

ROWS = 10_000
"""Entries that a request checks one by one."""
COUNTED = 100_000
"""Keys that a request counts, or walks over without checking their entries."""
MERGED = 1_000_000
"""Keys that a request reads to merge the ranges of several lists."""
_LEAST = 20
"""A statement counts as reading this many entries at least."""


BY_CURSOR = "page with cursor=first and the cursors that follow"


class Budget:
    """``offset``: of the page."""

    def __init__(self, selected: EntrySelection, offset: int = 0) -> None:
        self._labels = [label for one in selected.conditions for label in one.labels]
        self._others = selected.others
        self._offset = offset
        self._checked = 0
        self._walked = 0
        self._merged = 0

    def size(self, wanted: int, streams: int, *, checked: bool) -> int:
        """How many candidates to read at once to find this many matches."""
        usual = min(max(4 * wanted, 100), ROWS - self._checked) if checked else wanted
        size = max(min(usual, CHUNK, COUNTED // max(streams, 1)), 2)
        self._merged += size * streams
        return size

    def spend(self, read: int, *, checked: bool) -> None:
        """Adds the entries that were read. Raises TooBroad if they are too many in total."""
        if checked:
            self._checked += max(read, _LEAST)
        else:
            self._walked += max(read, _LEAST)
        if self._checked >= ROWS or (self._labels and self._merged > MERGED):
            raise self.exceeded()
        if self._walked >= COUNTED or self._merged > MERGED:
            raise TooBroad(f"The page begins after more than {COUNTED:,} entries: {BY_CURSOR}")

    def exceeded(self) -> TooBroad:
        # Without filters, those with the same first sort key are checked.
        less = f"narrow {in_words(self._labels)}" if self._labels else "sort by fewer keys"
        if self._offset:
            less = f"{BY_CURSOR}, or {less}"
        return TooBroad(
            f"The query checks more than {ROWS:,} entries to find this page: "
            f"{less}{alternative('a filter', self._others)}"
        )


def alternative(added: str, others: Sequence[str]) -> str:
    """The end of a refusal that says what else would help: ``added`` on one of the other fields.
    Empty without such fields."""
    if not others:
        return ""
    return (
        f", or add {added} on {in_words(others)} that at most {ROWS:,} entries match, because only "
        "these are checked then"
    )
