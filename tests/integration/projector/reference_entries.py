"""The rules of behaviour.md for an entry: slug, order, stage, publishing, translations."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.integration.projector.reference_values import (
    ExpectedRefusal,
    Values,
    accepted,
    as_json,
    missing_required,
    translatable,
)

Entry = dict[str, Any]
Type = dict[str, Any]


def newest_first(entries: list[Entry]) -> list[Entry]:
    """Newest first. Entries of the same millisecond: the later one in the log first."""
    numbered = sorted(enumerate(entries), key=lambda one: (one[1]["created"], one[0]))
    return [entry for _, entry in reversed(numbered)]


def slug_of(title: str) -> str:
    return "".join(one if one.isalnum() else "-" for one in title.lower())


def published(before: Entry, status: str, at: datetime) -> datetime | None:
    """``publishedAt`` is set by the first publishing and by each publishing from draft. Archiving
    keeps it."""
    publishing = status == "published" and before["status"] != "published"
    if publishing and (before["status"] == "draft" or before["published"] is None):
        return at
    found: datetime | None = before["published"]
    return found


def stage_of(entry: Entry, type_: Type) -> str | None:
    """None for an archived entry, and without a workflow; the first stage if the entry's stage does
    not exist."""
    if entry["status"] == "archived" or not type_["stages"]:
        return None
    found: str = entry["stage"] if entry["stage"] in type_["stages"] else type_["stages"][0]
    return found


def translate(entry: Entry, type_: Type, locale: str, texts: Values) -> None:
    """None leaves the title unchanged and "" removes it; both "" and null remove the text of a
    field."""
    if locale == entry["language"]:
        raise ExpectedRefusal(400)
    before = entry["texts"].get(locale, {"title": None, "fields": {}})
    title = before["title"] if texts["title"] is None else texts["title"] or None
    fields = {**before["fields"], **accepted(translatable(type_["fields"]), texts["fields"])}
    fields = {slug: text for slug, text in fields.items() if text is not None and text != ""}
    entry["texts"] = {**entry["texts"], locale: {"title": title, "fields": fields}}
    if not title and not fields:
        del entry["texts"][locale]


def missing_fields(type_: Type, fields: Values) -> list[str]:
    return missing_required(type_["fields"], fields)


def content_of(entry: Entry) -> tuple[Any, ...]:
    """All content of an entry. If it is unchanged, no event is recorded."""
    texts = {code: (of["title"], as_json(of["fields"])) for code, of in entry["texts"].items()}
    named = tuple(entry[what] for what in ("title", "slug", "status", "stage"))
    return (*named, as_json(entry["fields"]), texts)
