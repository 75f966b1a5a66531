"""The part of a value that a page shows. A value can be too large for a page.

Values are cut before anything is looked up or rendered, so large entries do not make a page slow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Raw, Struct

from api.dashboard.table_pages import number
from read_side.refusals import EntryNotFound
from write_side.domain.definition import Field, value_fields
from write_side.domain.rendering import stored_values
from write_side.domain.values import EMPTY, NULL, json_of, text_of, texts_of

ITEMS = 200
"""Elements of a repeater, or values of a multiple field."""
CHARACTERS = 10_000
"""Characters of one text."""
PAGE_CHARACTERS = 30_000
SHORT = 100
"""Characters of any value that are always shown."""
PAGE_VALUES = 2_000
_ITEMS = msgspec.json.Decoder(list[Raw])


class Excerpt(Struct):
    """``value`` are the items or characters from ``start`` to ``end`` of ``total``.

    ``path``: the field's slug, or ``faq.17.question`` for a value inside a repeater. ``elements``:
    what is shown of a repeater, field by field.
    """

    field: Field
    path: str
    value: Raw
    start: int = 0
    end: int = 0
    total: int = 0
    elements: list[list[Excerpt]] = []

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.end == self.total

    @property
    def is_empty(self) -> bool:
        return self.value in EMPTY

    def targets(self, kind: str) -> Iterator[str]:
        """The ids shown; ``kind``: of entries ("entry") or of files ("media")."""
        if self.field.spec.refers_to == kind and not self.is_empty:
            yield from texts_of(self.field, self.value)
        for element in self.elements:
            for part in element:
                yield from part.targets(kind)


class Truncator:
    """Cuts the values of one page."""

    def __init__(self) -> None:
        self._characters = PAGE_CHARACTERS
        self._values = PAGE_VALUES

    def excerpt(self, field: Field, value: Raw, path: str, start: int = 0) -> Excerpt:
        """The part that begins at an item or a character."""
        self._values -= 1
        if value in EMPTY:
            return Excerpt(field, path, value)
        if field.spec.is_nested:
            return self._elements(field, value, path, start)
        if field.multiple:
            items = _ITEMS.decode(value)
            shown = items[start : start + min(ITEMS, max(self._values, 0))]
            self._values -= len(shown)
            return Excerpt(field, path, json_of(shown), start, start + len(shown), len(items))
        is_text = bytes(value).startswith(b'"') and not field.spec.any_json
        text = text_of(value) if is_text else bytes(value).decode()
        shown_text = text[start : start + min(CHARACTERS, max(self._characters, SHORT))]
        self._characters -= len(shown_text)
        cut = json_of(shown_text) if is_text else Raw(shown_text.encode())
        return Excerpt(field, path, cut, start, start + len(shown_text), len(text))

    def _elements(self, field: Field, value: Raw, path: str, start: int) -> Excerpt:
        items, inner, elements = _ITEMS.decode(value), list(value_fields(field.fields)), []
        for index, item in enumerate(items[start : start + ITEMS], start):
            if self._values <= 0:
                break
            # An element stored under an older version of the type may have any fields.
            given = stored_values(item)
            elements.append(
                [
                    self.excerpt(part, given.get(part.slug, NULL), f"{path}.{index}.{part.slug}")
                    for part in inner
                ]
            )
            self._values -= 1
        shown = json_of([{}] * len(elements))
        return Excerpt(field, path, shown, start, start + len(elements), len(items), elements)


def value_at(fields: Iterable[Field], values: Mapping[str, Raw], path: str) -> tuple[Field, Raw]:
    """The field and the value at a path. Raises EntryNotFound."""
    slug, _, rest = path.partition(".")
    field = next((one for one in fields if one.slug == slug and one.spec.holds_values), None)
    if field is None:
        raise EntryNotFound
    value = values.get(slug, NULL)
    if not rest:
        return field, value
    text, _, inner = rest.partition(".")
    index = number(text)
    items = _ITEMS.decode(value) if field.spec.is_nested and value not in EMPTY else []
    if index is None or index >= len(items):
        raise EntryNotFound
    return value_at(field.fields, stored_values(items[index]), inner)
