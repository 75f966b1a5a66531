"""What behaviour.md says of an entry: its slug, order, stage, publishing, translations."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.integration.projector.reference_values import (
    No,
    Values,
    accepted,
    as_sent,
    lacking,
    translatable,
)

Entry = dict[str, Any]
Type = dict[str, Any]


def newest_first(entries: list[Entry]) -> list[Entry]:
    """Newest created first; of the same millisecond, the later in the log first."""
    numbered = sorted(enumerate(entries), key=lambda one: (one[1]["created"], one[0]))
    return [entry for _, entry in reversed(numbered)]


def slug_of(title: str) -> str:
    return "".join(one if one.isalnum() else "-" for one in title.lower())


def published(before: Entry, status: str, at: datetime) -> datetime | None:
    """The first time, and again on every republish from draft; archiving keeps it."""
    publishing = status == "published" and before["status"] != "published"
    if publishing and (before["status"] == "draft" or before["published"] is None):
        return at
    found: datetime | None = before["published"]
    return found


def stage_of(entry: Entry, type_: Type) -> str | None:
    """None in the archive and without a workflow; else the first where it has none that is."""
    if entry["status"] == "archived" or not type_["stages"]:
        return None
    found: str = entry["stage"] if entry["stage"] in type_["stages"] else type_["stages"][0]
    return found


def translate(entry: Entry, type_: Type, locale: str, texts: Values) -> None:
    """None leaves a title; "" takes it back, as it and null do with a field's text."""
    if locale == entry["language"]:
        raise No(400)
    before = entry["texts"].get(locale, {"title": None, "fields": {}})
    title = before["title"] if texts["title"] is None else texts["title"] or None
    fields = {**before["fields"], **accepted(translatable(type_["fields"]), texts["fields"])}
    fields = {slug: text for slug, text in fields.items() if text is not None and text != ""}
    entry["texts"] = {**entry["texts"], locale: {"title": title, "fields": fields}}
    if not title and not fields:
        del entry["texts"][locale]


def lacks(type_: Type, fields: Values) -> list[str]:
    return lacking(type_["fields"], fields)


def saying(entry: Entry) -> tuple[Any, ...]:
    """All that an entry says: where that stays as it is, nothing has happened."""
    texts = {code: (of["title"], as_sent(of["fields"])) for code, of in entry["texts"].items()}
    named = tuple(entry[what] for what in ("title", "slug", "status", "stage"))
    return (*named, as_sent(entry["fields"]), texts)
