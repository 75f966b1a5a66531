"""``select`` and ``include`` of one request: only some members of each entry, and what the entries
refer to (behaviour.md, "Select" and "Include")."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Struct

from api.errors import BadRequest
from api.rest import parameters, wire
from api.rest.parameters import Query
from read_side.content_types import NamedFields, field_slugs, named_fields
from read_side.pool import Pool
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field, value_fields
from write_side.domain.field_types import FIELD_TYPES
from write_side.domain.identity import Scope, is_slug
from write_side.domain.refusals import shortened
from write_side.domain.rendering import stored_values

MAX_PATHS = 10
MAX_LEVELS = 3
MAX_NAMES = 50
MAX_LISTED = 30
ALWAYS = "id"
FIELDS = "fields"
_PREFIX = f"{FIELDS}."
_REFERRING = [name for name, spec in FIELD_TYPES.items() if spec.refers_to]
_SELECTABLE = [name for name, spec in FIELD_TYPES.items() if spec.holds_values]
Path = tuple[str, ...]
Fields = Mapping[tuple[str, str], Field]
"""Fields by the slugs of content type and field."""


# Not tracked by the garbage collector, because each cached response has one (``CachedResponse``).
class Shape(Struct, frozen=True, gc=False):
    """Equal for all requests that mean the same. ``members``: the selected ones by their names in
    JSON, sorted, None for all; ``selected``: the slugs of the fields that are selected one by one,
    sorted; ``paths``: what is included."""

    members: tuple[str, ...] | None
    selected: tuple[str, ...]
    paths: tuple[Path, ...]

    @property
    def is_plain(self) -> bool:
        return self.members is None and not self.paths

    @property
    def slugs(self) -> frozenset[str]:
        """The fields that content types must have."""
        return frozenset(self.selected).union(*self.paths)

    def select(self, entry: wire.Entry) -> Any:
        """The selected members, in the order of the whole entry; the JSON of values is kept."""
        if self.members is None:
            return entry
        shown: dict[str, object] = {}
        for name, encoded in members_of(type(entry)).items():
            value = getattr(entry, name)
            if encoded in self.members:
                shown[encoded] = value
            elif encoded == FIELDS and self.selected:
                values = stored_values(value)
                shown[encoded] = {slug: values[slug] for slug in values if slug in self.selected}
        return shown


@cache
def members_of(entry: type[wire.Entry]) -> dict[str, str]:
    """Names of attributes → names in JSON."""
    return {field.name: field.encode_name for field in msgspec.structs.fields(entry)}


def parse_shape(query: Query, entry: type[wire.Entry]) -> Shape:
    """``entry``: the type of the entries in the body. Raises BadRequest."""
    text = query.get("select")
    if not text:
        return Shape(None, (), parse_include(query))
    names, known = parameters.names(text), members_of(entry).values()
    if len(names) > MAX_NAMES:
        raise BadRequest(f"select has {len(names)} names; the limit is {MAX_NAMES}")
    slugs = {name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX)}
    for name in names:
        if name not in known and not (name.startswith(_PREFIX) and is_slug(name[len(_PREFIX) :])):
            raise BadRequest(
                f"Unknown member '{shortened(name)}' in select: use {', '.join(known)} "
                f"or {_PREFIX}SLUG for one field"
            )
    members = tuple(sorted({ALWAYS, *names} & {*known}))
    return Shape(members, tuple(sorted(slugs)), parse_include(query))


class Step(Struct, eq=False):
    """Entries that a path reaches. ``next``: the fields that lead on from there."""

    next: dict[str, Step]

    def slugs(self) -> set[str]:
        """The slugs of all fields from here on."""
        return {*self.next}.union(*(step.slugs() for step in self.next.values()))


class UnknownStep(Struct, frozen=True):
    """The first field of a path that leads nowhere. ``types``: the slugs of the content types in
    which it was looked for, None for all; ``field``: what they have under this slug."""

    path: Path
    slug: str
    types: frozenset[str] | None
    field: Field | None


def parse_include(query: Query) -> tuple[Path, ...]:
    """Sorted, without those that begin another. Raises BadRequest."""
    value = query.get("include")
    if not value:
        return ()
    texts = parameters.names(value)
    if len(texts) > MAX_PATHS:
        raise BadRequest(f"include has {len(texts)} paths; the limit is {MAX_PATHS}")
    paths = sorted({_path(text) for text in texts})
    # What begins with a path follows it in this order.
    return tuple(
        path for path, following in pairwise([*paths, ()]) if following[: len(path)] != path
    )


def _path(text: str) -> Path:
    path = tuple(text.split("."))
    if not all(map(is_slug, path)):
        raise BadRequest(
            f"Unknown path '{shortened(text)}' in include: use the slugs of reference and "
            "media fields, separated by dots"
        )
    if len(path) > MAX_LEVELS:
        raise BadRequest(
            f"The path '{shortened(text)}' in include has {len(path)} levels; "
            f"the limit is {MAX_LEVELS}"
        )
    return path


def steps_of(paths: Iterable[Path]) -> Step:
    """The paths as a tree, which begins at the entries of the page."""
    start = Step({})
    for path in paths:
        step = start
        for slug in path:
            step = step.next.setdefault(slug, Step({}))
    return start


def unknown_step(path: Path, fields: Fields, types: frozenset[str] | None) -> UnknownStep | None:
    """None if some content type has each field of the path. ``types``: where the path begins; None
    for all."""
    for number in range(1, len(path) + 1):
        referring = referring_fields(path, number, fields, types)
        if isinstance(referring, UnknownStep):
            return referring
        types = _targets(referring)
    return None


def referring_fields(
    path: Path, number: int, fields: Fields, types: frozenset[str] | None
) -> list[Field] | UnknownStep:
    """The fields of these types that step ``number`` of the path, counted from 1, may mean:
    reference fields, and media fields for the last step."""
    slug = path[number - 1]
    found = [
        field
        for (type_slug, field_slug), field in fields.items()
        if field_slug == slug and (types is None or type_slug in types)
    ]
    needed = ("entry",) if number < len(path) else ("entry", "media")
    referring = [field for field in found if field.spec.refers_to in needed]
    return referring or UnknownStep(path, slug, types, found[0] if found else None)


def _targets(fields: Collection[Field]) -> frozenset[str] | None:
    """The content types to which they refer; None for all."""
    if not all(field.to for field in fields):
        return None
    return frozenset(slug for field in fields for slug in field.to)


def refused_step(unknown: UnknownStep, allowed: str) -> BadRequest:
    """``allowed``: what may stand there, in words."""
    field, path = unknown.field, ".".join(unknown.path)
    message = f"Unknown path '{path}' in include: "
    if field is None:
        return BadRequest(f"{message}there is no field '{unknown.slug}'; {allowed}")
    if field.spec.refers_to == "media":
        return BadRequest(f"{message}the media files of '{unknown.slug}' refer to nothing")
    if field.spec.is_nested:
        return BadRequest(
            f"{message}'{unknown.slug}' is a repeater, and references inside repeaters cannot be "
            f"included; {allowed}"
        )
    return BadRequest(f"{message}'{unknown.slug}' refers to nothing; {allowed}")


def one_of(slugs: Collection[str]) -> str:
    """The end of a message, with the first MAX_LISTED allowed slugs."""
    if not slugs:
        return "there are none"
    listed = ", ".join(list(slugs)[:MAX_LISTED])
    return f"use one of {listed}{' and others' if len(slugs) > MAX_LISTED else ''}"


def _unknown_field(slug: str, known: Collection[str]) -> BadRequest:
    """``known``: the slugs of fields that may be selected."""
    return BadRequest(f"Unknown field '{_PREFIX}{slug}' in select: {one_of(known)}")


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
    for slug in shape.selected:
        if slug not in selectable:
            slugs = await field_slugs(pool, scope, types, _SELECTABLE, MAX_LISTED + 1)
            raise _unknown_field(slug, slugs)
    for path in shape.paths:
        unknown = unknown_step(path, known.fields, types)
        if unknown is not None:
            slugs = await field_slugs(pool, scope, unknown.types, _REFERRING, MAX_LISTED + 1)
            raise refused_step(unknown, one_of(slugs))
    return known


def check_past(shape: Shape, types: Sequence[ContentType]) -> None:
    """Checks the selected fields against the types of past entries. Raises BadRequest if there are
    types, and none has one of the fields."""
    if not types or not shape.selected:
        return
    known = {field.slug for type_ in types for field in value_fields(type_.fields)}
    for slug in shape.selected:
        if slug not in known:
            raise _unknown_field(slug, sorted(known))
