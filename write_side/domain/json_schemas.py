"""The values of fields as JSON Schema (2020-12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from write_side.domain.refusals import shortened

if TYPE_CHECKING:  # fields refer to their types, and types to these functions
    from write_side.domain.definition import Field

Schema = dict[str, Any]


class Definitions(Protocol):
    """Gives names to the schemas that need one, and returns references to them.

    ``closed``: for values that are sent. A served value may be an option that the field no longer
    has.
    """

    @property
    def closed(self) -> bool: ...

    def options(self, field: Field, schema: Schema) -> Schema: ...

    def date_range(self, schema: Schema) -> Schema: ...

    def element(self, field: Field) -> Schema:
        """An object with the properties of ``field.fields``."""


def properties(fields: Iterable[Field], definitions: Definitions) -> dict[str, Schema]:
    """The schema of each field that holds values, by slug. Each allows null."""
    return {
        field.slug: {
            **or_null(field.spec.schema(field, definitions)),
            "description": shortened(f"{field.name}: {field.spec.expected(field)}", 200),
        }
        for field in fields
        if field.spec.holds_values
    }


def or_null(schema: Schema) -> Schema:
    if not schema:
        return schema
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}


def always(schema: Schema) -> Callable[[Field, Definitions], Schema]:
    """The same schema for every field, of one value or, with ``multiple``, of an array of them."""
    return lambda field, _definitions: _one_or_many(field, schema)


def date(field: Field, definitions: Definitions) -> Schema:
    """The schema has no format, because stored values may be in any form of ISO 8601."""
    if not field.range:
        return {"type": "string"}
    ends = {name: {"type": "string"} for name in ("from", "to")}
    schema = {"type": "object", "properties": ends, "required": [*ends]}
    return definitions.date_range({**schema, "description": f"{field.spec.takes_many}."})


def choice(field: Field, definitions: Definitions) -> Schema:
    options = {"type": "string", "enum": [option.value for option in field.options]}
    schema = definitions.options(field, options)
    if not definitions.closed and schema != {"type": "string"}:
        schema = {"anyOf": [schema, {"type": "string"}]}
    return _one_or_many(field, schema)


def elements(field: Field, definitions: Definitions) -> Schema:
    return {"type": "array", "items": definitions.element(field)}


def _one_or_many(field: Field, schema: Schema) -> Schema:
    return {"type": "array", "items": schema} if field.multiple else schema
