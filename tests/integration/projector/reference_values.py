"""Values of fields after behaviour.md, in plain dicts and loops: what is accepted, what is missing,
what is served. It shares no code with the service. A field is a dict with ``slug``, ``type`` and,
where the type has them, ``required``, ``multiple``, ``range``, ``options`` (values), ``to`` (slugs
of types) and ``fields`` (of a repeater)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

Field = dict[str, Any]
Values = dict[str, Any]

TEXT = ("text", "rich_text")


class ExpectedRefusal(Exception):
    """The command is refused with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def accepted(fields: list[Field], values: Values) -> Values:
    """Unknown slugs are ignored. A value of the wrong type is refused with 400."""
    kept = {}
    for field in fields:
        if field["type"] != "section" and field["slug"] in values:
            value = values[field["slug"]]
            kept[field["slug"]] = None if value is None else _accepted(field, value)
    return kept


def _accepted(field: Field, value: Any) -> Any:
    kind = field["type"]
    if kind == "repeater":
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise ExpectedRefusal(400)
        return [accepted(field["fields"], element) for element in value]
    chosen = value if field.get("multiple") else [value]
    if not isinstance(chosen, list) or not all(_fits(field, one) for one in chosen):
        raise ExpectedRefusal(400)
    return value


def _fits(field: Field, value: Any) -> bool:
    match field["type"]:
        case "json":
            return True
        case "number":
            return type(value) in (int, float) and math.isfinite(value)
        case "boolean":
            return isinstance(value, bool)
        case "select":
            return value in field["options"]
        case "datetime" if field.get("range"):
            return isinstance(value, dict) and set(value) == {"from", "to"}
    return isinstance(value, str)


def missing_required(fields: list[Field], values: Values, within: str = "") -> list[str]:
    """Required fields without a value, including those inside repeaters."""
    found = []
    for field in fields:
        value = values.get(field["slug"])
        path = f"{within}/{field['slug']}"
        if value is None or (field["type"] != "json" and value in ("", [])):
            found += [path] if field.get("required") else []
        elif field["type"] == "repeater":
            for number, element in enumerate(value):
                found += missing_required(field["fields"], element, f"{path}/{number}")
    return found


def targets(
    fields: list[Field], values: Values, within: str = ""
) -> Iterator[tuple[Field, str, str]]:
    """Field, place in the type, and id of every reference in the values."""
    for field in fields:
        value = values.get(field["slug"])
        path = f"{within}/{field['slug']}"
        if value is None:
            continue
        if field["type"] in ("reference", "media"):
            for target in value if field.get("multiple") else [value]:
                yield field, path, target
        elif field["type"] == "repeater":
            for element in value:
                yield from targets(field["fields"], element, path)


def translatable(fields: list[Field]) -> list[Field]:
    """Text fields, also inside repeaters."""
    found = []
    for field in fields:
        inner = translatable(field.get("fields", []))
        if field["type"] in TEXT or inner:
            found.append({**field, "fields": inner})
    return found


def translated(fields: list[Field], values: Values, texts: Values) -> Values:
    """Texts of the translation where it has them, otherwise the original's. Inside repeaters,
    element by element, if both have the same number of elements."""
    merged = dict(values)
    for field in fields:
        original, text = values.get(field["slug"]), texts.get(field["slug"])
        if text is None or text == "":
            continue
        if field["type"] in TEXT:
            merged[field["slug"]] = text
        elif field["type"] == "repeater" and original is not None and len(original) == len(text):
            merged[field["slug"]] = [
                translated(field["fields"], one, other)
                for one, other in zip(original, text, strict=True)
            ]
    return merged


def shown(fields: list[Field], values: Values) -> list[tuple[str, Any]]:
    """All fields of the type in its order, without sections. Of elements, the fields that the type
    has."""
    found = []
    for field in fields:
        if field["type"] == "section":
            continue
        value = values.get(field["slug"])
        many = field["type"] == "repeater" or (
            field["type"] == "reference" and field.get("multiple", False)
        )
        if value is None and many:
            value = []
        elif value is not None and field["type"] == "repeater":
            value = [_element(field["fields"], element) for element in value]
        found.append((field["slug"], value))
    return found


def _element(fields: list[Field], element: Values) -> Values:
    inner = {field["slug"]: field for field in fields}
    kept: Values = {}
    for slug, value in element.items():
        if slug in inner and inner[slug]["type"] == "repeater" and value is not None:
            kept[slug] = [_element(inner[slug]["fields"], one) for one in value]
        elif slug in inner:
            kept[slug] = value
    return kept


def kinds(fields: list[Field], within: str = "") -> dict[str, tuple[Any, ...]]:
    """Properties that cannot change for a field's slug, by place in the type."""
    found: dict[str, tuple[Any, ...]] = {}
    for field in fields:
        path = f"{within}/{field['slug']}"
        found[path] = (field["type"], field.get("multiple", False), field.get("range", False))
        found |= kinds(field.get("fields", []), path)
    return found


def as_json(values: Values) -> dict[str, str]:
    """Values as comparable JSON, in which 1, 1.0 and true differ. Null counts as absent."""
    return {slug: json.dumps(value) for slug, value in values.items() if value is not None}
