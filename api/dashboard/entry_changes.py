"""The changes of an entry as its page shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Raw, Struct

from api.dashboard.reference_names import with_names
from write_side.domain.changes import Change, FieldChange
from write_side.domain.definition import Field, Stage

MAX_LENGTH = 400
_NAMES = {"title": "Title", "slug": "Slug", "status": "Status", "stage": "Stage"}


class FieldDifference(Struct, frozen=True):
    """``before`` and ``after`` are text, None for no value. ``locale``: of a translation."""

    name: str
    locale: str
    before: str | None
    after: str | None


def differences_of(
    change: Change,
    fields: Iterable[Field],
    stages: Iterable[Stage],
    names: Mapping[str, str],
) -> list[FieldDifference]:
    """Fields and stages that were removed are shown by slug or id. ``names``: of referenced
    entries and media, by id."""
    known = {field.slug: field for field in fields}
    stage_names = {stage.id: stage.name for stage in stages}
    return [_difference(one, known, stage_names, names) for one in change.fields]


def _difference(
    change: FieldChange,
    fields: Mapping[str, Field],
    stages: Mapping[str, str],
    names: Mapping[str, str],
) -> FieldDifference:
    path, locale = _path_and_locale(change)
    before, after = _text(change.before), _text(change.after)
    if path == "stage":
        before, after = (one and stages.get(one, one) for one in (before, after))
    slug = path.removeprefix("fields.")
    field = None if path in _NAMES else fields.get(slug)
    if field is not None and field.spec.refers_to:
        before = _cut(with_names(change.before, names)) or before
        after = _cut(with_names(change.after, names)) or after
    name = _NAMES.get(path, field.name if field else slug)
    return FieldDifference(name, locale, before, after)


def values_of(changes: Iterable[Change], fields: Iterable[Field]) -> Iterator[tuple[Field, Raw]]:
    """The values of fields before and after, each with its field."""
    known = {f"fields.{field.slug}": field for field in fields}
    for change in changes:
        for one in change.fields:
            field = known.get(_path_and_locale(one)[0])
            if field is not None:
                yield from ((field, one.before), (field, one.after))


def _path_and_locale(change: FieldChange) -> tuple[str, str]:
    if not change.field.startswith("translations."):
        return change.field, ""
    _, locale, path = change.field.split(".", 2)
    return path, locale


def _text(value: Raw) -> str | None:
    """A string as it is, any other value as JSON."""
    raw = bytes(value)
    if raw in (b"null", b'""'):
        return None
    text = msgspec.json.decode(raw, type=str) if raw.startswith(b'"') else raw.decode()
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else text[:MAX_LENGTH] + "…"
