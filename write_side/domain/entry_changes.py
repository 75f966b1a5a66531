"""The history of an entry, change by change, in terms for its readers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec
from msgspec import Raw, Struct

from write_side.domain.entry import Entry
from write_side.domain.events import EntryCreated, EntryDeleted, EntryEvent, EntryUpdated
from write_side.domain.identity import Actor
from write_side.domain.values import NULL, json_of


class FieldChange(Struct, frozen=True):
    """``field``: ``title``, ``slug``, ``status``, ``stage``, ``fields.<slug>``,
    ``translations.<locale>.title`` or ``translations.<locale>.fields.<slug>``.

    Values are JSON exactly as stored; null if there is none.
    """

    field: str
    before: Raw
    after: Raw


class Change(Struct, frozen=True):
    version: int
    at: datetime
    actor: str
    action: str
    fields: tuple[FieldChange, ...]


def change(before: Entry | None, event: EntryEvent, after: Entry) -> Change:
    """The change that an event made; ``before`` is None for the event that created the entry."""
    return Change(
        version=after.version,
        at=event.at,
        actor=actor_name(event.actor),
        action=_action(before, event),
        fields=tuple(differences(before, after)),
    )


def actor_name(actor: Actor) -> str:
    """The name of a key; for imports and operators, the kind and the name."""
    name = actor.name or actor.id
    return name if actor.kind == "key" else f"{actor.kind} {name}"


def _action(before: Entry | None, event: EntryEvent) -> str:
    """The most important part of the change: status before texts, texts before stage."""
    match event:
        case EntryCreated():
            return "created"
        case EntryDeleted():
            return "deleted"
        case EntryUpdated(status="published" | "archived" as status):
            return status
        case EntryUpdated(status="draft"):
            is_restored = before is not None and before.status == "archived"
            return "restored" if is_restored else "unpublished"
    if event.title is not msgspec.UNSET or event.slug is not msgspec.UNSET or event.fields:
        return "updated"
    if event.translations:
        return "updated" if event.stage_id is not msgspec.UNSET else "translated"
    return "moved"


def differences(before: Entry | None, after: Entry) -> Iterator[FieldChange]:
    old, new = _contents(before, after), _contents(after, before)
    for field in {**old, **new}:
        was, is_now = old.get(field, NULL), new.get(field, NULL)
        if was != is_now:
            yield FieldChange(field, was, is_now)


def _contents(entry: Entry | None, other: Entry | None) -> dict[str, Raw]:
    """All values of an entry, by their path in the history; none for a deleted entry. Omits
    the translations that it shares with ``other``: there may be thousands of texts, and an event
    changes few of them."""
    if entry is None or entry.deleted:
        return {}
    found = {
        "title": json_of(entry.title),
        "slug": json_of(entry.slug),
        "status": json_of(entry.status),
        "stage": json_of(entry.stage_id),
    }
    found |= {f"fields.{slug}": value for slug, value in entry.fields.items()}
    shared = {} if other is None or other.deleted else other.translations
    for locale, translation in entry.translations.items():
        if shared.get(locale) is translation:
            continue
        within = f"translations.{locale}"
        found[f"{within}.title"] = json_of(translation.title)
        found |= {f"{within}.fields.{slug}": value for slug, value in translation.fields.items()}
    return found
