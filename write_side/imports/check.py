"""Checks a whole file against the current state of the log, for a preview or an import."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from write_side.commands import CreateEntry, UpdateEntry
from write_side.domain.content_type import ContentType
from write_side.domain.identity import MAX_SLUG
from write_side.domain.locales import check_locale
from write_side.domain.refusals import InvalidEntry
from write_side.domain.text import composed
from write_side.imports.columns import columns_of
from write_side.imports.dry_run import EntryQuota, ImportContext, dry_run
from write_side.imports.preview import Preview, PreviewRow
from write_side.imports.references import MOST_REFERENCES, NamedTargets, look_up
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
_FAMILY = MAX_SLUG - 10
Lookup = Callable[[set[EntryKey]], Awaitable[set[EntryKey]]]
"""Keys → those among them that entries have."""


class DryRun(Struct, frozen=True):
    """What an import would do. ``commands``: one for each row; None if it is not ready."""

    preview: Preview
    commands: Sequence[CreateEntry | UpdateEntry | None]
    content_type: ContentType


async def check(
    repository: Repository, table: Table, request: ImportRequest, *, resumes: bool = False
) -> DryRun:
    """``resumes``: entries that this import created are treated as if they did not exist.

    Raises MappingRefused, UnknownContentType, InvalidEntry.
    """
    check_locale(request.language, "language")
    content_type = await repository.fresh_content_type(request.scope, request.content_type_slug)
    rows, context = await _looked_up(repository, table, request, content_type, resumes)
    decisions = await dry_run(rows, context, request)
    shown = tuple([decision.preview async for decision in in_slices(decisions)])
    digest = await asyncio.to_thread(_digest, table, request, shown)
    commands = [each.command if each.state in ("new", "update") else None for each in decisions]
    return DryRun(Preview(digest, shown), commands, content_type)


async def _looked_up(
    repository: Repository,
    table: Table,
    request: ImportRequest,
    content_type: ContentType,
    resumes: bool,
) -> tuple[Sequence[ParsedRow], ImportContext]:
    """The parsed rows, and the state on which they are decided."""
    columns = columns_of(table.headings, request.targets, content_type.value_fields)
    if request.key is not None and not 0 <= request.key < len(table.headings):
        raise InvalidEntry("The slugs cannot be derived from a column that the file does not have")
    parts = -(-len(table.rows) // LIMITS.rows)  # a file with more rows is imported in parts
    named = NamedTargets(parts * MOST_REFERENCES)
    parsed = map(named.collect, parsed_rows(table, columns, request))
    rows = [
        await in_thread_if_large(row.parts, next, parsed) async for row in in_slices(table.rows)
    ]

    async def others(keys: Iterable[EntryKey]) -> set[EntryKey]:
        found = await _existing(repository, request, keys)
        return found.keys() - (_own(request, found) if resumes else ())

    rows = await _with_composed_slugs(rows, others)
    if request.repeats == "suffix":
        rows = await suffixed(rows, others)
    keys = {row.key for row in rows if row.slug}
    existing = await _existing(repository, request, keys)
    own = _own(request, existing) if resumes else set()
    existing = {key: entry_id for key, entry_id in existing.items() if key not in own}
    entries = {}
    if request.update:
        most = parts * UPDATED_BYTES
        entries = await repository.entries(request.scope, existing.values(), most)
        # An entry that was just deleted has freed its slug.
        existing = {key: entry_id for key, entry_id in existing.items() if entry_id in entries}
    new_entries = {key: request.entry_id(key) for key in keys if key not in existing}
    references = await look_up(repository, request, named, new_entries)
    quota = await _quota(repository, request, len(own))
    actor = request.actor(table.name)
    return rows, ImportContext(content_type, existing, entries, quota, references, actor)


async def _with_composed_slugs(rows: list[ParsedRow], existing: Lookup) -> list[ParsedRow]:
    """The rows. A slug with decomposed accents that no entry has is replaced by its composed form
    if an entry or another row has that form."""
    keys = {row.key: (row.language, composed(row.slug)) async for row in in_slices(rows)}
    decomposed = {key: other for key, other in keys.items() if key != other}
    if not decomposed:
        return rows
    found = await existing({*decomposed, *decomposed.values()})
    known = found | keys.keys()
    slugs = {
        key: other[1] for key, other in decomposed.items() if key not in found and other in known
    }
    return [replace(row, slug=slugs[row.key]) if row.key in slugs else row for row in rows]


async def _existing(
    repository: Repository, request: ImportRequest, keys: Iterable[EntryKey]
) -> dict[EntryKey, str]:
    """The ids of the entries that have these keys."""
    slugs: dict[str, set[str]] = {}
    for language, slug in keys:
        slugs.setdefault(language, set()).add(slug)
    existing: dict[EntryKey, str] = {}
    types = [request.content_type_slug]
    for language, of_language in slugs.items():
        found = await repository.entries_by_slug(request.scope, types, language, of_language)
        existing |= {(language, slug): entries[0] for slug, entries in found.items()}
    return existing


def _own(request: ImportRequest, existing: Mapping[EntryKey, str]) -> set[EntryKey]:
    """The keys of the entries that this import created."""
    return {key for key, entry_id in existing.items() if entry_id == request.entry_id(key)}


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


async def suffixed(rows: Sequence[ParsedRow], existing: Lookup) -> list[ParsedRow]:
    """The rows with slugs that are free in the file and in the store. The same rows get the same
    slugs while the store is unchanged."""
    repeats = _repeats(rows)
    stems = [rows[index].key for index in repeats]
    taken = {row.key for row in rows}
    taken |= await _used_keys(stems, taken, existing)
    found = list(rows)
    reached = dict.fromkeys(stems, 2)
    for index, keeps in repeats.items():
        stem = rows[index].key
        while (key := with_suffix(stem, reached[stem])) in taken:
            reached[stem] += 1
        taken.add(key)
        found[index] = replace(rows[index], slug=key[1], repeats=keeps)
    first: dict[tuple[str, ...], int] = {}
    for index, row in enumerate(rows):
        twin = first.setdefault(row.content, index)
        if twin in repeats:
            found[index] = replace(row, slug=found[twin].slug, repeats=repeats[twin])
    return found


def _repeats(rows: Sequence[ParsedRow]) -> dict[int, int]:
    """The index of each row that needs a suffix → the number of the row that keeps the slug."""
    by_key: dict[EntryKey, list[int]] = {}
    for index, row in enumerate(rows):
        if row.slug:
            by_key.setdefault(row.key, []).append(index)
    repeats: dict[int, int] = {}
    for same in by_key.values():
        if len(same) == 1:
            continue
        keeps = rows[min(same, key=lambda index: rows[index].is_slug_derived)]
        seen = {keeps.content}
        for index in same:
            if rows[index].is_slug_derived and rows[index].content not in seen:
                seen.add(rows[index].content)
                repeats[index] = keeps.number
    return repeats


async def _used_keys(
    stems: Sequence[EntryKey], in_file: set[EntryKey], existing: Lookup
) -> set[EntryKey]:
    """The suffixed keys that entries have, as far as needed to find a free one for each row. Each
    query looks up twice as many, because the store may have thousands."""
    # Slugs of the maximum length are cut, and may be the same for several stems.
    wanted = Counter((language, slug[:_FAMILY]) for language, slug in stems)
    missing = {(language, slug): wanted[language, slug[:_FAMILY]] for language, slug in stems}
    reached = dict.fromkeys(stems, 2)
    used: set[EntryKey] = set()
    while missing:
        windows = {
            stem: [with_suffix(stem, n) for n in range(reached[stem], 2 * reached[stem] + count)]
            for stem, count in missing.items()
        }
        used |= await existing({key for window in windows.values() for key in window})
        for stem, window in windows.items():
            reached[stem] += len(window)
            missing[stem] -= sum(key not in used and key not in in_file for key in window)
        missing = {stem: count for stem, count in missing.items() if count > 0}
    return used


def with_suffix(key: EntryKey, number: int) -> EntryKey:
    """The key with the suffix, its slug cut to at most MAX_SLUG characters."""
    language, slug = key
    suffix = f"-{number}"
    return language, f"{slug[: MAX_SLUG - len(suffix)]}{suffix}"
