"""Which column of a file holds what, by its heading."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Literal

from msgspec import Struct

from write_side.domain.definition import Field
from write_side.imports.files import FileRefused

Own = Literal["Title", "Slug", "Status"]
OWN: tuple[Own, ...] = ("Title", "Slug", "Status")
NOT_IMPORTED = ("ID", "Content type", "Created", "Updated", "Published")
"""Columns of an export that are not an entry's to choose (readings, «Import and export»)."""

Target = Own | Field | None
"""What a column maps to; None is not imported."""


class Column(Struct, frozen=True):
    """``index`` into a row's cells: columns are mapped by position, so headings may repeat."""

    index: int
    heading: str
    target: Target


class _Slot(Struct, frozen=True):
    """Something that one column may map to, and the words for it."""

    name: str
    slug: str
    target: Target


def columns_of(headings: Sequence[str], fields: Sequence[Field]) -> list[Column]:
    """Each heading's column. Raises FileRefused naming the first that fits nothing.

    A heading is compared without regard to case with the entry's own columns and the fields'
    names, then slugs. Where it repeats, the first is the entry's own, as in an export.
    """
    free = _slots(fields)
    columns = []
    for index, heading in enumerate(headings):
        slot = _fitting(heading, free)
        if slot is not None:
            free = [one for one in free if one is not slot]
            columns.append(Column(index, heading.strip(), slot.target))
        elif heading.strip():
            raise FileRefused(_unfitting(heading, fields))
    _check_complete(columns, fields)
    return columns


def _slots(fields: Iterable[Field]) -> list[_Slot]:
    return [
        *(_Slot(name, name, name) for name in OWN),
        *(_Slot(name, name, None) for name in NOT_IMPORTED),
        *(_Slot(field.name, field.slug, field) for field in fields),
    ]


def _fitting(heading: str, free: Sequence[_Slot]) -> _Slot | None:
    by_name = (slot for slot in free if _folded(slot.name) == _folded(heading))
    by_slug = (slot for slot in free if _folded(slot.slug) == _folded(heading))
    return next(chain(by_name, by_slug), None)


def _folded(heading: str) -> str:
    return heading.strip().casefold()


def _unfitting(heading: str, fields: Sequence[Field]) -> str:
    known = ", ".join([*OWN, *(field.name for field in fields)])
    return f"the heading {heading.strip()!r} fits no column, or one too many; there are: {known}"


def _check_complete(columns: Iterable[Column], fields: Iterable[Field]) -> None:
    """Title and every required field must be mapped (specification §4.6)."""
    mapped = [column.target for column in columns]
    if "Title" not in mapped:
        raise FileRefused("the file has no column Title")
    for field in fields:
        if field.required and field not in mapped:
            raise FileRefused(f"the file has no column {field.name!r}, which is required")
