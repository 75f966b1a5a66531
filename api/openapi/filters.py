"""The parameters of filters, one for each field with its operators as members, and of sort keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from read_side.queries.comparison import ATTRIBUTES, EQUALITY, operators_of
from read_side.queries.request import ANY_OF, MOST_SORT_KEYS
from write_side.domain.definition import Field
from write_side.domain.entry_keys import BUILT_IN, paths_of
from write_side.domain.json_schemas import Schema
from write_side.domain.keys import BOOLEAN, ID, INSTANT, NUMBER, OPTION, TEXT, Ordering

_STRING: Schema = {"type": "string"}
_KINDS = {
    "TextFilter": TEXT,
    "NumberFilter": NUMBER,
    "TimeFilter": INSTANT,
    "BooleanFilter": BOOLEAN,
    "ValueFilter": ID,
}
"""The schemas of fields with one value. Other orderings share those with the same operators."""
_MULTIPLE = "ValuesFilter"
_STATUS = "StatusFilter"
_STATUSES: Schema = {"$ref": "#/components/schemas/EntryStatus"}
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
    """The schemas of filters, by name."""
    found = {
        name: _schema(name, operators_of(ordering), {"type": ordering.json})
        for name, ordering in _KINDS.items()
    }
    multiple = _schema(_MULTIPLE, operators_of(TEXT, multiple=True), _STRING, multiple=True)
    return {**found, _MULTIPLE: multiple, _STATUS: _schema(_STATUS, EQUALITY, _STATUSES)}


def options_schema(name: str, options: Schema, *, multiple: bool) -> Schema:
    """The schema for a field of options. ``in`` and ``nin`` take several in one string."""
    return _schema(name, operators_of(OPTION, multiple=multiple), options, multiple=multiple)


def _schema(
    name: str, operators: Iterable[str], value: Schema, *, multiple: bool = False
) -> Schema:
    schema: Schema = {
        "title": name,
        "type": "object",
        "properties": {one: _operand(one, value) for one in operators},
        "additionalProperties": False,
    }
    if multiple:
        schema["properties"]["contains"]["description"] = "Has this value."
    return schema


def _operand(operator: str, value: Schema) -> Schema:
    schema = value
    if operator in ANY_OF:
        schema = _STRING
    elif operator == "exists":
        schema = {"type": "boolean"}
    return {**schema, "description": _DESCRIPTIONS[operator]}


def built_in_parameters() -> dict[str, Schema]:
    """The parameters for built-in fields, by their names among the components."""
    orderings = {**BUILT_IN, **dict.fromkeys(ATTRIBUTES, ID)}
    return {
        f"filter{path[0].upper()}{path[1:]}": _parameter(
            path, _STATUS if path == "status" else _kind(ordering)
        )
        for path, ordering in orderings.items()
    }


def parameters_of(fields: Iterable[Field], schemas: Mapping[str, str]) -> list[Schema]:
    """The parameters for the indexed fields of a content type. ``schemas``: by slug, the names of
    the schemas that fields have of their own."""
    return [
        _parameter(path, _MULTIPLE if field.multiple else _kind(ordering), schemas.get(field.slug))
        for field in fields
        if field.indexed and (ordering := field.spec.ordering)
        for path in paths_of(field)
    ]


def sort_parameter(fields: Iterable[Field] | None = None) -> Schema:
    """``fields``: of the one content type that is listed; None for any."""
    names = [*BUILT_IN, *ATTRIBUTES]
    schema: Schema = {"type": "string"}
    more = ""
    if fields is None:
        more = ", and in the list of one type `fields.` and the slug of an indexed field"
    else:
        sortable = (one for one in fields if one.indexed and not one.multiple)
        names += [path for one in sortable for path in paths_of(one)]
        key = rf"\s*-?({'|'.join(map(re.escape, names))})\s*"
        schema |= {"pattern": f"^{key}(,{key}){{0,{MOST_SORT_KEYS - 1}}}$"}
    return {
        "name": "sort",
        "in": "query",
        "description": (
            f"Up to three fields, separated by commas; `-` for descending, such as "
            f"`-publishedAt,title`. The fields are {', '.join(f'`{one}`' for one in names)}{more}. "
            "Empty values come last. Without it, the newest entries come first."
        ),
        "schema": schema,
    }


def _kind(ordering: Ordering) -> str:
    return next(
        name
        for name, one in _KINDS.items()
        if (one.json, operators_of(one)) == (ordering.json, operators_of(ordering))
    )


def _parameter(path: str, schema: str, own_schema: str | None = None) -> Schema:
    """``own_schema``: the name of another schema with the same operators."""
    # The documentation page does not show the schema of a parameter.
    operators = ", ".join(filter_schemas()[schema]["properties"])
    return {
        "name": f"filter[{path}]",
        "in": "query",
        "description": f"Only entries whose `{path}` meets every operator, of {operators}.",
        "style": "deepObject",
        "explode": True,
        "schema": {"$ref": f"#/components/schemas/{own_schema or schema}"},
    }
