"""``select``: only some members of each entry (behaviour.md, "Select")."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

import msgspec
from msgspec import Raw, Struct

from api.errors import BadRequest
from api.rest import wire
from api.rest.parameters import Query
from write_side.domain.identity import is_slug
from write_side.domain.refusals import shortened

MAX_NAMES = 50
ALWAYS = "id"
FIELDS = "fields"
_PREFIX = f"{FIELDS}."
_VALUES = msgspec.json.Decoder(dict[str, Raw])


class Selection(Struct, frozen=True):
    """``members`` by their names in JSON; ``slugs`` of the fields that were named one by one."""

    members: frozenset[str]
    slugs: frozenset[str]

    @property
    def key(self) -> str:
        """Equal for all texts that select the same members."""
        return ",".join(sorted({*self.members, *(_PREFIX + slug for slug in self.slugs)}))

    def of(self, entry: wire.Entry) -> dict[str, object]:
        """The selected members, in the order of the whole entry; the JSON of values is kept."""
        shown: dict[str, object] = {}
        for name, encoded in members_of(type(entry)).items():
            value = getattr(entry, name)
            if encoded in self.members:
                shown[encoded] = value
            elif encoded == FIELDS and self.slugs:
                shown[encoded] = self._values(value)
        return shown

    def _values(self, fields: Raw) -> dict[str, Raw]:
        values = _VALUES.decode(fields)
        return {slug: value for slug, value in values.items() if slug in self.slugs}


@cache
def members_of(entry: type[wire.Entry]) -> dict[str, str]:
    """The names in JSON, by those of the attributes."""
    return {field.name: field.encode_name for field in msgspec.structs.fields(entry)}


def parse_select(query: Query, entry: type[wire.Entry]) -> Selection | None:
    """``entry``: as the body has it. Raises BadRequest."""
    text = query.get("select")
    if not text:
        return None
    names, known = text.split(","), members_of(entry).values()
    if len(names) > MAX_NAMES:
        raise BadRequest(f"select has {len(names)} names; the limit is {MAX_NAMES}")
    slugs = {name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX)}
    for name in names:
        if name not in known and not (name.startswith(_PREFIX) and is_slug(name[len(_PREFIX) :])):
            raise BadRequest(
                f"Unknown member '{shortened(name)}' in select: use {', '.join(known)} "
                f"or {_PREFIX}SLUG for one field"
            )
    return Selection(frozenset({ALWAYS, *names} & {*known}), frozenset(slugs))


def unknown_field(slug: str, known: Collection[str]) -> BadRequest:
    """``known``: the slugs of fields that may be selected."""
    return BadRequest(f"Unknown field '{_PREFIX}{slug}' in select: {one_of(known)}")


MAX_LISTED = 30


def one_of(slugs: Collection[str]) -> str:
    """The end of a message: what is allowed, bounded."""
    if not slugs:
        return "there are none"
    listed = ", ".join(list(slugs)[:MAX_LISTED])
    return f"use one of {listed}{' and others' if len(slugs) > MAX_LISTED else ''}"
