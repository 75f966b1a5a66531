"""An entry's values as they are served: every field of its type, in the type's order (§2.1).

Rendered when projected, and again on reading where the type has changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

TEXT = frozenset({"text", "rich_text"})

_NULL = b"null"
_NONE = Raw(b"[]")
_NULL_VALUE = Raw(_NULL)
_EMPTY = (b"null", b'""')
_encode = msgspec.json.Encoder().encode
_ELEMENTS = msgspec.json.Decoder(list[dict[str, Raw]])
_VALUES = msgspec.json.Decoder(dict[str, Raw])


class Shape(Struct, frozen=True):
    """What rendering needs to know of a field."""

    slug: str
    type: str
    multiple: bool = False
    fields: tuple[Shape, ...] = ()


class Texts(Struct, frozen=True):
    """A translation as it is stored: what it lacks is shown in the original."""

    title: str | None = None
    fields: dict[str, Raw] = {}


class Stage(Struct, frozen=True):
    id: str
    name: str


_SHAPES = msgspec.json.Decoder(tuple[Shape, ...])
_STAGES = msgspec.json.Decoder(tuple[Stage, ...])


class Renderer:
    """Renders the entries of one version of a content type."""

    def __init__(self, shapes: Iterable[Shape], stages: Iterable[Stage] = ()) -> None:
        self._shapes = tuple(shape for shape in shapes if shape.type != "section")
        self._nothing = {shape.slug: _nothing(shape) for shape in self._shapes}
        self._many = [slug for slug, nothing in self._nothing.items() if nothing is _NONE]
        self._repeaters = [shape for shape in self._shapes if shape.type == "repeater"]
        self._translatable = tuple(filter(_is_translatable, self._shapes))
        self._stages = {stage.id: Raw(msgspec.json.encode(stage)) for stage in stages}

    @classmethod
    def of_json(cls, fields: str | bytes, stages: str | bytes) -> Renderer:
        """From a content type's fields and stages as the read model keeps them."""
        return cls(_SHAPES.decode(fields), _STAGES.decode(stages))

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
        for shape in self._repeaters:
            if shape.slug in values:
                values[shape.slug] = _shown(shape, values[shape.slug])
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
    shapes: Sequence[Shape], original: Mapping[str, Raw], texts: Mapping[str, Raw]
) -> dict[str, Raw]:
    merged: dict[str, Raw] = {}
    for shape in shapes:
        text = texts.get(shape.slug)
        if text is None or bytes(text) in _EMPTY:
            continue
        if shape.type in TEXT:
            merged[shape.slug] = text
        elif shape.slug in original:
            merged[shape.slug] = _merged_elements(shape, original[shape.slug], text)
    return merged


def _merged_elements(shape: Shape, original: Raw, texts: Raw) -> Raw:
    """Element by element; where their numbers differ, nobody knows which text is whose."""
    if bytes(original) == _NULL:
        return original
    elements, translated = _ELEMENTS.decode(original), _ELEMENTS.decode(texts)
    if len(elements) != len(translated):
        return original
    inner = tuple(filter(_is_translatable, shape.fields))
    return Raw(
        msgspec.json.encode(
            [
                {**element, **_merged(inner, element, text)}
                for element, text in zip(elements, translated, strict=True)
            ]
        )
    )


def _shown(shape: Shape, value: Raw) -> Raw:
    """The value without what a repeater's elements hold of fields that were removed from it; the
    very same bytes where there is none."""
    if shape.type != "repeater" or bytes(value) == _NULL:
        return value
    elements = _ELEMENTS.decode(value)
    shown = [_shown_element(shape.fields, element) for element in elements]
    return value if shown == elements else Raw(msgspec.json.encode(shown))


def _shown_element(shapes: Sequence[Shape], element: Mapping[str, Raw]) -> dict[str, Raw]:
    known = {shape.slug: shape for shape in shapes}
    return {slug: _shown(known[slug], value) for slug, value in element.items() if slug in known}


def _nothing(shape: Shape) -> Raw:
    many = shape.type == "repeater" or (shape.type == "reference" and shape.multiple)
    return _NONE if many else _NULL_VALUE


def _is_translatable(shape: Shape) -> bool:
    return shape.type in TEXT or (
        shape.type == "repeater" and any(map(_is_translatable, shape.fields))
    )
