"""Columns that a script maps by name: to a target by its slug or name, or to nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from write_side.domain.definition import Field
from write_side.domain.text import shortened
from write_side.imports.columns import NOTHING, MappingRefused, column_targets, folded, matched
from write_side.imports.preview import one_line
from write_side.imports.request import ImportRequest

LONGEST_NUMBER = 9
"""Digits; Python refuses to convert a number with thousands of digits."""


def mapped(
    request: ImportRequest,
    maps: Iterable[tuple[str, str]],
    key: str | None,
    headings: Sequence[str],
    fields: Sequence[Field],
) -> ImportRequest:
    """The request with the target of each column, from ``maps`` (pairs of a column's heading or
    number and a target or "") or from its heading, and with the column of the ``key``. Raises
    MappingRefused if a column or target does not exist or a heading has no target."""
    offered = [target.target for target in column_targets(fields)]
    names = [*offered, *(target.name for target in column_targets(fields))]
    given: dict[int, str] = {}
    for column, target in maps:
        found = _find(target, names) if target.strip() else []
        if target.strip() and not found:
            known = ", ".join(offered)
            unknown = shortened(target)
            raise MappingRefused([f"unknown target {unknown!r}; expected one of: {known}"])
        given[_column(column, headings)] = names[found[0] % len(offered)] if found else NOTHING
    key_column = None if key is None else _column(key, headings)
    return replace(request, targets=matched(headings, fields, given), key=key_column)


def _column(name: str, headings: Sequence[str]) -> int:
    found = _find(name, headings)
    if len(found) > 1:
        numbers = ", ".join(str(n + 1) for n in found)
        raise MappingRefused(
            [f"several columns are named {name!r}: give its number, one of {numbers}"]
        )
    if found:
        return found[0]
    if name.isdecimal() and len(name) <= LONGEST_NUMBER and 0 < int(name) <= len(headings):
        return int(name) - 1
    known = ", ".join(map(one_line, headings))
    raise MappingRefused([f"the file has no column {shortened(name)!r}; it has: {known}"])


def _find(name: str, names: Sequence[str]) -> list[int]:
    """The indexes of the columns with exactly this name, else of those whose headings match."""
    for same in (str.strip, folded):
        if found := [n for n, other in enumerate(names) if same(other) == same(name)]:
            return found
    return []
