"""How a content type is defined: its fields and workflow stages, and which are well formed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import get_args

from msgspec import Struct
from msgspec.structs import replace

from write_side.domain.field_types import FIELD_TYPES, FieldType, FieldTypeSpec, Setting
from write_side.domain.identity import is_slug
from write_side.domain.refusals import InvalidDefinition
from write_side.domain.text import check_text

MAX_REPEATER_DEPTH = 4
MAX_FIELDS = 500
LONGEST_NAME = 200


class Option(Struct, frozen=True, forbid_unknown_fields=True):
    """One choice of a select field: the value is stored, the label is for people."""

    value: str
    label: str


class Field(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One field of a content type (behaviour.md, 'Field values').

    ``to`` holds the slugs of the content types that a reference may point at (empty: any);
    ``fields`` are a repeater's own. ``multiple`` and ``range`` belong to the type and never change.
    """

    slug: str
    name: str
    type: FieldType
    required: bool = False
    multiple: bool = False
    range: bool = False
    options: tuple[Option, ...] = ()
    to: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()

    @property
    def spec(self) -> FieldTypeSpec:
        """The field's row in the table of types."""
        return FIELD_TYPES[self.type]

    @property
    def is_translatable(self) -> bool:
        return self.spec.translatable or any(inner.is_translatable for inner in self.fields)

    @property
    def kind(self) -> tuple[str, bool, bool]:
        """What a slug keeps for life."""
        return (self.type, self.multiple, self.range)


class Stage(Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    name: str


def check_definition(name: str, fields: Sequence[Field], stages: Sequence[Stage]) -> None:
    """Raise InvalidDefinition naming the first error."""
    check_name(name, "The name of the content type")
    _check_fields(fields, "", 0)
    _check_unique((stage.id for stage in stages), "stage id")
    for stage in stages:
        check_slug(stage.id, "Stage id")
        check_name(stage.name, f"The name of stage '{stage.id}'")


def _check_fields(fields: Sequence[Field], within: str, depth: int) -> None:
    if fields and depth > MAX_REPEATER_DEPTH:
        raise InvalidDefinition(f"Repeaters nest at most {MAX_REPEATER_DEPTH} deep: '{within}'")
    if len(fields) > MAX_FIELDS:
        whose = f"The repeater '{within}'" if within else "A content type"
        raise InvalidDefinition(f"{whose} has at most {MAX_FIELDS} fields, not {len(fields)}")
    _check_unique((field.slug for field in fields), f"field slug{within and f' in {within}'}")
    for field in fields:
        path = f"{within}.{field.slug}" if within else field.slug
        check_slug(field.slug, "Field slug")
        check_name(field.name, f"The name of field '{path}'")
        _check_kind(field, path)
        _check_fields(field.fields, path, depth + 1)


def _check_kind(field: Field, path: str) -> None:
    for setting in get_args(Setting):
        if getattr(field, setting) and setting not in field.spec.settings:
            raise InvalidDefinition(f"Field '{path}' of type {field.type} cannot have '{setting}'")
    for setting in field.spec.needs:
        if not getattr(field, setting):
            raise InvalidDefinition(f"Field '{path}' of type {field.type} needs {setting}")
    _check_options(field, path)
    for target in field.to:
        check_slug(target, f"A target of '{path}'")


def _check_options(field: Field, path: str) -> None:
    _check_unique((option.value for option in field.options), f"option in '{path}'")
    for option in field.options:
        if not option.value:
            raise InvalidDefinition(f"An option of '{path}' is empty: only null empties a field")
        if field.multiple and "," in option.value:
            raise InvalidDefinition(
                f"The option {option.value!r} of '{path}' contains a comma: with 'multiple' "
                "a comma separates options in a spreadsheet's cell"
            )
        check_text(option.value, f"An option of '{path}'")
        check_text(option.label, f"An option of '{path}'")


def check_unchanged_kinds(
    before: Mapping[str, Field], after: Iterable[Field], within: str = ""
) -> None:
    """Raise InvalidDefinition if a slug that was ever used would change its kind of value."""
    for field in after:
        path = f"{within}.{field.slug}" if within else field.slug
        known = before.get(field.slug)
        if known is None:
            continue
        if known.kind != field.kind:
            raise InvalidDefinition(
                f"Field '{path}' is {_described(known)} for life and cannot become "
                f"{_described(field)}: its stored values would no longer fit; add a new field"
            )
        check_unchanged_kinds({inner.slug: inner for inner in known.fields}, field.fields, path)


def known_fields(before: Mapping[str, Field], after: Iterable[Field]) -> dict[str, Field]:
    """Every field that the type has had, by slug; repeaters keep their former inner fields."""
    known = dict(before)
    for field in after:
        inner = known_fields(
            {f.slug: f for f in known[field.slug].fields} if field.slug in known else {},
            field.fields,
        )
        known[field.slug] = replace(field, fields=tuple(inner.values()))
    return known


def value_fields(fields: Iterable[Field]) -> Iterator[Field]:
    """The fields that hold values, which sections do not (behaviour.md §2.1)."""
    return (field for field in fields if field.spec.holds_values)


def translatable(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Text fields, and repeaters with only the text fields inside them (behaviour.md §2.1)."""
    return tuple(
        replace(field, fields=translatable(field.fields))
        for field in fields
        if field.is_translatable
    )


def _described(field: Field) -> str:
    words: list[str] = [field.type]
    if field.multiple:
        words.append("(multiple)")
    if field.range:
        words.append("(range)")
    return " ".join(words)


def check_slug(slug: str, what: str) -> None:
    """Raise InvalidDefinition if the text cannot be the slug of ``what``."""
    if not is_slug(slug):
        raise InvalidDefinition(
            f"{what} {slug!r} must be 1 to 63 of a-z, 0-9, '-' and '_', "
            "beginning with a letter or digit"
        )


def check_name(name: str, what: str) -> None:
    """Raise InvalidText or InvalidDefinition if the text cannot be the name of ``what``."""
    check_text(name, what)
    if not name.strip():
        raise InvalidDefinition(f"{what} is empty")
    if len(name) > LONGEST_NAME:
        raise InvalidDefinition(f"{what} has {len(name)} characters; at most {LONGEST_NAME}")


def _check_unique(values: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise InvalidDefinition(f"Repeated {what}: {value!r}")
        seen.add(value)
