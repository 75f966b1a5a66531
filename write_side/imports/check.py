"""Checks a whole file against what the log holds now: the preview, and what is to come of it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Struct

from write_side.commands import CreateEntry, UpdateEntry
from write_side.domain.content_type import ContentType
from write_side.domain.identity import Actor
from write_side.handlers.checks import check_locale
from write_side.imports.columns import columns_of
from write_side.imports.files import Table
from write_side.imports.outcome import Outcome, preview_row
from write_side.imports.packing import packed
from write_side.imports.preview import Preview, PreviewRow, counted
from write_side.imports.rows import Draft, drafts_of
from write_side.imports.simulation import Basis, Room, simulated
from write_side.imports.targets import look_up
from write_side.imports.wish import Wish
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


async def preview(repository: Repository, table: Table, wish: Wish) -> Preview:
    """What an import would do, exactly. Raises MappingRefused, UnknownContentType, InvalidEntry."""
    return (await check(repository, table, wish)).preview


async def check(repository: Repository, table: Table, wish: Wish) -> Checked:
    """The same, with what an import is made of."""
    check_locale(wish.options.language, "language")
    content_type = await repository.fresh_content_type(wish.scope, wish.content_type_slug)
    columns = columns_of(table.headings, wish.targets, content_type.value_fields)
    drafts = [draft async for draft in in_slices(drafts_of(table, columns))]
    basis = await _basis(repository, drafts, wish, content_type)
    outcomes = await simulated(drafts, basis, wish)
    rows = tuple([preview_row(outcome) async for outcome in in_slices(outcomes)])
    digest = await asyncio.to_thread(_digest, table, wish, rows)
    seen = Preview(digest, counted(rows), rows)
    return Checked(seen, outcomes, content_type)


async def _basis(
    repository: Repository, drafts: Sequence[Draft], wish: Wish, content_type: ContentType
) -> Basis:
    scope, language = wish.scope, wish.options.language
    slugs = {draft.slug for draft in drafts if draft.slug}
    found = await repository.entries_by_slug(scope, [content_type.slug], language, slugs)
    existing = {slug: entries[0][0] for slug, entries in found.items()}
    entries = {}
    if wish.options.update:
        entries = await repository.entries(scope, existing.values())
        # One that was deleted just now frees its slug.
        existing = {slug: each for slug, each in existing.items() if each in entries}
    own = {slug: wish.entry_id(slug) for slug in slugs if slug not in existing}
    targets = await look_up(drafts, own, content_type.slug, scope, language, repository)
    return Basis(content_type, existing, entries, await _room(repository, wish), targets)


async def _room(repository: Repository, wish: Wish) -> Room:
    """Where nothing is counted, there is room for nothing (``write_side.append``)."""
    scope = wish.scope
    rows = await repository.recorder.fetch(_ROOM, scope.workspace, scope.environment, ENTRIES)
    return Room(rows[0]["used"], rows[0]["bound"]) if rows else Room(0, 0)


def _digest(table: Table, wish: Wish, rows: Sequence[PreviewRow]) -> str:
    digest = hashlib.sha256()
    content = packed(table)
    told = msgspec.msgpack.encode((content.table, wish, [row.digest for row in rows]))
    for part in (told, *content.rows, *content.texts):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def command_of(outcome: Outcome, wish: Wish, actor: Actor) -> CreateEntry | UpdateEntry:
    """What makes the entry that a new row becomes, or changes the one that it updates."""
    after, before = outcome.after, outcome.before
    assert after is not None, "the row has errors"
    if before is None:
        return CreateEntry(
            actor=actor,
            scope=wish.scope,
            content_type_slug=wish.content_type_slug,
            title=after.title,
            slug=after.slug,
            status=after.status,
            language=after.language,
            fields=outcome.values,
            entry_id=after.id,
        )
    return UpdateEntry(
        actor=actor,
        scope=wish.scope,
        entry_id=after.id,
        title=UNSET if after.title == before.title else after.title,
        status=UNSET if after.status == before.status else after.status,
        fields=outcome.values,
        expected_version=before.version,
    )
