"""Checks a whole file against the current state of the log, for a preview or an import."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from write_side.domain.content_type import ContentType
from write_side.domain.identity import Actor
from write_side.domain.locales import check_locale
from write_side.domain.values import NULL
from write_side.imports.columns import columns_of
from write_side.imports.dry_run import EntryQuota, ImportContext, RowDecision, dry_run
from write_side.imports.preview import Preview, PreviewRow, counted
from write_side.imports.references import look_up
from write_side.imports.request import ImportRequest
from write_side.imports.rows import ParsedRow, parsed_rows
from write_side.imports.table import Table, encode_table
from write_side.repository import Repository
from write_side.slices import in_slices
from write_side.store.append import ENTRIES

_QUOTA = """
SELECT used, bound FROM write_side.usage WHERE (workspace, environment, quota) = ($1, $2, $3)"""


class DryRun(Struct, frozen=True):
    """``decisions`` are in the order of the table's rows, as are those of the preview."""

    preview: Preview
    decisions: Sequence[RowDecision]
    content_type: ContentType


async def preview(repository: Repository, table: Table, request: ImportRequest) -> Preview:
    """What an import would do. Raises MappingRefused, UnknownContentType, InvalidEntry."""
    return (await check(repository, table, request)).preview


async def check(repository: Repository, table: Table, request: ImportRequest) -> DryRun:
    """The same, with the decisions that an import is made of."""
    check_locale(request.options.language, "language")
    content_type = await repository.fresh_content_type(request.scope, request.content_type_slug)
    columns = columns_of(table.headings, request.targets, content_type.value_fields)
    rows = [row async for row in in_slices(parsed_rows(table, columns))]
    actor = Actor("import", request.import_id, table.name)
    context = await _context(repository, rows, request, content_type, actor)
    decisions = await dry_run(rows, context, request)
    shown = tuple([preview_row(decision) async for decision in in_slices(decisions)])
    digest = await asyncio.to_thread(_digest, table, request, shown)
    return DryRun(Preview(digest, counted(shown), shown), decisions, content_type)


async def _context(
    repository: Repository,
    rows: Sequence[ParsedRow],
    request: ImportRequest,
    content_type: ContentType,
    actor: Actor,
) -> ImportContext:
    scope, language = request.scope, request.options.language
    slugs = {row.slug for row in rows if row.slug}
    found = await repository.entries_by_slug(scope, [content_type.slug], language, slugs)
    existing = {slug: entries[0][0] for slug, entries in found.items()}
    entries = {}
    if request.options.update:
        entries = await repository.entries(scope, existing.values())
        # An entry that was deleted just now has freed its slug.
        existing = {slug: each for slug, each in existing.items() if each in entries}
    own = {slug: request.entry_id(slug) for slug in slugs if slug not in existing}
    references = await look_up(rows, own, content_type.slug, scope, language, repository)
    quota = await _quota(repository, request)
    return ImportContext(content_type, existing, entries, quota, references, actor)


async def _quota(repository: Repository, request: ImportRequest) -> EntryQuota:
    """Without a row of usage the plan allows nothing (``write_side.append``)."""
    scope = request.scope
    rows = await repository.recorder.fetch(_QUOTA, scope.workspace, scope.environment, ENTRIES)
    return EntryQuota(rows[0]["used"], rows[0]["bound"]) if rows else EntryQuota(0, 0)


def _digest(table: Table, request: ImportRequest, rows: Sequence[PreviewRow]) -> str:
    digest = hashlib.sha256()
    encoded = encode_table(table)
    head = msgspec.msgpack.encode((encoded.table, request, [row.digest for row in rows]))
    for part in (head, *encoded.rows, *encoded.texts):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def preview_row(decision: RowDecision) -> PreviewRow:
    row = decision.row
    is_made = decision.after is not None and decision.state != "error"
    return PreviewRow(
        number=row.number,
        state=decision.state,
        title=row.title,
        slug=row.slug,
        status=decision.after.status if decision.after else "",
        entry_id=decision.entry_id if is_made or decision.state == "skipped" else None,
        changed=decision.changed,
        notes=tuple(decision.notes),
        digest=_row_digest(decision),
    )


def _row_digest(decision: RowDecision) -> str:
    """Of all that the row does, and of what it overwrites."""
    before = decision.before.fields if decision.before else {}
    content = (
        decision.state,
        decision.entry_id,
        decision.row.title,
        decision.row.slug,
        decision.after.status if decision.after else "",
        decision.changed and decision.before and (decision.before.title, decision.before.status),
        [(slug, before.get(slug, NULL), value) for slug, value in decision.values.items()],
        decision.notes,
    )
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]
