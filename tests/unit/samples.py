"""Sample events, fields and values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw

from write_side.domain.definition import Field, Option, Stage
from write_side.domain.events import (
    ContentTypeCreated,
    EntryCreated,
    EntryDeleted,
    EntryUpdated,
    Plan,
    WorkspaceCreated,
)
from write_side.domain.identity import Actor, Scope

SCOPE = Scope("acme", "production")
OPERATOR = Actor("operator", "ann")
NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
LATER = datetime(2026, 1, 31, 13, 0, tzinfo=UTC)
LATEST = datetime(2026, 1, 31, 14, 0, tzinfo=UTC)
POSTS = "018f0000-0000-7000-8000-0000000000aa"
AUTHORS = "018f0000-0000-7000-8000-0000000000bb"
ENTRY = "018f0000-0000-7000-8000-000000000001"
AUTHOR = "018f0000-0000-7000-8000-000000000002"
NOBODY = "018f0000-0000-7000-8000-00000000dead"

TEXT = Field("body", "Body", "text")
FAQ = Field("faq", "FAQ", "repeater", fields=(Field("q", "Question", "text", required=True),))
STAGES = (Stage("writing", "Writing"), Stage("review", "Review"))
COLOURS = (Option("red", "Red"), Option("green", "Green"))


def raw(value: Any) -> Raw:
    """Encodes a value as a client would send it."""
    return Raw(msgspec.json.encode(value))


def raws(**values: Any) -> dict[str, Raw]:
    return {slug: raw(value) for slug, value in values.items()}


def event_of(**changes: Any) -> dict[str, Any]:
    """Returns the properties of every event."""
    carried = {"workspace": "acme", "environment": "production", "actor": OPERATOR, "at": NOON}
    return {**carried, **changes}


def workspace_created(**changes: Any) -> WorkspaceCreated:
    properties = {"name": "Acme", "plan": Plan(), "environment": None, **changes}
    return WorkspaceCreated(**event_of(**properties))


def type_created(*fields: Field, **changes: Any) -> ContentTypeCreated:
    properties = {"content_type_id": POSTS, "slug": "posts", "name": "Posts", **changes}
    return ContentTypeCreated(**event_of(fields=fields, **properties))


def created(**changes: Any) -> EntryCreated:
    properties = {"entry_id": ENTRY, "content_type_id": POSTS, "slug": "hello", "title": "Hello"}
    return EntryCreated(**event_of(**{"language": "en-US", **properties, **changes}))


def updated(**changes: Any) -> EntryUpdated:
    properties = {"entry_id": ENTRY, "content_type_id": POSTS, "at": LATER}
    return EntryUpdated(**event_of(**{**properties, **changes}))


def deleted(**changes: Any) -> EntryDeleted:
    properties = {"entry_id": ENTRY, "content_type_id": POSTS, "at": LATEST}
    return EntryDeleted(**event_of(**{**properties, **changes}))
