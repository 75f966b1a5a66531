"""The bodies as JSON Schema, generated from the wire Structs, with what their types leave open."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from api import health, type_wire, wire
from api.graphql.request import GraphQLRequest
from api.graphql.response import GraphQLAnswer
from api.parameters import MAX_LIMIT, MAX_OFFSET, STATUSES

Schema = dict[str, Any]


class NewEntry(Struct, frozen=True, rename="camel"):
    """What is read of the body of a create (§4.4); other properties are ignored."""

    content_type_slug: Annotated[str, Meta(min_length=1)]
    title: Annotated[str, Meta(min_length=1)]
    slug: str = ""
    fields: dict[str, Any] = {}


BODIES: tuple[type[Struct], ...] = (
    wire.TypeListBody,
    wire.SingleBody,
    wire.ListBody,
    wire.CreatedBody,
    wire.ErrorBody,
    type_wire.ContentTypesBody,
    type_wire.ContentTypeBody,
    health.Readiness,
    NewEntry,
    GraphQLRequest,
    GraphQLAnswer,
)
ENTRIES = ("ListedEntry", "SingleEntry", "AnyEntry", "CreatedEntry")
_ID = {"type": "string", "format": "uuid", "description": "A UUIDv7."}
_TIME = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$",
    "description": "ISO 8601 in UTC, with milliseconds.",
}
_OF_ENTRIES: Schema = {
    "id": _ID,
    "slug": {"type": "string", "description": "Never translated."},
    "status": {"type": "string", "enum": list(STATUSES)},
    "stage": {
        "description": "The stage of the type's workflow; null without one and in the archive.",
        "anyOf": [{"$ref": "#/components/schemas/WorkflowStage"}, {"type": "null"}],
    },
    "language": {"type": "string", "description": "The language the entry was written in."},
    "locale": {"type": "string", "description": "The locale asked for."},
    "publishedAt": {**_TIME, "type": ["string", "null"], "description": "Null before the first."},
    "createdAt": _TIME,
    "updatedAt": _TIME,
    "fields": {
        "type": "object",
        "description": "Every field of the type by slug, in the type's order, sections left out. "
        "Nothing saved is null, or [] for a repeater or a reference to many.",
    },
}
_REFINED: dict[str, Schema] = {
    **dict.fromkeys(ENTRIES, _OF_ENTRIES),
    "TypeReference": {"id": _ID},
    "ContentType": {"id": _ID, "createdAt": _TIME, "updatedAt": _TIME},
    "Pagination": {
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT},
        "offset": {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET},
        "total": {"type": "integer", "minimum": 0},
    },
    "NewEntry": {
        "slug": {
            "type": "string",
            "description": "Empty or absent: the title lowercased, each character that is no "
            "letter or digit turned into a hyphen.",
        },
        "fields": {
            "type": "object",
            "description": "Values by field slug; unknown slugs are ignored, null empties a field. "
            "No text has a NUL character, and nothing is nested deeper than 256.",
        },
    },
}


def schemas() -> Schema:
    """The schemas of every body, by the names of their Structs."""
    _, components = msgspec.json.schema_components(
        BODIES, ref_template="#/components/schemas/{name}"
    )
    for name, refined in _REFINED.items():
        for property_name in components[name]["properties"].keys() & refined.keys():
            components[name]["properties"][property_name] = refined[property_name]
    return components
