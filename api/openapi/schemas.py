"""The document's schemas, from the types that the service encodes."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from api.graphql.handler import GraphQLAnswer
from api.graphql.request import GraphQLRequest
from api.operations.health import Readiness
from api.rest import wire
from api.rest.change_bodies import CaughtUp, ChangesBody
from api.rest.imports import AcceptedImportBody, ImportStatusBody

_BODIES: tuple[type[Struct], ...] = (
    wire.TypeListBody,
    wire.SingleBody,
    wire.ListBody,
    wire.CreatedBody,
    wire.ErrorBody,
    wire.ContentTypesBody,
    wire.ContentTypeBody,
    wire.MediaListBody,
    wire.MediaBody,
    wire.LocalesBody,
    ChangesBody,
    CaughtUp,
    AcceptedImportBody,
    ImportStatusBody,
    Readiness,
    GraphQLRequest,
    GraphQLAnswer,
)


def schemas() -> dict[str, Any]:
    """By name."""
    _, found = msgspec.json.schema_components(_BODIES, ref_template="#/components/schemas/{name}")
    adapted: dict[str, Any] = _adapted(found)
    return adapted


def _adapted(part: Any) -> Any:
    """Adapted to client generators: a reference has no separate type, an object without declared
    properties is open, and a default of null is omitted."""
    if isinstance(part, list):
        return [_adapted(one) for one in part]
    if not isinstance(part, dict):
        return part
    adapted = {name: _adapted(one) for name, one in part.items()}
    if "$ref" in adapted:
        adapted.pop("type", None)
    if adapted.get("type") == "object" and "properties" not in adapted:
        adapted.setdefault("additionalProperties", True)
    if adapted.get("default", ...) is None:
        del adapted["default"]
    return adapted
