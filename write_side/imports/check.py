"""Checks a whole file against the current state of the log, for a preview or an import."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import Struct

from write_side.commands import CreateEntry, UpdateEntry
from write_side.domain.content_type import ContentType
from write_side.domain.identity import Actor
from write_side.domain.locales import check_locale
from write_side.domain.refusals import InvalidEntry
from write_side.imports.columns import columns_of
from write_side.imports.dry_run import EntryQuota, ImportContext, dry_run
from write_side.imports.preview import Preview, PreviewRow
from write_side.imports.references import MOST_REFERENCES, NamedTargets, look_up
from write_side.imports.repeats import suffixed
from write_side.imports.request import EntryKey, ImportRequest
from write_side.imports.rows import ParsedRow, parsed_rows
from write_side.imports.table import LIMITS, Table, digest_of, encode_table
from write_side.repository import Repository
from write_side.store.append import ENTRIES
from write_side.waiting import in_slices, in_thread_if_large

UPDATED_BYTES = 32 * 1024 * 1024
"""Bytes of the entries that one import may update, with their translations; all are in memory."""
_QUOTA = """
SELECT used, bound FROM write_side.usage WHERE (workspace, environment, quota) = ($1, $2, $3)"""


class DryRun(Struct, frozen=True):
    """What an import would do, and the commands that do it: one for each row that is ready."""

    preview: Preview
    commands: Sequence[CreateEntry | UpdateEntry]
    content_type: ContentType


async def check(
    repository: Repository, table: Table, request: ImportRequest, *, resumes: bool = False
) -> DryRun:
    """``resumes``: entries that this import created are treated as if they did not exist.

    Raises MappingRefused, UnknownContentType, InvalidEntry.
    """
    check_locale(request.language, "language")
    content_type = await repository.fresh_content_type(request.scope, request.content_type_slug)
    columns = columns_of(table.headings, request.targets, content_type.value_fields)
    if request.key is not None and not 0 <= request.key < len(table.headings):
        raise InvalidEntry("The slugs cannot be derived from a column that the file does not have")
    named = NamedTargets(_parts(table.rows) * MOST_REFERENCES)
    parsed = map(named.collect, parsed_rows(table, columns, request))
    rows = [
        await in_thread_if_large(row.parts, next, parsed) async for row in in_slices(table.rows)
    ]
    if request.repeats == "suffix":
        rows = await _suffixed(repository, request, rows, resumes)
    actor = request.actor(table.name)
    context = await _context(repository, rows, named, request, content_type, actor, resumes)
    decisions = await dry_run(rows, context, request)
    shown = tuple([decision.preview async for decision in in_slices(decisions)])
    digest = await asyncio.to_thread(_digest, table, request, shown)
    ready = (each.command for each in decisions if each.state in ("new", "update"))
    commands = [command for command in ready if command is not None]
    return DryRun(Preview(digest, shown), commands, content_type)


def _parts(rows: Sequence[object]) -> int:
    """A file with more rows is imported in parts."""
    return -(-len(rows) // LIMITS.rows)


async def _context(
    repository: Repository,
    rows: Sequence[ParsedRow],
    names: NamedTargets,
    request: ImportRequest,
    content_type: ContentType,
    actor: Actor,
    resumes: bool,
) -> ImportContext:
    scope = request.scope
    slugs: dict[str, set[str]] = {}
    for row in rows:
        if row.slug:
            slugs.setdefault(row.language, set()).add(row.slug)
    existing: dict[EntryKey, str] = {}
    for language, of_language in slugs.items():
        found = await repository.entries_by_slug(scope, [content_type.slug], language, of_language)
        existing |= {(language, slug): entries[0][0] for slug, entries in found.items()}
    made: set[EntryKey] = set()
    if resumes:
        made = {key for key, entry_id in existing.items() if entry_id == request.entry_id(key)}
        existing = {key: each for key, each in existing.items() if key not in made}
    entries = {}
    if request.update:
        most = _parts(rows) * UPDATED_BYTES
        entries = await repository.entries(scope, existing.values(), most)
        # An entry that was just deleted has freed its slug.
        existing = {key: each for key, each in existing.items() if each in entries}
    keys = ((language, slug) for language, of_language in slugs.items() for slug in of_language)
    new_entries = {key: request.entry_id(key) for key in keys if key not in existing}
    references = await look_up(repository, request, names, new_entries)
    quota = await _quota(repository, request, len(made))
    return ImportContext(content_type, existing, entries, quota, references, actor)


async def _suffixed(
    repository: Repository, request: ImportRequest, rows: Sequence[ParsedRow], resumes: bool
) -> list[ParsedRow]:
    """Slugs are unique per language."""
    by_language: dict[str, list[ParsedRow]] = {}
    for row in rows:
        by_language.setdefault(row.language, []).append(row)
    found: dict[int, ParsedRow] = {}
    for language, own in by_language.items():
        taken = partial(_taken_slugs, repository, request, language, resumes)
        found |= {row.number: row for row in await suffixed(own, taken)}
    return [found[row.number] for row in rows]


async def _taken_slugs(
    repository: Repository,
    request: ImportRequest,
    language: str,
    resumes: bool,
    slugs: set[str],
) -> set[str]:
    types = [request.content_type_slug]
    found = await repository.entries_by_slug(request.scope, types, language, slugs)
    return {
        slug
        for slug, entries in found.items()
        if not (resumes and entries[0][0] == request.entry_id((language, slug)))
    }


async def _quota(repository: Repository, request: ImportRequest, own: int) -> EntryQuota:
    """The quota without the import's own entries. If there is no row of usage, the plan allows
    nothing (``write_side.append``)."""
    scope = request.scope
    rows = await repository.recorder.fetch(_QUOTA, scope.workspace, scope.environment, ENTRIES)
    return EntryQuota(rows[0]["used"] - own, rows[0]["bound"]) if rows else EntryQuota(0, 0)


def _digest(table: Table, request: ImportRequest, rows: Sequence[PreviewRow]) -> str:
    encoded = encode_table(table)
    head = msgspec.msgpack.encode((encoded.table, request, [row.digest for row in rows]))
    return digest_of(head, encoded)
