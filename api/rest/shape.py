"""``select`` and ``include`` of one request, checked against the content types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from api.rest import wire
from api.rest.include_paths import Path, parse_include, refused_step, unknown_step
from api.rest.parameters import Query
from api.rest.selection import MAX_LISTED, Selection, one_of, parse_select, unknown_field
from read_side.content_types import NamedFields, field_slugs, named_fields
from read_side.pool import Pool
from write_side.domain.content_type import ContentType
from write_side.domain.definition import value_fields
from write_side.domain.field_types import FIELD_TYPES
from write_side.domain.identity import Scope

_LEADING = [name for name, spec in FIELD_TYPES.items() if spec.refers_to]
_SELECTABLE = [name for name, spec in FIELD_TYPES.items() if spec.holds_values]


class Shape(Struct, frozen=True):
    """The members that a request selects, and the paths that it includes."""

    selection: Selection | None
    paths: tuple[Path, ...]

    @property
    def key(self) -> tuple[str, str]:
        """Equal for all requests that mean the same."""
        return (
            "" if self.selection is None else self.selection.key,
            ",".join(map(".".join, self.paths)),
        )

    @property
    def selected(self) -> frozenset[str]:
        """The fields that are selected one by one."""
        return self.selection.slugs if self.selection else frozenset()

    @property
    def slugs(self) -> frozenset[str]:
        """The fields that content types must have."""
        return self.selected.union(*self.paths)

    def select(self, entry: wire.Entry) -> Any:
        return entry if self.selection is None else self.selection.of(entry)


def shape(query: Query, entry: type[wire.Entry]) -> Shape | None:
    """None for a plain response. ``entry``: as the body has it. Raises BadRequest."""
    selection, paths = parse_select(query, entry), parse_include(query)
    return Shape(selection, paths) if selection or paths else None


async def checked_fields(
    pool: Pool, scope: Scope, shape: Shape, type_slug: str | None
) -> NamedFields:
    """The fields that the shape names. ``type_slug``: of all entries of the page, or None. Raises
    BadRequest, TypeNotFound."""
    known = await named_fields(pool, scope, shape.slugs, type_slug)
    types = None if type_slug is None else frozenset((type_slug,))
    selectable = {
        slug
        for (of_type, slug), field in known.fields.items()
        if field.spec.holds_values and (types is None or of_type in types)
    }
    for slug in sorted(shape.selected - selectable):
        slugs = await field_slugs(pool, scope, types, _SELECTABLE, MAX_LISTED + 1)
        raise unknown_field(slug, slugs)
    for path in shape.paths:
        unknown = unknown_step(path, known.fields, types)
        if unknown is not None:
            slugs = await field_slugs(pool, scope, unknown.types, _LEADING, MAX_LISTED + 1)
            raise refused_step(unknown, one_of(slugs))
    return known


def past_body(
    shape: Shape | None, body: wire.SingleBody, content_type: ContentType
) -> wire.SingleBody:
    """An entry of the past with this type. Raises BadRequest."""
    if shape is None:
        return body
    check_past(shape, [content_type])
    return replace(body, data=shape.select(body.data))


def check_past(shape: Shape, types: Sequence[ContentType]) -> None:
    """Checks the fields against the types of past entries. Raises BadRequest if there are entries,
    and none of their types has one of the fields."""
    known = {field.slug for one in types for field in value_fields(one.fields)}
    for slug in sorted(shape.selected - known if types else ()):
        raise unknown_field(slug, sorted(known))
