"""What has happened to an entry, in the words of a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import msgspec
from msgspec import Raw, Struct

from api.dashboard.pointing import in_names
from write_side.domain.definition import Field, Stage
from write_side.domain.history import Change, FieldChange

LONGEST = 400
_NAMES = {"title": "Title", "slug": "Slug", "status": "Status", "stage": "Stage"}


class Difference(Struct, frozen=True):
    """``before`` and ``after`` as text; None for nothing. ``locale`` of a translation."""

    name: str
    locale: str
    before: str | None
    after: str | None


class Step(Struct, frozen=True):
    version: int
    at: datetime
    actor: str
    action: str
    differences: list[Difference]


def steps(
    changes: Iterable[Change],
    fields: Iterable[Field],
    stages: Iterable[Stage],
    pointed: Mapping[str, str],
) -> list[Step]:
    """What the type no longer has goes by its slug, or its id; ``pointed``: id → name."""
    known = {field.slug: field for field in fields}
    stage_names = {stage.id: stage.name for stage in stages}
    return [
        Step(
            change.version,
            change.at,
            change.actor,
            change.action,
            [_difference(one, known, stage_names, pointed) for one in change.fields],
        )
        for change in changes
    ]


def _difference(
    change: FieldChange,
    fields: Mapping[str, Field],
    stages: Mapping[str, str],
    pointed: Mapping[str, str],
) -> Difference:
    path, locale = _place(change)
    before, after = _text(change.before), _text(change.after)
    if path == "stage":
        before, after = (one and stages.get(one, one) for one in (before, after))
    slug = path.removeprefix("fields.")
    field = None if path in _NAMES else fields.get(slug)
    if field is not None and field.spec.refers_to:
        before = _cut(in_names(change.before, pointed)) or before
        after = _cut(in_names(change.after, pointed)) or after
    name = _NAMES.get(path, field.name if field else slug)
    return Difference(name, locale, before, after)


def values_of(changes: Iterable[Change], fields: Iterable[Field]) -> Iterator[tuple[Field, Raw]]:
    """The values of the fields before and after, with their fields."""
    known = {f"fields.{field.slug}": field for field in fields}
    for change in changes:
        for one in change.fields:
            field = known.get(_place(one)[0])
            if field is not None:
                yield from ((field, one.before), (field, one.after))


def _place(change: FieldChange) -> tuple[str, str]:
    """Path and locale."""
    if not change.field.startswith("translations."):
        return change.field, ""
    _, locale, path = change.field.split(".", 2)
    return path, locale


def _text(value: Raw) -> str | None:
    """A text as it is, anything else as its JSON; both cut where they are long."""
    raw = bytes(value)
    if raw in (b"null", b'""'):
        return None
    text = msgspec.json.decode(raw, type=str) if raw.startswith(b'"') else raw.decode()
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
