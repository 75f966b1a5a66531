"""``X-Content-Ignored``: the members of ``fields`` that were ignored (§4.4), to show typos.

Names are percent-encoded, because they may be any text, and separated by commas. A name inside a
repeater follows the repeater's slug and a dot, once for all elements; a name in a translation
follows ``translations.fr-FR.``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from msgspec import Raw

from write_side.commands import CreateEntry, UpdateEntry
from write_side.dispatch import CommandResult
from write_side.domain.definition import Field, translatable
from write_side.domain.values import unknown_members

HEADER = "X-Content-Ignored"
MAX_LENGTH = 1_000
"""Characters of names; "+3" at the end means three more."""
EMPTY = '""'
MAX_REPEATER = 64 * 1024
"""Bytes; members of larger repeaters are not named, because that would block the event loop."""


def ignored_names(command: CreateEntry | UpdateEntry, executed: CommandResult) -> Iterator[str]:
    """The members that an executed command ignored."""
    assert executed.content_type is not None
    fields = executed.content_type.value_fields
    yield from _ignored(fields, command.fields)
    for locale, translation in command.translations.items():
        for name in _ignored(translatable(fields), translation.fields):
            yield f"translations.{locale}.{name}"


def ignored_header(ignored: Iterable[str]) -> dict[str, str]:
    """The header with these names without repetitions; empty if there are none."""
    names = list(dict.fromkeys(ignored))
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
    for path in unknown_members(fields, values, MAX_REPEATER):
        yield ".".join(quote(name, safe="", errors="replace") or EMPTY for name in path)
