"""The bodies as JSON Schema, generated from the wire Structs and refined."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from api.graphql.request import GraphQLRequest
from api.graphql.response import GraphQLAnswer
from api.operations import health
from api.rest import content_type_wire, wire
from api.rest.parameters import MAX_LIMIT, MAX_OFFSET
from write_side.domain.events import STATUSES
from write_side.domain.field_types import FIELD_TYPES

Schema = dict[str, Any]


class NewEntry(Struct, frozen=True, rename="camel"):
    """The body of a create (§4.4), as far as it is read; other properties are ignored."""

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
    content_type_wire.ContentTypesBody,
    content_type_wire.ContentTypeBody,
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
        "description": "The stage in the type's workflow; null without one or in the archive.",
        "anyOf": [{"$ref": "#/components/schemas/WorkflowStage"}, {"type": "null"}],
    },
    "language": {"type": "string", "description": "The language the entry was written in."},
    "locale": {"type": "string", "description": "The requested locale."},
    "publishedAt": {
        **_TIME,
        "type": ["string", "null"],
        "description": "Null before the first publication.",
    },
    "createdAt": _TIME,
    "updatedAt": _TIME,
    "fields": {
        "type": "object",
        "description": "Every field of the type by slug, in the type's order, without sections. "
        "An empty field is null, or [] for a repeater or a reference to many.",
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
    "TypeField": {
        "type": {
            "type": "string",
            "enum": list(FIELD_TYPES),
            "description": "What a value is: "
            + "; ".join(f"{name}: {spec.description}" for name, spec in FIELD_TYPES.items()),
        },
    },
    "NewEntry": {
        "slug": {
            "type": "string",
            "description": "Empty or absent: the title in lower case, with a hyphen for each "
            "character that is not a letter or digit.",
        },
        "fields": {
            "type": "object",
            "description": "Values by field slug; unknown slugs are ignored, null empties a field. "
            "Text must not contain NUL; the nesting limit is 256.",
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
