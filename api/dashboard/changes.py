"""What has happened to an entry, in the words of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec
from msgspec import Raw, Struct

from read_side.content_types import FieldRow
from read_side.rendering import Stage
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
    changes: Iterable[Change], fields: Iterable[FieldRow], stages: Iterable[Stage]
) -> list[Step]:
    """What the type no longer has goes by its slug, or its id."""
    names = {field.slug: field.name for field in fields}
    stage_names = {stage.id: stage.name for stage in stages}
    return [
        Step(
            change.version,
            change.at,
            change.actor,
            change.action,
            [_difference(one, names, stage_names) for one in change.fields],
        )
        for change in changes
    ]


def _difference(
    change: FieldChange, names: Mapping[str, str], stages: Mapping[str, str]
) -> Difference:
    path, locale = change.field, ""
    if path.startswith("translations."):
        _, locale, path = path.split(".", 2)
    before, after = _text(change.before), _text(change.after)
    if path == "stage":
        before, after = (one and stages.get(one, one) for one in (before, after))
    slug = path.removeprefix("fields.")
    name = _NAMES[path] if path in _NAMES else names.get(slug, slug)
    return Difference(name, locale, before, after)


def _text(value: Raw) -> str | None:
    """A text as it is, anything else as its JSON; both cut where they are long."""
    raw = bytes(value)
    if raw in (b"null", b'""'):
        return None
    text = msgspec.json.decode(raw, type=str) if raw.startswith(b'"') else raw.decode()
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
