"""The OpenAPI document of a workspace, with paths and schemas for each of its content types, and
the JSON Schema of a content type's entries."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from api.openapi.document import Operation, changed, document
from api.openapi.filters import options_schema, parameters_of, sort_parameter
from api.openapi.responses import json_content, reference
from api.rest import wire
from read_side.content_types import ContentTypeRow
from write_side.domain.definition import Field, value_fields
from write_side.domain.json_schemas import Schema, properties
from write_side.domain.rendering import is_never_null

_TYPE = "#/components/parameters/type"
_LIST = "/v1/content/{type}"
_ONE = "/v1/content/{type}/{slug}"
_CREATE = "/v1/content"
# Of any type, in operations that the document has once for each type instead.
_LEFT_OUT = ("ListedEntry", "NewEntry", "SingleBody", "TypeListBody")
COMPONENTS = "#/components/schemas/"
DEFINITIONS = "#/$defs/"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
DATE_RANGE = "DateRange"
# As members of an enum: other texts, or texts that differ only in these, are no names in code.
_OPTION = re.compile(r"[A-Za-z][A-Za-z0-9_ -]*")
_SEPARATORS = str.maketrans("", "", "_- ")
_WORD = re.compile(r"[a-z0-9]+")
# The generators of clients define or import these in modules of models.
RESERVED = ("Any", "Cast", "False", "Generator", "Mapping", "None", "T", "True", "Unset")


def pascal_case(*slugs: str) -> str:
    """``goes_live`` is GoesLive."""
    return "".join(word.capitalize() for slug in slugs for word in _WORD.findall(slug))


class Names:
    """Names of schemas and operations that are taken. Those that generated code needs for itself
    are from the beginning.

    A name is unique without regard to case, because generators make file names of names.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {name.casefold() for name in (*taken, *RESERVED)}
        self._numbers: defaultdict[str, count[int]] = defaultdict(lambda: count(2))

    def claim(self, name: str, members: Callable[[str], Iterable[str]] = lambda one: (one,)) -> str:
        """The name, or the first of name2, name3, … of which all members are free."""
        claimed = name
        while not self._free(members(claimed)):
            claimed = f"{name}{next(self._numbers[name.casefold()])}"
        self._taken.update(member.casefold() for member in members(claimed))
        return claimed

    def claim_type(self, slug: str) -> str:
        """The name of a content type's entry: Posts, or PostsEntry if that is taken."""
        name = pascal_case(slug)
        if name[0].isdigit():
            name = f"Type{name}"
        return self.claim(name if self._free(type_names(name)) else f"{name}Entry", type_names)

    def _free(self, names: Iterable[str]) -> bool:
        return self._taken.isdisjoint(name.casefold() for name in names)


def type_names(name: str) -> Iterable[str]:
    """The names of the schemas and operations of the type with this name."""
    return (
        *(name, f"{name}Fields", f"Listed{name}", f"{name}Body", f"{name}ListBody"),
        *(f"New{name}", f"New{name}Fields", f"list{name}", f"get{name}"),
        *(f"Included{name}", f"{name}Type"),
    )


class _Definitions(Struct, frozen=True):
    """The named schemas inside of a type's fields. ``found`` is shared by all paths."""

    names: Names
    type_name: str
    found: dict[str, Schema]
    prefix: str = COMPONENTS
    closed: bool = False
    path: tuple[str, ...] = ()
    options_names: dict[tuple[str, ...], str] = field(default_factory=dict)

    def options(self, field: Field, schema: Schema) -> Schema:
        """A plain string if an option cannot be a name in code."""
        if not _are_names(schema["enum"]):
            return {"type": "string"}
        path = (*self.path, field.slug)
        name = self.options_names.get(path)
        if name is None:
            name = self.options_names[path] = self._claim(field, "")
        return self._add(name, schema)

    def options_filter(self, field: Field) -> str | None:
        """The name of the schema of the field's filters, if its options have one."""
        options = self.options_names.get((field.slug,))
        if options is None:
            return None
        name = self._claim(field, "Filter")
        reference = {"$ref": f"{self.prefix}{options}"}
        self.found[name] = options_schema(name, reference, multiple=field.multiple)
        return name

    def date_range(self, schema: Schema) -> Schema:
        return self._add(DATE_RANGE, schema)

    def element(self, field: Field) -> Schema:
        name = self._claim(field, "Item", "New" if self.closed else "")
        inside = replace(self, path=(*self.path, field.slug))
        return self._add(name, {"type": "object", "properties": properties(field.fields, inside)})

    def object(self, name: str, fields: Iterable[Field], required: list[str]) -> Schema:
        described = {"type": "object", "properties": properties(fields, self), "required": required}
        return self._add(name, described)

    def _claim(self, field: Field, end: str, start: str = "") -> str:
        inner = pascal_case(*self.path, field.slug)
        return self.names.claim(f"{start}{self.type_name}{inner}{end}")

    def _add(self, name: str, schema: Schema) -> Schema:
        self.found[name] = {"title": name, **schema}
        return {"$ref": f"{self.prefix}{name}"}


def _are_names(options: list[str]) -> bool:
    different = {option.translate(_SEPARATORS).casefold() for option in options}
    return len(different) == len(options) and all(map(_OPTION.fullmatch, options))


def _schemas_of_type(
    row: ContentTypeRow, name: str, names: Names
) -> tuple[dict[str, Schema], dict[str, str]]:
    """The schemas of the type's entries, as served and as sent; and for each field whose filter has
    a schema of its own, the name of that schema, by the field's slug."""
    found: dict[str, Schema] = {}
    reading = _Definitions(names, name, found)
    fields = list(value_fields(row.fields))
    served = _served_fields(reading, fields)
    sent = replace(reading, closed=True).object(f"New{name}Fields", fields, [])
    generic = _generic_schemas()
    entry, listed = reference("schemas", name), reference("schemas", f"Listed{name}")
    of_type = reference("schemas", f"{name}Type")
    slug = {"type": "string", "const": row.slug}
    filters = {one.slug: reading.options_filter(one) for one in fields if one.indexed}
    schemas = {
        name: _with(generic["SingleEntry"], name, fields=served),
        f"Listed{name}": _with(generic["ListedEntry"], f"Listed{name}", fields=served),
        f"{name}Body": _with(generic["SingleBody"], f"{name}Body", data=entry),
        f"{name}ListBody": _with(
            generic["TypeListBody"], f"{name}ListBody", data={"type": "array", "items": listed}
        ),
        f"Included{name}": _with(
            generic["AnyEntry"], f"Included{name}", contentType=of_type, fields=served
        ),
        f"{name}Type": _with(generic["TypeReference"], f"{name}Type", slug=slug),
        f"New{name}": _with(generic["NewEntry"], f"New{name}", contentTypeSlug=slug, fields=sent),
        **found,
    }
    return schemas, {slug: one for slug, one in filters.items() if one is not None}


def _included_schema(names: Iterable[str]) -> Schema:
    """The schema of ``includes``, for the types with these names."""
    generic = _generic_schemas()["Includes"]
    entries = [reference("schemas", f"Included{name}") for name in names]
    one = entries[0] if len(entries) == 1 else {"anyOf": entries}
    described = {**generic["properties"]["entries"], "additionalProperties": one}
    return {**generic, "properties": {**generic["properties"], "entries": described}}


def entry_schema(row: ContentTypeRow) -> Schema:
    """JSON Schema of one entry of the type, as it is served alone (§4.2)."""
    generic = _generic_schemas()
    found = {name: generic[name] for name in ("EntryStatus", "TypeReference", "WorkflowStage")}
    names = Names((*found, DATE_RANGE))
    name = names.claim_type(row.slug)
    definitions = _Definitions(names, name, found, DEFINITIONS)
    served = _served_fields(definitions, list(value_fields(row.fields)))
    return {
        "$schema": DIALECT,
        **_with(changed(generic["SingleEntry"], _relocated), name, fields=served),
        "$defs": found,
    }


def _served_fields(definitions: _Definitions, fields: list[Field]) -> Schema:
    """Every field is present; lists without a value are []."""
    reference = definitions.object(
        f"{definitions.type_name}Fields", fields, [field.slug for field in fields]
    )
    described = definitions.found[f"{definitions.type_name}Fields"]["properties"]
    for one in fields:
        if is_never_null(one):
            described[one.slug]["type"] = "array"
    return reference


def _with(schema: Schema, title: str, **replaced: Schema) -> Schema:
    """A copy of a generic schema with other properties."""
    return {**schema, "title": title, "properties": {**schema["properties"], **replaced}}


@cache
def _generic_schemas() -> dict[str, Schema]:
    """The schemas of the generic document, without patterns of times: generators warn that they
    drop these in favour of the format."""
    schemas: dict[str, Schema] = changed(document()["components"]["schemas"], _without_pattern)
    return schemas


def _without_pattern(part: Schema) -> Schema:
    if part.get("format") == "date-time":
        return {name: value for name, value in part.items() if name != "pattern"}
    return part


def _relocated(part: Schema) -> Schema:
    """A reference to the definitions of the schema itself."""
    if "$ref" in part:
        return {"$ref": part["$ref"].replace(COMPONENTS, DEFINITIONS)}
    return part


def workspace_document(rows: Sequence[ContentTypeRow]) -> bytes:
    """In JSON. A type keeps its names when another one is created later."""
    generic = document()
    if not rows:
        return wire.encode(generic)
    names = Names((*_names_of(generic), DATE_RANGE))
    oldest_first = sorted(rows, key=lambda row: (row.created_at, row.slug))
    named = {row.slug: names.claim_type(row.slug) for row in oldest_first}
    schemas: dict[str, Any] = {
        name: schema for name, schema in _generic_schemas().items() if name not in _LEFT_OUT
    }
    parameters_of_types = {}
    for row in oldest_first:
        of_type, filters = _schemas_of_type(row, named[row.slug], names)
        schemas |= {name: Raw(wire.encode(schema)) for name, schema in of_type.items()}
        parameters_of_types[row.slug] = [
            sort_parameter(row.fields),
            *parameters_of(row.fields, filters),
        ]
    schemas["Includes"] = _included_schema(named[row.slug] for row in oldest_first)
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
