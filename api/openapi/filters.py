"""The parameters of filters: one for each field, whose members are the operators."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from read_side.queries.comparison import ATTRIBUTES, EQUALITY, operators_of
from read_side.queries.request import ANY_OF
from write_side.domain.definition import Field
from write_side.domain.entry_keys import BUILT_IN, paths_of
from write_side.domain.keys import BOOLEAN, INSTANT, NUMBER, TEXT, Ordering

Schema = dict[str, Any]

_STRING: Schema = {"type": "string"}
_KINDS: dict[str, tuple[Ordering | None, Schema]] = {
    "TextFilter": (TEXT, _STRING),
    "NumberFilter": (NUMBER, {"type": "number"}),
    "TimeFilter": (INSTANT, _STRING),
    "BooleanFilter": (BOOLEAN, {"type": "boolean"}),
    "ValueFilter": (None, _STRING),
}
"""The schemas of fields with one value. The last is that of ids and options."""
_MULTIPLE = "ValuesFilter"
_DESCRIPTIONS = {
    "eq": "Equal.",
    "ne": "Not equal, or no value.",
    "lt": "Less than.",
    "lte": "Less than or equal.",
    "gt": "Greater than.",
    "gte": "Greater than or equal.",
    "in": 'One of these, separated by commas; a value with a comma is written in `"`.',
    "nin": "None of these, or no value; written as for `in`.",
    "exists": "Whether there is a value; `[]` is one.",
    "contains": "Has this part, regardless of case.",
    "startsWith": "Begins with this.",
}


@cache
def filter_schemas() -> dict[str, Schema]:
    """By name."""
    found = {
        name: _schema(name, operators_of(ordering) if ordering else EQUALITY, value)
        for name, (ordering, value) in _KINDS.items()
    }
    multiple = _schema(_MULTIPLE, operators_of(TEXT, multiple=True), _STRING)
    multiple["properties"]["contains"]["description"] = "Has this value."
    return {**found, _MULTIPLE: multiple}


def _schema(name: str, operators: Iterable[str], value: Schema) -> Schema:
    return {
        "title": name,
        "type": "object",
        "properties": {one: _operand(one, value) for one in operators},
        "additionalProperties": False,
    }


def _operand(operator: str, value: Schema) -> Schema:
    taken = value
    if operator in ANY_OF:
        taken = _STRING
    elif operator == "exists":
        taken = {"type": "boolean"}
    return {**taken, "description": _DESCRIPTIONS[operator]}


def built_in_parameters() -> dict[str, Schema]:
    """By their names among the components."""
    orderings: dict[str, Ordering | None] = {**dict.fromkeys(ATTRIBUTES), **BUILT_IN}
    return {
        f"filter{path[0].upper()}{path[1:]}": _parameter(path, _kind(ordering))
        for path, ordering in orderings.items()
    }


def parameters_of(fields: Iterable[Field]) -> list[Schema]:
    """Of the indexed fields of a content type."""
    return [
        _parameter(path, _MULTIPLE if field.multiple else _kind(field.spec.ordering))
        for field in fields
        if field.indexed
        for path in paths_of(field)
    ]


def _kind(ordering: Ordering | None) -> str:
    return next((name for name, (one, _) in _KINDS.items() if one is ordering), "ValueFilter")


def _parameter(path: str, schema: str) -> Schema:
    # The documentation page does not show the schema of a parameter.
    operators = ", ".join(filter_schemas()[schema]["properties"])
    return {
        "name": f"filter[{path}]",
        "in": "query",
        "description": f"Only entries whose `{path}` meets every operator, of {operators}.",
        "style": "deepObject",
        "explode": True,
        "schema": {"$ref": f"#/components/schemas/{schema}"},
    }
