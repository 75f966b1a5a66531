"""A page of entries as they are returned: at once, or entry by entry if they are large."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Generic, TypeVar

from msgspec import Struct

from read_side.entries import INLINE, PIECE, WHOLE, EntryRow, NotInline, entry_row
from read_side.pool import Pool, learn_from, snapshot
from read_side.refusals import TypeNotFound
from write_side.postgres.statements import statement

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True):
    """``total`` counts all matching entries on all pages, or is the FoundPage of a query.
    ``stamp``: of the checkpoint at which the page was read, if the statement returns it. ``json``:
    the entries as the API sends them, separated by commas; then there are no ``rows``.
    ``may_grow``: whether the page may have more at the same checkpoint later."""

    rows: list[T]
    total: Any
    stamp: int | None = None
    json: bytes | None = None
    may_grow: bool = False


ReadAgain = Callable[[int], AbstractAsyncContextManager[tuple[Any, AsyncIterator[EntryRow]]]]
"""Reads a page in portions of so many entries: the total or FoundPage of the list, and the
entries."""


class LargePage(Exception):
    """The page has entries that are larger than INLINE. ``size``: bytes of all of its entries.
    ``stamp``: of a checkpoint that its rows include."""

    def __init__(self, read: ReadAgain, size: int, rows: int, stamp: int) -> None:
        super().__init__(f"{size:,} bytes")
        self._read = read
        # The number of entries that have about PIECE bytes.
        self._step = max(PIECE * rows // size, 1)
        self.size = size
        self.stamp = stamp

    def rows(self) -> AbstractAsyncContextManager[tuple[Any, AsyncIterator[EntryRow]]]:
        """See ``ReadAgain``."""
        return self._read(self._step)


class Listing(Struct, frozen=True):
    """The name of a statement with the columns of ``served_columns.sql``, and its parameters except
    the last, ``inline``. There is a second statement, ``json_…``, that returns the page as JSON.
    """

    pool: Pool
    name: str
    parameters: Sequence[Any]
    locale: str
    type_slug: str | None = None

    async def page(self, *, as_json: bool) -> Page[EntryRow]:
        """``as_json``: as JSON, if all entries of the page are stored ready to serve. Raises
        TypeNotFound, LargePage."""
        if as_json:
            records = await self.pool.shared.fetch(f"json_{self.name}", *self.parameters, INLINE)
            if not records:
                return page_of(records, self._row, self.type_slug)
            total, stamp, json = records[0]["total"], records[0]["stamp"], records[0]["data"]
            if json is not None:
                return Page([], total, stamp=stamp, json=json)
        records = await self.pool.shared.fetch(self.name, *self.parameters, INLINE)
        try:
            return page_of(records, self._row, self.type_slug)
        except NotInline:
            size = sum(record["size"] for record in records)
            raise LargePage(self.rows, size, len(records), records[0]["stamp"]) from None

    @asynccontextmanager
    async def rows(self, step: int) -> AsyncIterator[tuple[int, AsyncIterator[EntryRow]]]:
        """The total, and the entries of the page in portions; all as they were at one moment.
        Raises TypeNotFound, ReadModelUnavailable."""
        found = statement("read_side", self.name)
        async with snapshot(self.pool) as connection:
            cursor = await connection.cursor(found, *self.parameters, WHOLE)
            records = await cursor.fetch(step)
            learn_from(self.pool, records)
            first = page_of(records, self._row, self.type_slug)

            async def rows() -> AsyncIterator[EntryRow]:
                found = first.rows
                while found:
                    # Entries that have been read are not kept.
                    yield found.pop(0)
                    if not found:
                        found = [self._row(record) for record in await cursor.fetch(step)]

            yield first.total, rows()

    def _row(self, record: Any) -> EntryRow:
        return entry_row(record, self.locale)


def page_of(
    records: Sequence[Any], row: Callable[[Any], T], type_slug: str | None = None
) -> Page[T]:
    """An empty page is one row of nulls with the total; an unknown content type returns no row."""
    if not records:
        if type_slug is not None:
            raise TypeNotFound
        return Page([], 0)
    rows = [row(record) for record in records if record["id"] is not None]
    return Page(rows, records[0]["total"], stamp=records[0].get("stamp"))
