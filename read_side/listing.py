"""A page of entries as they are returned: at once, or entry by entry if they are large."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Generic, TypeVar

from msgspec import Struct

from read_side.entries import INLINE, WHOLE, EntryRow, NotInline
from read_side.pool import Pool, snapshot, stamp_of_records
from read_side.refusals import TypeNotFound
from write_side.postgres.statements import statement

PIECE = 1024 * 1024
"""Bytes of entries that are fetched at once, roughly."""
T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True):
    """``total`` counts all matching entries on all pages; a search has covered ``searched``
    entries. ``stamp``: of the checkpoint at which the page was read, if the statement returns it.
    """

    rows: list[T]
    total: int
    searched: int = 0
    stamp: int | None = None


class LargePage(Exception):
    """The page has entries that are larger than INLINE. ``size``: bytes of all of its entries.
    ``stamp``: of a checkpoint that its rows include."""

    def __init__(self, listing: Listing, size: int, rows: int, stamp: int) -> None:
        super().__init__(f"{size:,} bytes")
        self._listing = listing
        # The number of entries that have about PIECE bytes.
        self._step = max(PIECE * rows // size, 1)
        self.size = size
        self.stamp = stamp

    def rows(self) -> AbstractAsyncContextManager[tuple[int, AsyncIterator[EntryRow]]]:
        """See ``Listing.rows``."""
        return self._listing.rows(self._step)


class Listing(Struct, frozen=True):
    """The name of a statement with the columns of ``served_columns.sql``, and its parameters except
    the last, ``inline``."""

    pool: Pool
    name: str
    parameters: Sequence[Any]
    row: Callable[[Any], EntryRow]
    type_slug: str | None = None

    async def page(self) -> Page[EntryRow]:
        """Raises TypeNotFound, LargePage."""
        records = await self.pool.shared.fetch(self.name, *self.parameters, INLINE)
        try:
            return page_of(records, self.row, self.type_slug)
        except NotInline:
            size = sum(record["size"] for record in records)
            raise LargePage(self, size, len(records), records[0]["stamp"]) from None

    @asynccontextmanager
    async def rows(self, step: int) -> AsyncIterator[tuple[int, AsyncIterator[EntryRow]]]:
        """The total, and the entries of the page in portions; all as they were at one moment.
        Raises TypeNotFound, ReadModelUnavailable."""
        found = statement("read_side", self.name)
        async with snapshot(self.pool, found, *self.parameters, WHOLE) as cursor:
            records = await cursor.fetch(step)
            stamp_of_records(self.pool, records)
            first = page_of(records, self.row, self.type_slug)

            async def rows() -> AsyncIterator[EntryRow]:
                found = first.rows
                while found:
                    # Entries that have been read are not kept.
                    yield found.pop(0)
                    if not found:
                        found = [self.row(record) for record in await cursor.fetch(step)]

            yield first.total, rows()


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
