"""An export as a table of text with the columns of §2.4, and Language if the entries are of several
languages. The same table as CSV: UTF-8 with BOM, RFC 4180, with text escaped that a spreadsheet
would run as a formula."""

from __future__ import annotations

import asyncio
import codecs
import csv
import io
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence

from api.rest.wire import timestamp
from read_side.export import Export, ExportRow, TargetRow
from write_side.domain.cells import Digits, Names, cell_of, is_listable
from write_side.domain.definition import Field, value_fields
from write_side.domain.identity import is_id
from write_side.domain.values import targets
from write_side.imports.columns import EXPORTED, LANGUAGE
from write_side.imports.escapes import guard

Cells = list[str]


def headings(export: Export) -> list[str]:
    names = [field.name for field in value_fields(export.content_type.fields)]
    return [*EXPORTED, *names, *([LANGUAGE] if _has_languages(export) else [])]


def _has_languages(export: Export) -> bool:
    return len(export.languages) > 1


async def pages(export: Export) -> AsyncIterator[list[Cells]]:
    """The rows of each page of the read side in turn; cells are rendered in a thread."""
    fields = tuple(value_fields(export.content_type.fields))
    references = _references(fields)
    async for page in export.pages():
        ids = await asyncio.to_thread(_ids, references, page)
        found = await export.targets(ids, _types(references))
        yield await asyncio.to_thread(_rows, export, fields, page, found)


def _references(fields: Iterable[Field]) -> list[Field]:
    return [field for field in fields if field.spec.refers_to == "entry"]


def _rows(
    export: Export,
    fields: Sequence[Field],
    page: Iterable[ExportRow],
    found: Mapping[str, TargetRow],
) -> list[Cells]:
    names = _names(fields, found)
    type_name, has_languages = export.content_type.name, _has_languages(export)
    return [
        [
            entry.id,
            entry.title,
            entry.slug,
            entry.status,
            type_name,
            timestamp(entry.created_at),
            timestamp(entry.updated_at),
            timestamp(entry.published_at) if entry.published_at else "",
            *(
                cell_of(
                    field,
                    entry.values.get(field.slug),
                    names.get((field.slug, entry.language), {}),
                )
                for field in fields
            ),
            *([entry.language] if has_languages else []),
        ]
        for entry in page
    ]


def _ids(references: Sequence[Field], page: Iterable[ExportRow]) -> set[str]:
    """The ids of entries that the page's rows refer to."""
    ids = {target.id for entry in page for target in targets(references, entry.values)}
    return set(filter(is_id, ids))


def _types(references: Iterable[Field]) -> set[str]:
    """The slugs of the types that the fields take; empty if one of them takes any type."""
    anything = any(not field.to for field in references)
    return set() if anything else {slug for field in references for slug in field.to}


def _names(
    fields: Iterable[Field], found: Mapping[str, TargetRow]
) -> Mapping[tuple[str, str], Names]:
    """The names of the entries that a page's rows refer to, by field and language. An entry in a
    language other than the row's has none, because its slug could mean a different entry in the
    row's language."""
    names: dict[tuple[str, str], dict[str, str]] = {}
    for field in _references(fields):
        for entry_id, target in found.items():
            if _is_named_by_slug(field, target):
                names.setdefault((field.slug, target.language), {})[entry_id] = target.slug
    return names


def _is_named_by_slug(field: Field, target: TargetRow) -> bool:
    """Whether an import finds the same entry by its slug: it tries ids first, then the slugs of
    the types that the field takes."""
    allowed = [slug for slug in target.types_with_slug if not field.to or slug in field.to]
    return allowed == [target.type_slug] and is_listable(target.slug) and not is_id(target.slug)


async def csv_chunks(export: Export) -> AsyncGenerator[bytes, None]:
    """The document in pieces; the first piece includes the first rows."""
    chunk = codecs.BOM_UTF8 + encoded([headings(export)])
    async for rows in pages(export):
        yield chunk + await asyncio.to_thread(encoded, rows)
        chunk = b""
    if chunk:
        yield chunk


def encoded(rows: Iterable[Sequence[str]]) -> bytes:
    """A lone surrogate, which only an imported file can contain, becomes a question mark."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(
        [cell if type(cell) is Digits else guard(cell) for cell in row] for row in rows
    )
    return text.getvalue().encode("utf-8", "replace")
