"""``include``: paths of reference and media fields (behaviour.md, "Include")."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise

from msgspec import Struct

from api.errors import BadRequest
from api.rest import parameters
from api.rest.parameters import Query
from write_side.domain.definition import Field
from write_side.domain.identity import is_slug
from write_side.domain.refusals import shortened

MAX_PATHS = 10
MAX_LEVELS = 3

Path = tuple[str, ...]
Fields = Mapping[tuple[str, str], Field]
"""Fields by the slugs of content type and field."""


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
        leading = leading_fields(path, number, fields, types)
        if isinstance(leading, UnknownStep):
            return leading
        types = _targets(leading)
    return None


def leading_fields(
    path: Path, number: int, fields: Fields, types: frozenset[str] | None
) -> list[Field] | UnknownStep:
    """The fields of these types that the path may mean at ``number``, counted from 1."""
    slug = path[number - 1]
    found = [
        field
        for (type_slug, field_slug), field in fields.items()
        if field_slug == slug and (types is None or type_slug in types)
    ]
    needed = ("entry",) if number < len(path) else ("entry", "media")
    leading = [field for field in found if field.spec.refers_to in needed]
    return leading or UnknownStep(path, slug, types, found[0] if found else None)


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
