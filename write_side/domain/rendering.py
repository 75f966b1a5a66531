"""An entry's values as they are served: every field of its type, in the type's order (§2.1).

Rendered when projected, and again on reading where the type has changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw

from write_side.domain.definition import Field, Stage

TEXT = frozenset({"text", "rich_text"})

_NULL = b"null"
_NONE = Raw(b"[]")
_NULL_VALUE = Raw(_NULL)
_EMPTY = (b"null", b'""')
_encode = msgspec.json.Encoder().encode
_ELEMENTS = msgspec.json.Decoder(list[dict[str, Raw]])
_VALUES = msgspec.json.Decoder(dict[str, Raw])


_FIELDS = msgspec.json.Decoder(tuple[Field, ...])
_STAGES = msgspec.json.Decoder(tuple[Stage, ...])


class Renderer:
    """Renders the entries of one version of a content type."""

    def __init__(self, fields: Iterable[Field], stages: Iterable[Stage] = ()) -> None:
        self._fields = tuple(field for field in fields if field.type != "section")
        self._nothing = {field.slug: _nothing(field) for field in self._fields}
        self._many = [slug for slug, nothing in self._nothing.items() if nothing is _NONE]
        self._repeaters = [field for field in self._fields if field.type == "repeater"]
        self._translatable = tuple(filter(_is_translatable, self._fields))
        self._stages = {stage.id: Raw(msgspec.json.encode(stage)) for stage in stages}

    @classmethod
    def of_json(cls, fields: str | bytes, stages: str | bytes) -> Renderer:
        """From a content type's fields and stages as the read model keeps them."""
        return cls(_FIELDS.decode(fields), _STAGES.decode(stages))

    def render(self, stored: Mapping[str, Raw]) -> bytes:
        """A JSON object with every field; nothing saved is null, or [] where many would be."""
        shown = {**self._nothing, **self.shown(stored)}
        for slug in self._many:
            if bytes(shown[slug]) == _NULL:
                shown[slug] = _NONE
        return _encode(shown)

    def shown(self, stored: Mapping[str, Raw]) -> dict[str, Raw]:
        """Of the stored values those of the type's fields, and of their repeaters' own."""
        values = {slug: value for slug, value in stored.items() if slug in self._nothing}
        for field in self._repeaters:
            if field.slug in values:
                values[field.slug] = _shown(field, values[field.slug])
        return values

    def stage(self, status: str, stage_id: str | None) -> Raw | None:
        """None without a workflow and in the archive (§2.1). An entry from before the workflow,
        or in a stage that is gone, is in the first stage."""
        if status == "archived" or not self._stages:
            return None
        first = next(iter(self._stages.values()))
        return first if stage_id is None else self._stages.get(stage_id, first)

    def translated(self, stored: Mapping[str, Raw], texts: Mapping[str, Raw]) -> dict[str, Raw]:
        """The stored values with the translation's texts wherever it has one (readings)."""
        return {**stored, **_merged(self._translatable, stored, texts)}


def stored_values(stored: str | bytes) -> dict[str, Raw]:
    return _VALUES.decode(stored)


def _merged(
    fields: Sequence[Field], original: Mapping[str, Raw], texts: Mapping[str, Raw]
) -> dict[str, Raw]:
    merged: dict[str, Raw] = {}
    for field in fields:
        text = texts.get(field.slug)
        if text is None or bytes(text) in _EMPTY:
            continue
        if field.type in TEXT:
            merged[field.slug] = text
        elif field.slug in original:
            merged[field.slug] = _merged_elements(field, original[field.slug], text)
    return merged


def _merged_elements(field: Field, original: Raw, texts: Raw) -> Raw:
    """Element by element; where their numbers differ, nobody knows which text is whose."""
    if bytes(original) == _NULL:
        return original
    elements, translated = _ELEMENTS.decode(original), _ELEMENTS.decode(texts)
    if len(elements) != len(translated):
        return original
    inner = tuple(filter(_is_translatable, field.fields))
    return Raw(
        msgspec.json.encode(
            [
                {**element, **_merged(inner, element, text)}
                for element, text in zip(elements, translated, strict=True)
            ]
        )
    )


def _shown(field: Field, value: Raw) -> Raw:
    """The value without what a repeater's elements hold of fields that were removed from it; the
    very same bytes where there is none."""
    if field.type != "repeater" or bytes(value) == _NULL:
        return value
    elements = _ELEMENTS.decode(value)
    shown = [_shown_element(field.fields, element) for element in elements]
    return value if shown == elements else Raw(msgspec.json.encode(shown))


def _shown_element(fields: Sequence[Field], element: Mapping[str, Raw]) -> dict[str, Raw]:
    known = {field.slug: field for field in fields}
    return {slug: _shown(known[slug], value) for slug, value in element.items() if slug in known}


def _nothing(field: Field) -> Raw:
    many = field.type == "repeater" or (field.type == "reference" and field.multiple)
    return _NONE if many else _NULL_VALUE


def _is_translatable(field: Field) -> bool:
    return field.type in TEXT or (
        field.type == "repeater" and any(map(_is_translatable, field.fields))
    )
