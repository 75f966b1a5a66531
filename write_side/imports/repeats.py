"""Gives rows that repeat the slug of an earlier row their own slugs: ``-2``, ``-3``, …

A slug that the file gives is kept. Of rows with the same slug, the first whose slug is given keeps
it, else the first. A row with the same content as an earlier one gets the slug of that row, so that
it is skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from write_side.domain.identity import MAX_SLUG
from write_side.imports.request import EntryKey
from write_side.imports.rows import ParsedRow

_FAMILY = MAX_SLUG - 10
Lookup = Callable[[set[EntryKey]], Awaitable[set[EntryKey]]]
"""Keys → those among them that entries have."""


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
