"""The mapping of a file's columns: chosen by a person, saved, proposed from the headings, or given
by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from write_side.commands import SaveImportMapping
from write_side.dispatch import execute
from write_side.domain.definition import Field
from write_side.domain.events import MappedColumn
from write_side.domain.identity import Actor, Scope
from write_side.domain.refusals import InvalidEntry, count, first_few, shortened
from write_side.domain.text import MOST_COMPOSED, composed
from write_side.imports.preview import one_line
from write_side.imports.request import ImportRequest
from write_side.imports.table import NAME_COLUMNS, Row, Table, column_letters
from write_side.repository import Repository

Attribute = Literal["Title", "Slug", "Status", "Language"]
ATTRIBUTES: tuple[Attribute, ...] = ("Title", "Slug", "Status", "Language")
LANGUAGE = "Language"
"""The last heading of an export with entries of several languages."""
NOT_IMPORTED = ("ID", "Content type", "Created", "Updated", "Published")
"""Columns of an export that are not imported (behaviour.md §4.6)."""
EXPORTED = ("ID", *ATTRIBUTES[:3], *NOT_IMPORTED[1:])
"""The first headings of every export; those of the fields follow."""
NOTHING = ""
"""The target of a column that is not imported. The other targets are ATTRIBUTES and the slugs of
fields, which never have capital letters."""

Source = Literal["saved", "heading", ""]
Find: TypeAlias = Callable[[str], list[int]]
"""The indexes of the columns or targets with a name."""
FIRST_ROWS = 5
"""Rows in which headings below a title are looked for."""
LONGEST_NUMBER = 9
"""Digits; Python refuses to convert a number with thousands of digits."""
_GAPS = re.compile(r"[\s_-]+")


class MappingRefused(InvalidEntry):
    """The mapping is not valid."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(f"The columns cannot be imported as they are mapped: {'; '.join(reasons)}")


class UnknownColumn(InvalidEntry):
    """No column of the file has the given name, or several do."""


class Column(Struct, frozen=True):
    """``index`` into a row's cells: columns are mapped by position, so headings may repeat.

    ``heading`` is shortened, because each note of the column repeats it.
    """

    index: int
    heading: str
    target: Attribute | Field


class ColumnTarget(Struct, frozen=True):
    """A target that one column may be mapped to."""

    target: str
    name: str
    required: bool


class Proposal(Struct, frozen=True):
    """The proposed target of each column, and the reason."""

    targets: tuple[str, ...]
    sources: tuple[Source, ...]


def column_targets(fields: Iterable[Field]) -> tuple[ColumnTarget, ...]:
    """All targets; Title and required fields need a column (§4.6)."""
    own = (ColumnTarget(name, name, name == "Title") for name in ATTRIBUTES)
    return (*own, *(ColumnTarget(field.slug, field.name, field.required) for field in fields))


def columns_of(
    headings: Sequence[str], targets: Sequence[str], fields: Sequence[Field]
) -> tuple[Column, ...]:
    """The columns that are imported. Raises MappingRefused with every error: the number of columns,
    unknown or repeated targets, required targets without a column."""
    if len(headings) != len(targets):
        raise MappingRefused([f"the file has {len(headings)} columns, not {len(targets)}"])
    known: dict[str, Attribute | Field] = {name: name for name in ATTRIBUTES}
    known |= {field.slug: field for field in fields}
    used = Counter(target for target in targets if target != NOTHING)
    reasons = [f"unknown target {target!r}" for target in used.keys() - known]
    reasons += [f"{n} columns are mapped to {target!r}" for target, n in used.items() if n > 1]
    missing = [one for one in column_targets(fields) if one.required and one.target not in used]
    reasons += [
        "no column is mapped to "
        + ("Title" if one.target == "Title" else f"the required field {one.name!r}")
        for one in missing
    ]
    if reasons:
        raise MappingRefused(reasons)
    return tuple(
        Column(index, one_line(heading), known[target])
        for index, (heading, target) in enumerate(zip(headings, targets, strict=True))
        if target != NOTHING
    )


def match_headings(
    headings: Sequence[str],
    fields: Sequence[Field],
    chosen: Mapping[int, str],
    rows: Iterable[Row] = (),
) -> tuple[str, ...]:
    """The targets without interactive choices: those ``chosen``, by index, then those that match
    the headings. Raises MappingRefused if a heading matches no free target or has a namesake, or if
    a column of the ``rows`` has cells but no heading."""
    proposal = _assign_targets(headings, fields, chosen)
    lost = [
        repr(one_line(heading))
        for heading, source in zip(headings, proposal.sources, strict=True)
        if heading.strip() and not source
    ]
    reasons = []
    if lost:
        known = ", ".join(target.name for target in column_targets(fields))
        what = "heading" if len(lost) == 1 else "headings"
        reasons = [f"no free target matches the {what} {', '.join(lost)}; targets are: {known}"]
        if number := headings_row(rows, fields):
            reasons[0] += f"; row {number} looks like the headings: delete the rows above it"
    if blank := _cells_without_heading(headings, rows, chosen):
        reasons.append(f"cells without a heading are in {_named(blank)}: {NAME_COLUMNS}")
    reasons += [
        f"{headings[index]!r} is the name of a field, but also of a column that exports have and "
        "imports ignore: map it to the field, or leave it out"
        for index, _ in namesakes(headings, proposal.targets, fields)
        if index not in chosen
    ]
    if reasons:
        raise MappingRefused(reasons)
    return proposal.targets


def headings_row(rows: Iterable[Row], fields: Iterable[Field]) -> int | None:
    """The number of one of the first rows that looks like the headings, below a title."""
    names = {name for slot in _slots(fields) for name in (slot.name, slot.slug)}
    for row in islice(rows, FIRST_ROWS):
        cells = {folded(cell) for cell in row.cells if cell.strip()}
        if folded("Title") in cells and cells <= names:
            return row.number
    return None


def namesakes(
    headings: Sequence[str], targets: Sequence[str], fields: Sequence[Field]
) -> list[tuple[int, Field]]:
    """Columns that are not imported because exports have columns of these names, each with the
    field of the same name, if no column is mapped to it."""
    if _is_export(headings):
        return []
    unfilled = [field for field in fields if field.slug not in targets]
    not_imported = set(map(folded, NOT_IMPORTED))
    return [
        (index, field)
        for index, heading in enumerate(headings)
        if targets[index] == NOTHING and folded(heading) in not_imported
        for field in unfilled
        if folded(heading) in (folded(field.name), folded(field.slug))
    ]


def _is_export(headings: Sequence[str]) -> bool:
    return tuple(headings[: len(EXPORTED)]) == EXPORTED


def _cells_without_heading(
    headings: Sequence[str], rows: Iterable[Row], chosen: Mapping[int, str]
) -> Counter[int]:
    """Index of a column with a blank heading → the number of its cells that are not blank."""
    blank = [n for n, heading in enumerate(headings) if not heading.strip() and n not in chosen]
    return Counter(index for row in rows for index in blank if row.cells[index].strip())


def _named(columns: Mapping[int, int]) -> str:
    """The first columns, each with the number of its cells."""
    names = [
        f"column {index + 1} ({column_letters(index)}: {count(cells, 'cell')})"
        for index, cells in sorted(columns.items())
    ]
    return first_few(names)


def propose_targets(
    headings: Sequence[str], fields: Sequence[Field], saved: Sequence[MappedColumn] = ()
) -> Proposal:
    """The target saved for a heading, then the one that the heading matches. In our own exports
    saved targets do not count, because there Title is always the entry's title.

    Case, spaces, underscores and hyphens are ignored. Headings are compared with the entry's own
    columns and the fields' names, then with slugs. If a heading is repeated, the first is the
    entry's own, as in an export. Language comes after the fields, as in an export.
    """
    offered = {target.target for target in column_targets(fields)}
    saved_targets = {} if _is_export(headings) else _saved_targets(headings, saved, offered)
    return _assign_targets(headings, fields, saved_targets)


def _assign_targets(
    headings: Sequence[str], fields: Sequence[Field], chosen: Mapping[int, str]
) -> Proposal:
    """``chosen``: targets by the index of their column; the other columns get the matching ones."""
    used = set(chosen.values())
    free = [slot for slot in _slots(fields) if slot.target == NOTHING or slot.target not in used]
    targets: list[str] = []
    sources: list[Source] = []
    for index, heading in enumerate(headings):
        slot = None if index in chosen else _matching_slot(heading, free)
        if slot is not None:
            free.remove(slot)
        targets.append(chosen.get(index, slot.target if slot else NOTHING))
        sources.append("saved" if index in chosen else "heading" if slot else "")
    return Proposal(tuple(targets), tuple(sources))


class _Slot(Struct, frozen=True):
    """A target, and the names that match it. The name Language is not normalized and therefore
    matches nothing, because a field with the slug ``language`` comes before it."""

    name: str
    slug: str
    target: str


def _slots(fields: Iterable[Field]) -> list[_Slot]:
    return [
        *(_Slot(folded(name), folded(name), name) for name in ATTRIBUTES if name != LANGUAGE),
        *(_Slot(folded(name), folded(name), NOTHING) for name in NOT_IMPORTED),
        *(_Slot(folded(field.name), folded(field.slug), field.slug) for field in fields),
        _Slot(LANGUAGE, folded(LANGUAGE), LANGUAGE),
    ]


def _matching_slot(heading: str, free: Sequence[_Slot]) -> _Slot | None:
    sought = folded(heading)
    by_name = (slot for slot in free if slot.name == sought)
    by_slug = (slot for slot in free if slot.slug == sought)
    return next(by_name, None) or next(by_slug, None)


def _saved_targets(
    headings: Iterable[str], saved: Iterable[MappedColumn], offered: set[str]
) -> dict[int, str]:
    """Index of a column → the target saved for its heading; repeated headings keep their order."""
    by_heading: dict[str, list[str]] = {}
    for column in saved:
        by_heading.setdefault(folded(column.heading), []).append(column.target)
    targets = {}
    for index, heading in enumerate(headings):
        remaining = by_heading.get(folded(heading))
        if remaining and ((target := remaining.pop(0)) in offered or target == NOTHING):
            targets[index] = target
    return targets


def folded(heading: str) -> str:
    """The form in which headings are compared; unchanged if too long to be a field's name."""
    if len(heading) > MOST_COMPOSED:
        return heading
    return _GAPS.sub(" ", composed(heading).casefold()).strip()


def map_columns(
    request: ImportRequest,
    maps: Iterable[tuple[str, str]],
    key: str | None,
    table: Table,
    fields: Sequence[Field],
) -> ImportRequest:
    """The request with the target of each column, and with the column of the ``key``, which needs
    no target. A target is from ``maps`` (pairs of a column's heading or number and a target or "")
    or from the heading.

    Raises UnknownColumn, and MappingRefused if a target does not exist, a heading has no target, or
    a column with cells has no heading.
    """
    headings = table.headings
    targets = column_targets(fields)
    offered = [target.target for target in targets]
    names = [*offered, *(target.name for target in targets)]
    find_target, find_column = _finder(names), _finder(headings)
    chosen: dict[int, str] = {}
    for column, target in maps:
        found = find_target(target) if target.strip() else []
        if target.strip() and not found:
            known = ", ".join(offered)
            unknown = shortened(target)
            raise MappingRefused([f"unknown target {unknown!r}; expected one of: {known}"])
        named = names[found[0] % len(offered)] if found else NOTHING
        if chosen.setdefault(_column(column, headings, find_column), named) != named:
            raise MappingRefused([f"the column {shortened(column)!r} has two targets: choose one"])
    key_column = None if key is None else _column(key, headings, find_column)
    if key_column is not None and not _assign_targets(headings, fields, chosen).sources[key_column]:
        chosen[key_column] = NOTHING
    matched = match_headings(headings, fields, chosen, table.rows)
    return replace(request, targets=matched, key=key_column)


def _column(name: str, headings: Sequence[str], find: Find) -> int:
    found = find(name)
    if len(found) > 1:
        numbers = ", ".join(str(n + 1) for n in found)
        raise UnknownColumn(
            f"Several columns are named {shortened(name)!r}: "
            f"give a number instead, one of {numbers}"
        )
    if found:
        return found[0]
    if name.isdecimal() and len(name) <= LONGEST_NUMBER and 0 < int(name) <= len(headings):
        return int(name) - 1
    known = ", ".join(map(one_line, headings))
    raise UnknownColumn(f"The file has no column {shortened(name)!r}; it has: {known}")


def _finder(names: Sequence[str]) -> Find:
    """Finds the indexes of a name: exact matches, or else those that match as headings do."""
    exact: dict[str, list[int]] = {}
    similar: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        exact.setdefault(name.strip(), []).append(index)
        similar.setdefault(folded(name), []).append(index)
    return lambda name: exact.get(name.strip()) or similar.get(folded(name), [])


async def load_proposal(
    repository: Repository, scope: Scope, content_type_slug: str, headings: Sequence[str]
) -> Proposal:
    """Raises UnknownContentType."""
    content_type = await repository.fresh_content_type(scope, content_type_slug)
    _, saved = await repository.import_mapping(content_type.id)
    return propose_targets(headings, content_type.value_fields, saved.columns if saved else ())


async def save_mapping(
    repository: Repository, request: ImportRequest, headings: Sequence[str], by: Actor
) -> None:
    """Saves the mapping of a checked request, to be proposed for later files. Raises
    UnknownContentType."""
    command = SaveImportMapping(
        actor=by,
        scope=request.scope,
        content_type_slug=request.content_type_slug,
        columns=tuple(map(MappedColumn, headings, request.targets)),
    )
    await execute(command, repository)
