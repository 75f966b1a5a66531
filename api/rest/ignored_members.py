"""``X-Content-Ignored``: the members of ``fields`` that were ignored (§4.4), to show typos.

Names are percent-encoded, because they may be any text, and separated by commas. A name inside a
repeater follows the repeater's slug and a dot, once for all elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from msgspec import Raw

from write_side.domain.definition import Field
from write_side.domain.values import elements, is_null

HEADER = "X-Content-Ignored"
MAX_LENGTH = 1_000
"""Characters of names; "+3" at the end means three more."""
EMPTY = '""'
MAX_REPEATER = 64 * 1024
"""Bytes; members of larger repeaters are not named, because that would block the event loop."""


def ignored_header(fields: Iterable[Field], values: Mapping[str, Raw]) -> dict[str, str]:
    """The header, or nothing. ``values`` must fit the fields."""
    names = list(dict.fromkeys(_ignored(fields, values)))
    shown: list[str] = []
    length = 0
    for name in names:
        length += len(name) + len(", ")
        if length > MAX_LENGTH:
            shown.append(f"+{len(names) - len(shown)}")
            break
        shown.append(name)
    return {HEADER: ", ".join(shown)} if shown else {}


def _ignored(fields: Iterable[Field], values: Mapping[str, Raw]) -> Iterator[str]:
    known = {field.slug: field for field in fields if field.spec.holds_values}
    for slug, value in values.items():
        field = known.get(slug)
        if field is None:
            yield quote(slug, safe="", errors="replace") or EMPTY
        elif field.spec.is_nested and not is_null(value) and len(bytes(value)) <= MAX_REPEATER:
            for element in elements(value):
                yield from (f"{slug}.{name}" for name in _ignored(field.fields, element))
