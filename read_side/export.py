"""The entries that an export writes: one language, the original texts, page by page.

Each page is a statement of its own that begins after the last entry of the page before. So nothing
is held in the database while a file is made, however slowly it is taken: a rebuild's switch may
come between two pages, and what is created meanwhile is newer than the first page.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Raw, Struct

from read_side.content_types import ContentTypeRow, content_type
from read_side.pool import Pool, fetch
from read_side.statements import statement
from write_side.domain.events import STATUSES
from write_side.domain.rendering import Renderer, stored_values

LIMIT = 5_000
"""The newest so many are exported (§4.6)."""
PAGE = 500
PAGE_BYTES = 4 * 1024 * 1024
"""Bounds what is in memory: a page ends with the entry that passes it."""

_PAGE = statement("export_page")
_TARGETS = statement("export_targets")
_TOTAL = statement("export_total")
_TOTAL_FOUND = statement("export_total_found")
_END_OF_TIME = datetime(9999, 12, 31, tzinfo=UTC)


class Filters(Struct, frozen=True):
    """``status`` None is any; ``search`` is a part of the title, in the original or the locale,
    without regard to case."""

    type_slug: str
    status: str | None = None
    language: str = "en-US"
    search: str = ""
    locale: str = "en-US"

    @property
    def statuses(self) -> Sequence[str]:
        return STATUSES if self.status is None else (self.status,)

    @property
    def pattern(self) -> str:
        """For ILIKE, "" where nothing is searched for."""
        literal = re.sub(r"([\\%_])", r"\\\1", self.search)
        return f"%{literal}%" if self.search else ""


class ExportRow(Struct, frozen=True):
    """``values`` by field slug, as they are stored; what is not stored is not among them."""

    id: str
    title: str
    slug: str
    status: str
    created_at: datetime
    updated_at: datetime
    published_at: datetime | None
    values: dict[str, Raw]


class TargetRow(Struct, frozen=True):
    """An entry that is referred to.

    ``types_with_slug``: the type of every entry, among those asked about, that has this slug.
    """

    slug: str
    type_slug: str
    types_with_slug: tuple[str, ...]


class Export:
    """What one export writes: the type as it was at its beginning, and how many entries match.

    ``written``: how many the pages have given so far.
    """

    def __init__(
        self,
        pool: Pool,
        workspace: str,
        environment: str,
        filters: Filters,
        content_type: ContentTypeRow,
        total: int,
    ) -> None:
        self._pool = pool
        self._place = (workspace, environment)
        self.filters = filters
        self.content_type = content_type
        self.total = total
        self.written = 0

    async def pages(self, limit: int = LIMIT) -> AsyncIterator[list[ExportRow]]:
        """The entries, newest first, up to ``limit`` of them; no page is empty."""
        renderer = Renderer(self.content_type.fields)
        left, size = limit, PAGE
        after: tuple[datetime, int] = (_END_OF_TIME, 0)
        while left > 0:
            wanted = min(size, left)
            records = await fetch(
                self._pool, _PAGE, *self._place, *self._where(), *after, wanted, PAGE_BYTES
            )
            if not records:
                return
            self.written += len(records)
            yield [_row(record, renderer) for record in records]
            after = (records[-1]["created_at"], records[-1]["position"])
            left -= len(records)
            # What is beyond a page's bytes was weighed in vain: large entries make short pages.
            size = min(PAGE, 2 * len(records))

    async def targets(self, ids: Collection[str], types: Collection[str]) -> dict[str, TargetRow]:
        """Those of the ids that are entries in the export's language.

        ``types`` are those among which slugs are compared; none: all.
        """
        if not ids:
            return {}
        records = await fetch(
            self._pool, _TARGETS, *self._place, list(ids), self.filters.language, list(types)
        )
        return {
            record["id"]: TargetRow(
                record["slug"], record["type_slug"], tuple(record["types_with_slug"] or ())
            )
            for record in records
        }

    def _where(self) -> tuple[Any, ...]:
        filters = self.filters
        where = (self.content_type.id, filters.statuses, filters.language)
        return (*where, filters.pattern, filters.locale)


async def export(pool: Pool, workspace: str, environment: str, filters: Filters) -> Export:
    """The export of what the filters match. Raises TypeNotFound, ReadModelUnavailable."""
    found = await content_type(pool, workspace, environment, filters.type_slug)
    where = (workspace, environment, found.id, filters.statuses, filters.language)
    if filters.search:
        records = await fetch(pool, _TOTAL_FOUND, *where, filters.pattern, filters.locale)
    else:
        records = await fetch(pool, _TOTAL, *where)
    return Export(pool, workspace, environment, filters, found, records[0][0])


async def total(pool: Pool, workspace: str, environment: str, filters: Filters) -> int:
    """How many entries match, whatever an export's limit. Raises TypeNotFound."""
    return (await export(pool, workspace, environment, filters)).total


def _row(record: Any, renderer: Renderer) -> ExportRow:
    return ExportRow(
        id=record["id"],
        title=record["title"],
        slug=record["slug"],
        status=record["status"],
        created_at=record["created_at"],
        updated_at=record["updated_at"],
        published_at=record["published_at"],
        values=renderer.shown(stored_values(record["stored"])),
    )
