"""The OpenAPI document of a workspace: paths and schemas for each of its content types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Raw

from api.openapi.document import Operation, document
from api.openapi.filters import parameters_of, sort_parameter
from api.openapi.responses import json_content, reference
from api.openapi.type_schemas import (
    DATE_RANGE,
    Names,
    described_type,
    generic_schemas,
    included_schema,
)
from api.rest import wire
from read_side.content_types import ContentTypeRow
from write_side.domain.json_schemas import Schema

_TYPE = "#/components/parameters/type"
_LIST = "/v1/content/{type}"
_ONE = "/v1/content/{type}/{slug}"
_CREATE = "/v1/content"
# Of any type, in operations that the document has once for each type instead.
_LEFT_OUT = ("ListedEntry", "NewEntry", "SingleBody", "TypeListBody")


def workspace_document(rows: Sequence[ContentTypeRow]) -> bytes:
    """In JSON. A type keeps its names when another one is created later."""
    generic = document()
    if not rows:
        return wire.encode(generic)
    names = Names((*_names_of(generic), DATE_RANGE))
    oldest_first = sorted(rows, key=lambda row: (row.created_at, row.slug))
    named = {row.slug: names.claim_type(row.slug) for row in oldest_first}
    schemas: dict[str, Any] = {
        name: schema for name, schema in generic_schemas().items() if name not in _LEFT_OUT
    }
    parameters_of_types = {}
    for row in oldest_first:
        described = described_type(row, named[row.slug], names)
        schemas |= {name: Raw(wire.encode(schema)) for name, schema in described.schemas.items()}
        parameters_of_types[row.slug] = [
            sort_parameter(row.fields),
            *parameters_of(row.fields, described.filters),
        ]
    schemas["Includes"] = included_schema(named[row.slug] for row in oldest_first)
    parameters = {**generic["components"]["parameters"]}
    del parameters["type"]
    return wire.encode(
        {
            **generic,
            "paths": _paths(generic["paths"], sorted(named.items()), parameters_of_types),
            "components": {
                **generic["components"],
                "schemas": schemas,
                "parameters": parameters,
            },
        }
    )


def _names_of(generic: dict[str, Any]) -> list[str]:
    operations = [one for path in generic["paths"].values() for one in path.values()]
    return [*generic["components"]["schemas"], *(one["operationId"] for one in operations)]


def _paths(
    generic: dict[str, Any],
    types: Sequence[tuple[str, str]],
    parameters: Mapping[str, Sequence[Schema]],
) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for slug, name in types:
        paths[f"/v1/content/{slug}"] = {
            "get": _of_type(
                generic[_LIST]["get"],
                f"list{name}",
                f"List entries of {slug}, newest first",
                f"{name}ListBody",
                parameters[slug],
            )
        }
        paths[f"/v1/content/{slug}/{{slug}}"] = {
            "get": _of_type(
                generic[_ONE]["get"], f"get{name}", f"Get one entry of {slug}", f"{name}Body"
            )
        }
    paths |= {path: methods for path, methods in generic.items() if path not in (_LIST, _ONE)}
    created = [reference("schemas", f"New{name}") for _, name in types]
    body = created[0] if len(created) == 1 else {"oneOf": created}
    content = {"application/json": {"schema": body}}
    post = {**generic[_CREATE]["post"], "requestBody": {"required": True, "content": content}}
    paths[_CREATE] = {**generic[_CREATE], "post": post}
    return paths


def _of_type(
    generic: Operation,
    operation_id: str,
    summary: str,
    body: str,
    parameters: Sequence[Schema] = (),
) -> Operation:
    replaced = [f"#/components/parameters/{parameter['name']}" for parameter in parameters]
    success = {**generic["responses"]["200"], "content": json_content(body)}
    return {
        **generic,
        "operationId": operation_id,
        "summary": summary,
        "parameters": [
            *(one for one in generic["parameters"] if one["$ref"] not in (_TYPE, *replaced)),
            *parameters,
        ],
        "responses": {**generic["responses"], "200": success},
    }
