"""An export as CSV: UTF-8 with BOM, RFC 4180, texts that would run as formulas disarmed."""

from __future__ import annotations

import asyncio
import codecs
import csv
import io
from collections.abc import AsyncGenerator, Iterable, Sequence

from api.export.table import headings, pages
from read_side.export import Export
from write_side.domain.cells import Digits
from write_side.imports.escapes import guard


async def csv_chunks(export: Export) -> AsyncGenerator[bytes, None]:
    """The document, piece by piece; the first ends with its first rows."""
    chunk = codecs.BOM_UTF8 + encoded([headings(export.content_type)])
    async for rows in pages(export):
        yield chunk + await asyncio.to_thread(encoded, rows)
        chunk = b""
    if chunk:
        yield chunk


def encoded(rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(map(_guarded, rows))
    return text.getvalue().encode()


def _guarded(row: Iterable[str]) -> list[str]:
    return [cell if type(cell) is Digits else guard(cell) for cell in row]
