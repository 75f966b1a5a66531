"""Rows on their way to being entries: titles, slugs, what each one will be called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Raw, Struct

from write_side.domain.definition import Field
from write_side.domain.events import Status
from write_side.domain.slugs import slug_from
from write_side.domain.text import unstorable
from write_side.domain.values import missing
from write_side.imports.cells import BadCell, is_blank, status_of
from write_side.imports.columns import OWN, Column, Own
from write_side.imports.files import Row, Table


class Problem(Struct, frozen=True):
    """A cell that stands in the way of the import."""

    row: int
    column: str
    reason: str


class Draft(Struct, frozen=True):
    """A row that becomes an entry; ``cells`` are those of fields, with their columns.

    ``problems`` are those of its title and slug.
    """

    row: int
    title: str
    slug: str
    status: Status
    cells: tuple[tuple[Column, Field, str], ...]
    problems: tuple[Problem, ...] = ()


class Valued(Struct, frozen=True):
    """A draft with its values by field slug."""

    draft: Draft
    values: dict[str, Raw]


def drafts_of(table: Table, columns: Iterable[Column]) -> Iterator[Draft]:
    """Every row as the entry it asks for; where a slug cannot be, there is none."""
    mapped = list(columns)
    for row in table.rows:
        own = {name: _own(row, mapped, name) for name in OWN}
        yield Draft(
            row=row.number,
            title=own["Title"],
            slug=_slug(own),
            status=status_of(own["Status"]),
            cells=tuple(
                (column, column.target, row.cells[column.index])
                for column in mapped
                if isinstance(column.target, Field)
            ),
            problems=tuple(_problems(row, own)),
        )


def _own(row: Row, columns: Iterable[Column], name: Own) -> str:
    cells = (row.cells[column.index] for column in columns if column.target == name)
    cell = next(cells, "")
    return cell if cell.strip() else ""


def _slug(own: Mapping[Own, str]) -> str:
    slug = own["Slug"] or slug_from(own["Title"])
    return "" if unstorable(slug) else slug


def _problems(row: Row, own: Mapping[Own, str]) -> Iterator[Problem]:
    if not own["Title"]:
        yield Problem(row.number, "Title", "is blank")
    for name in ("Title", "Slug"):
        reason = unstorable(own[name])
        if reason is not None:
            yield Problem(row.number, name, f"{shown(own[name])} {reason}")


def valued(
    draft: Draft, fields: Iterable[Field], value_of: Callable[[Field, str], Raw]
) -> tuple[Valued, list[Problem]]:
    """The draft's values, and every cell that is none."""
    values, problems = {}, list(draft.problems)
    for column, field, cell in draft.cells:
        if is_blank(field, cell):
            continue
        try:
            values[field.slug] = value_of(field, cell)
        except BadCell as error:
            problems.append(Problem(draft.row, column.heading, f"{shown(cell)} {error}"))
    if draft.status == "published" and not problems:
        problems.extend(
            Problem(draft.row, _heading(draft, path), "is blank, and a published entry needs it")
            for path in missing(fields, values)
        )
    return Valued(draft, values), problems


def shown(cell: str) -> str:
    text = " ".join(cell.split())
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def _heading(draft: Draft, path: str) -> str:
    headings = {field.slug: column.heading for column, field, _ in draft.cells}
    return headings.get(path, path)
