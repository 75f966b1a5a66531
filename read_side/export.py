"""The entries that an export writes, with their original texts, page by page.

Unlike the pages of a list, each begins after the last entry of the previous page. Nothing is
therefore held in the database while a file is built, even if the client reads it slowly: a rebuild
may switch the tables between two pages, and entries created meanwhile are newer than the first
page.

The languages of the matches are determined once, at the beginning, and no entry of another language
is exported, so all entries of a file without a Language column are of one language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Raw, Struct

from read_side.content_types import ContentTypeRow, content_type
from read_side.paging import Filters
from read_side.pool import Pool, fetch, fetch_text
from read_side.search import search
from read_side.stamp import LATEST
from write_side.domain.events import STATUSES
from write_side.domain.identity import Scope
from write_side.domain.rendering import Renderer, stored_values

LIMIT = 5_000
"""The number of newest entries that are exported (§4.6)."""
PAGE = 500
PAGE_BYTES = 1024 * 1024
"""Limits the bytes in memory: a page ends with the entry that exceeds it."""


class ExportRow(Struct, frozen=True):
    """``values``: the stored values, by field slug."""

    id: str
    title: str
    slug: str
    status: str
    language: str
    created_at: datetime
    updated_at: datetime
    published_at: datetime | None
    values: dict[str, Raw]


class TargetRow(Struct, frozen=True):
    """An entry that another refers to.

    ``types_with_slug``: those of the requested types that have an entry with this slug and
    language.
    """

    slug: str
    type_slug: str
    language: str
    types_with_slug: tuple[str, ...]


class Export(Struct, kw_only=True):
    """One export. ``content_type`` and ``total``: as they were at the beginning.
    ``languages``: of the matches at the beginning, or that of the filters, even without a match.
    ``found``: the positions of the entries that a search found, newest first; None without a
    search. ``written``: the number of entries in the pages so far."""

    pool: Pool
    scope: Scope
    content_type: ContentTypeRow
    statuses: Sequence[str]
    languages: tuple[str, ...]
    total: int
    found: Sequence[int] | None
    written: int = 0

    async def pages(self) -> AsyncIterator[list[ExportRow]]:
        """The entries, newest first, up to LIMIT of them; no page is empty."""
        renderer = Renderer(self.content_type.fields)
        before, size = LATEST, PAGE
        while self.written < LIMIT:
            records = await self._page(before, min(size, LIMIT - self.written))
            if not records:
                return
            self.written += len(records)
            yield [_row(record, renderer) for record in records]
            before = records[-1]["position"]
            # Rows beyond a page's bytes are discarded, so request fewer after a short page.
            size = min(PAGE, 2 * len(records))

    async def _page(self, before: int, limit: int) -> Sequence[Any]:
        scope, type_id = self.scope, self.content_type.id
        where = (scope.workspace, scope.environment, type_id, self.statuses, self.languages)
        if self.found is None:
            return await fetch(self.pool, "export_page", *where, before, limit, PAGE_BYTES)
        older = [one for one in self.found if one < before]
        for start in range(0, len(older), limit):
            positions = older[start : start + limit]
            records = await fetch(self.pool, "export_found", *where, positions, PAGE_BYTES)
            # All of them may have been deleted since they were found.
            if records:
                return records
        return []

    async def targets(self, ids: Collection[str], types: Collection[str]) -> dict[str, TargetRow]:
        """The entries with these ids that are in one of the export's languages.

        ``types``: slugs of the types among which entries' slugs are compared; none: all types.
        """
        if not ids:
            return {}
        records = await fetch(
            self.pool,
            "export_targets",
            self.scope.workspace,
            self.scope.environment,
            list(ids),
            self.languages,
            list(types),
        )
        return {
            record["id"]: TargetRow(
                record["slug"],
                record["type_slug"],
                record["language"],
                tuple(record["types_with_slug"] or ()),
            )
            for record in records
        }


async def export(pool: Pool, scope: Scope, filters: Filters) -> Export:
    """The export of the entries of one content type that match the filters.

    Raises TypeNotFound, ReadModelUnavailable.
    """
    of_type = await content_type(pool, scope, filters.type_slug or "")
    statuses = (filters.status,) if filters.status else STATUSES
    where = (scope.workspace, scope.environment, of_type.id, statuses, filters.language)
    records = await fetch(pool, "export_total", *where)
    totals = Counter({record["language"]: record["total"] for record in records})
    found = None
    if filters.search:
        kinds = [(of_type.id, status, language) for status in statuses for language in totals]
        read = partial(fetch_text, pool)
        matches = await search(read, scope, filters.search, kinds, filters.locale)
        totals, found = Counter(language for *_, language in matches.kinds), matches.positions
    return Export(
        pool=pool,
        scope=scope,
        content_type=of_type,
        statuses=statuses,
        languages=tuple(sorted(totals)) if filters.language is None else (filters.language,),
        total=totals.total(),
        found=found,
    )


def _row(record: Any, renderer: Renderer) -> ExportRow:
    *stored, _ = ExportRow.__struct_fields__
    values = renderer.shown(stored_values(record["stored"]))
    return ExportRow(**{name: record[name] for name in stored}, values=values)
