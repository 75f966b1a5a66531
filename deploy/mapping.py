"""What `--map COLUMN=TARGET` says of a file's columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from deploy.failures import Failed

if TYPE_CHECKING:
    from write_side.domain.definition import Field
    from write_side.imports.columns import Offer


def typed_targets(
    maps: Sequence[str], headings: Sequence[str], fields: Sequence[Field]
) -> tuple[str, ...]:
    """What each column is mapped to: as typed, and the others by their headings.

    Raises Failed where there is no such column or target, or where a heading says nothing.
    """
    from write_side.imports.columns import MappingRefused, matched, offers

    try:
        return matched(headings, fields, _given(maps, headings, offers(fields)))
    except MappingRefused as refused:
        raise Failed(
            f"{refused} (say what a column holds with --map 'COLUMN=TARGET', or leave it out with "
            "--map 'COLUMN=')"
        ) from None


def _given(
    maps: Sequence[str], headings: Sequence[str], offered: Sequence[Offer]
) -> dict[int, str]:
    """Index of a column → its target. Raises Failed where there is no such column or target."""
    given: dict[int, str] = {}
    for each in maps:
        column, equals, target = each.rpartition("=")
        if not equals:
            raise click.UsageError(f"--map takes COLUMN=TARGET, not {each!r}")
        given[_column(column, headings)] = _target(target, offered)
    return given


def _column(named: str, headings: Sequence[str]) -> int:
    from write_side.imports.columns import folded

    for same in (str.strip, folded):
        found = [n for n, heading in enumerate(headings) if same(heading) == same(named)]
        if len(found) > 1:
            numbers = ", ".join(str(n + 1) for n in found)
            raise Failed(f"several columns are called {named!r}: give its number, one of {numbers}")
        if found:
            return found[0]
    if named.isdecimal() and 0 < int(named) <= len(headings):
        return int(named) - 1
    raise Failed(f"the file has no column {named!r}; it has: {', '.join(headings)}")


def _target(named: str, offered: Sequence[Offer]) -> str:
    from write_side.imports.columns import NOTHING, folded

    if not named.strip():
        return NOTHING
    for same in (str.strip, folded):
        for words in ("target", "name"):
            for offer in offered:
                if same(getattr(offer, words)) == same(named):
                    return offer.target
    raise Failed(
        f"there is no {named!r} to map a column to; there are: "
        f"{', '.join(offer.target for offer in offered)}"
    )
