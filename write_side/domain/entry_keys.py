"""The keys of entries: of the built-in values and of the indexed fields (ADR 43)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Raw

from write_side.domain.definition import Field, Stage
from write_side.domain.entry import Entry
from write_side.domain.keys import (
    ENTRY_ID,
    ID,
    INCOMPARABLE,
    INSTANT,
    MISSING,
    NO_ELEMENTS,
    TEXT,
    Ordering,
    text_key,
    time_key,
)
from write_side.domain.rendering import stage_of
from write_side.domain.values import NULL

Keys: TypeAlias = tuple[bytes, ...]
"""The keys of one path of one entry, in their order and each once; at least one."""

BUILT_IN: dict[str, Ordering] = {
    "id": ENTRY_ID,
    "title": TEXT,
    "slug": TEXT,
    "stage": ID,
    "createdAt": INSTANT,
    "updatedAt": INSTANT,
    "publishedAt": INSTANT,
}
"""The paths that every entry has, with the order of their values."""
SEARCH = "q"
"""Stands for the words of entries among the paths that are brought up to date; it has no keys."""

_NOTHING: Keys = (MISSING,)
_ITEMS = msgspec.json.Decoder(list[Raw])
_ENDS = msgspec.json.Decoder(dict[str, Raw])


class EntryKeys:
    """The keys of the entries of one version of a content type.

    ``paths``: the built-in ones, then those of the indexed fields.
    """

    def __init__(self, fields: Iterable[Field], stages: Iterable[Stage]) -> None:
        self._stages = {stage.id: stage.id for stage in stages}
        self._indexed = [(field, _keys_of(field)) for field in fields if field.indexed]
        custom = (path for field, _ in self._indexed for path in paths_of(field))
        self.paths: tuple[str, ...] = (*BUILT_IN, *custom)

    def of(self, entry: Entry) -> list[Keys]:
        """The entry's keys at each of ``paths``."""
        stage = stage_of(self._stages, entry.status, entry.stage_id)
        published = entry.published_at
        keys: list[Keys] = [
            (text_key(entry.id),),
            (text_key(entry.title),),
            (text_key(entry.slug),),
            _NOTHING if stage is None else (text_key(stage),),
            (time_key(entry.created_at),),
            (time_key(entry.updated_at),),
            _NOTHING if published is None else (time_key(published),),
        ]
        for field, keys_of in self._indexed:
            keys += keys_of(entry.fields.get(field.slug, NULL))
        return keys


def paths_of(field: Field) -> tuple[str, ...]:
    """The paths at which a field can be compared: one, or the two ends of a range."""
    path = f"fields.{field.slug}"
    return (f"{path}.from", f"{path}.to") if field.range else (path,)


def _keys_of(field: Field) -> Callable[[Raw], Sequence[Keys]]:
    """The keys of a value of the field, at each of its paths."""
    ordering = field.spec.ordering
    assert ordering is not None, "the definition refuses to index other types"
    of_json = ordering.of_json

    def key(value: Raw) -> bytes:
        found = of_json(value)
        return INCOMPARABLE if found is None else found

    def one(value: Raw) -> Sequence[Keys]:
        return ((key(value),),)

    def many(value: Raw) -> Sequence[Keys]:
        return (tuple(sorted({key(item) for item in _ITEMS.decode(value)})) or (NO_ELEMENTS,),)

    def ends(value: Raw) -> Sequence[Keys]:
        both = _ENDS.decode(value)
        return ((key(both["from"]),), (key(both["to"]),))

    keys = ends if field.range else many if field.multiple else one
    nothing = (_NOTHING,) * len(paths_of(field))
    return lambda value: nothing if value == NULL else keys(value)
