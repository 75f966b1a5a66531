"""The schemas of a content type's entries, each under a name of its own."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from itertools import count

from msgspec import Struct, field
from msgspec.structs import replace

from api.openapi.document import changed, document
from api.openapi.filters import options_schema
from api.openapi.responses import reference
from read_side.content_types import ContentTypeRow
from write_side.domain.definition import Field, value_fields
from write_side.domain.json_schemas import Schema, properties
from write_side.domain.rendering import is_never_null

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


def _itself(name: str) -> Iterable[str]:
    return (name,)


class Names:
    """Names of schemas and operations that are taken. Those that generated code needs for itself
    are from the beginning.

    A name is unique without regard to case, because generators make file names of names.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {name.casefold() for name in (*taken, *RESERVED)}
        self._numbers: defaultdict[str, count[int]] = defaultdict(lambda: count(2))

    def claim(self, name: str, members: Callable[[str], Iterable[str]] = _itself) -> str:
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
        """Only a string if the options are no names in code."""
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


class DescribedType(Struct, frozen=True):
    """``schemas``: of what is served and sent. ``filters``: the names of the schemas of filters
    that its fields have of their own, by slug."""

    schemas: dict[str, Schema]
    filters: dict[str, str]


def described_type(row: ContentTypeRow, name: str, names: Names) -> DescribedType:
    """For OpenAPI."""
    found: dict[str, Schema] = {}
    reading = _Definitions(names, name, found)
    fields = list(value_fields(row.fields))
    served = _served_fields(reading, fields)
    sent = replace(reading, closed=True).object(f"New{name}Fields", fields, [])
    generic = generic_schemas()
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
    return DescribedType(schemas, {slug: one for slug, one in filters.items() if one is not None})


def included_schema(names: Iterable[str]) -> Schema:
    """The schema of ``includes``, for the types with these names."""
    generic = generic_schemas()["Includes"]
    entries = [reference("schemas", f"Included{name}") for name in names]
    one = entries[0] if len(entries) == 1 else {"anyOf": entries}
    described = {**generic["properties"]["entries"], "additionalProperties": one}
    return {**generic, "properties": {**generic["properties"], "entries": described}}


def entry_schema(row: ContentTypeRow) -> Schema:
    """JSON Schema of one entry of the type, as it is served alone (§4.2)."""
    generic = generic_schemas()
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
def generic_schemas() -> dict[str, Schema]:
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
