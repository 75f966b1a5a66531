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
from write_side.imports.dry_run import Basis, Outcome, Room, dry_run
from write_side.imports.preview import Preview, PreviewRow, counted
from write_side.imports.references import look_up
from write_side.imports.request import ImportRequest
from write_side.imports.rows import Draft, drafts_of
from write_side.imports.table import Table, encode_table
from write_side.repository import Repository
from write_side.slices import in_slices
from write_side.store.append import ENTRIES

_ROOM = """
SELECT used, bound FROM write_side.usage WHERE (workspace, environment, quota) = ($1, $2, $3)"""


class Checked(Struct, frozen=True):
    """``outcomes`` are in the order of the table's rows, as are those of the preview."""

    preview: Preview
    outcomes: Sequence[Outcome]
    content_type: ContentType


async def preview(repository: Repository, table: Table, request: ImportRequest) -> Preview:
    """What an import would do. Raises MappingRefused, UnknownContentType, InvalidEntry."""
    return (await check(repository, table, request)).preview


async def check(repository: Repository, table: Table, request: ImportRequest) -> Checked:
    """The same, with the outcomes that an import is made of."""
    check_locale(request.options.language, "language")
    content_type = await repository.fresh_content_type(request.scope, request.content_type_slug)
    columns = columns_of(table.headings, request.targets, content_type.value_fields)
    drafts = [draft async for draft in in_slices(drafts_of(table, columns))]
    actor = Actor("import", request.import_id, table.name)
    basis = await _basis(repository, drafts, request, content_type, actor)
    outcomes = await dry_run(drafts, basis, request)
    rows = tuple([preview_row(outcome) async for outcome in in_slices(outcomes)])
    digest = await asyncio.to_thread(_digest, table, request, rows)
    return Checked(Preview(digest, counted(rows), rows), outcomes, content_type)


async def _basis(
    repository: Repository,
    drafts: Sequence[Draft],
    request: ImportRequest,
    content_type: ContentType,
    actor: Actor,
) -> Basis:
    scope, language = request.scope, request.options.language
    slugs = {draft.slug for draft in drafts if draft.slug}
    found = await repository.entries_by_slug(scope, [content_type.slug], language, slugs)
    existing = {slug: entries[0][0] for slug, entries in found.items()}
    entries = {}
    if request.options.update:
        entries = await repository.entries(scope, existing.values())
        # An entry that was deleted just now has freed its slug.
        existing = {slug: each for slug, each in existing.items() if each in entries}
    own = {slug: request.entry_id(slug) for slug in slugs if slug not in existing}
    references = await look_up(drafts, own, content_type.slug, scope, language, repository)
    room = await _room(repository, request)
    return Basis(content_type, existing, entries, room, references, actor)


async def _room(repository: Repository, request: ImportRequest) -> Room:
    """Without a row of usage the plan allows nothing (``write_side.append``)."""
    scope = request.scope
    rows = await repository.recorder.fetch(_ROOM, scope.workspace, scope.environment, ENTRIES)
    return Room(rows[0]["used"], rows[0]["bound"]) if rows else Room(0, 0)


def _digest(table: Table, request: ImportRequest, rows: Sequence[PreviewRow]) -> str:
    digest = hashlib.sha256()
    encoded = encode_table(table)
    head = msgspec.msgpack.encode((encoded.table, request, [row.digest for row in rows]))
    for part in (head, *encoded.rows, *encoded.texts):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def preview_row(outcome: Outcome) -> PreviewRow:
    draft = outcome.draft
    is_made = outcome.after is not None and outcome.state != "error"
    return PreviewRow(
        number=draft.number,
        state=outcome.state,
        title=draft.title,
        slug=draft.slug,
        status=outcome.after.status if outcome.after else "",
        entry_id=outcome.entry_id if is_made or outcome.state == "skipped" else None,
        changed=outcome.changed,
        notes=tuple(outcome.notes),
        digest=_row_digest(outcome),
    )


def _row_digest(outcome: Outcome) -> str:
    """Of all that the row does, and of what it overwrites."""
    before = outcome.before.fields if outcome.before else {}
    content = (
        outcome.state,
        outcome.entry_id,
        outcome.draft.title,
        outcome.draft.slug,
        outcome.after.status if outcome.after else "",
        outcome.changed and outcome.before and (outcome.before.title, outcome.before.status),
        [(slug, before.get(slug, NULL), value) for slug, value in outcome.values.items()],
        outcome.notes,
    )
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]
