"""Gives rows that repeat the slug of an earlier row their own slugs: ``-2``, ``-3``, …

A slug that the file gives is kept. Of rows with the same slug, the first whose slug is given keeps
it, else the first. A row with the same content as an earlier one gets the slug of that row, so that
it is skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence

from msgspec.structs import replace

from write_side.domain.identity import MAX_SLUG
from write_side.imports.rows import ParsedRow

_FAMILY = MAX_SLUG - 10
Lookup = Callable[[set[str]], Awaitable[set[str]]]
"""Slugs → those among them that entries have."""


async def suffixed(rows: Sequence[ParsedRow], existing: Lookup) -> list[ParsedRow]:
    """The rows with slugs that are free in the file and in the store. The same rows get the same
    slugs while the store is unchanged."""
    repeats = _repeats(rows)
    stems = [rows[index].slug for index in repeats]
    taken = {row.slug for row in rows}
    taken |= await _used_slugs(stems, taken, existing)
    found = list(rows)
    reached = dict.fromkeys(stems, 2)
    for index, keeps in repeats.items():
        stem = rows[index].slug
        while (slug := with_suffix(stem, reached[stem])) in taken:
            reached[stem] += 1
        taken.add(slug)
        found[index] = replace(rows[index], slug=slug, repeats=keeps)
    first: dict[tuple[str, ...], int] = {}
    for index, row in enumerate(rows):
        twin = first.setdefault(row.content, index)
        if twin in repeats:
            found[index] = replace(row, slug=found[twin].slug, repeats=repeats[twin])
    return found


def _repeats(rows: Sequence[ParsedRow]) -> dict[int, int]:
    """The index of each row that needs a suffix → the number of the row that keeps the slug."""
    by_slug: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        if row.slug:
            by_slug.setdefault(row.slug, []).append(index)
    return {
        index: rows[keeps].number
        for same in by_slug.values()
        if len(same) > 1
        for keeps in [next((one for one in same if not rows[one].is_slug_derived), same[0])]
        for index in _different(rows, same, keeps)
    }


def _different(rows: Sequence[ParsedRow], same: Sequence[int], keeps: int) -> Iterator[int]:
    """Rows with a derived slug and new content."""
    seen = {rows[keeps].content}
    for index in same:
        if rows[index].is_slug_derived and rows[index].content not in seen:
            seen.add(rows[index].content)
            yield index


async def _used_slugs(stems: Sequence[str], in_file: set[str], existing: Lookup) -> set[str]:
    """The suffixed slugs that entries have, as far as needed to find a free one for each row. Each
    query looks up twice as many, because the store may have thousands."""
    # Slugs of the maximum length are cut, and may be the same for several stems.
    wanted = Counter(stem[:_FAMILY] for stem in stems)
    missing = {stem: wanted[stem[:_FAMILY]] for stem in stems}
    reached = dict.fromkeys(stems, 2)
    used: set[str] = set()
    while missing:
        windows = {
            stem: [with_suffix(stem, n) for n in range(reached[stem], 2 * reached[stem] + count)]
            for stem, count in missing.items()
        }
        used |= await existing({slug for window in windows.values() for slug in window})
        for stem, window in windows.items():
            reached[stem] += len(window)
            missing[stem] -= sum(slug not in used and slug not in in_file for slug in window)
        missing = {stem: count for stem, count in missing.items() if count > 0}
    return used


def with_suffix(slug: str, number: int) -> str:
    """The slug with the suffix, cut to at most MAX_SLUG characters."""
    suffix = f"-{number}"
    return f"{slug[: MAX_SLUG - len(suffix)]}{suffix}"
