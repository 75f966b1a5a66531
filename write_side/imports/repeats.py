"""Rows with the slug of an earlier row, where each is to get a slug of its own: ``-2``, ``-3``, …

A slug that the file gives is kept. Of rows with one slug, the first whose slug is given keeps it,
else the first. A row that says the same as an earlier one gets the slug of that one, so that it is
skipped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

from msgspec.structs import replace

from write_side.domain.identity import MAX_SLUG
from write_side.imports.rows import ParsedRow

Lookup = Callable[[set[str]], Awaitable[set[str]]]
"""Slugs → those that entries have."""


async def suffixed(rows: Sequence[ParsedRow], existing: Lookup) -> list[ParsedRow]:
    """The rows with slugs that are free in the file and in the store. The same rows over the same
    store get the same slugs."""
    repeats = _repeats(rows)
    taken = {row.slug for row in rows}
    waiting = dict.fromkeys(repeats, 2)
    found = list(rows)
    while waiting:
        chosen = _choose(rows, waiting, taken)
        in_store = await existing(set(chosen.values()))
        taken |= in_store | set(chosen.values())
        for index, slug in chosen.items():
            if slug not in in_store:
                found[index] = replace(rows[index], slug=slug, repeats=repeats[index])
                del waiting[index]
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
    """Rows with a derived slug that say something new."""
    seen = {rows[keeps].content}
    for index in same:
        if rows[index].is_slug_derived and rows[index].content not in seen:
            seen.add(rows[index].content)
            yield index


def _choose(rows: Sequence[ParsedRow], waiting: dict[int, int], taken: set[str]) -> dict[int, str]:
    """The next slug for each row, free in the file. Moves ``waiting`` on, to the number after it;
    slugs of one stem never take the same number."""
    chosen: dict[int, str] = {}
    own = set(taken)
    reached: dict[str, int] = {}
    for index, number in waiting.items():
        stem = rows[index].slug
        number = max(number, reached.get(stem, 2))
        while (slug := with_suffix(stem, number)) in own:
            number += 1
        own.add(slug)
        chosen[index] = slug
        waiting[index] = reached[stem] = number + 1
    return chosen


def with_suffix(slug: str, number: int) -> str:
    """Cut so that it is a slug of at most MAX_SLUG characters."""
    suffix = f"-{number}"
    return f"{slug[: MAX_SLUG - len(suffix)]}{suffix}"
