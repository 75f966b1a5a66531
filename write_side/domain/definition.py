"""The definition of a content type: its fields and workflow stages, and the checks for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Protocol, get_args

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from write_side.domain.field_types import FIELD_TYPES, FieldType, FieldTypeSpec, Setting
from write_side.domain.identity import SLUG, is_slug
from write_side.domain.refusals import InvalidDefinition
from write_side.domain.text import check_text

MAX_REPEATER_DEPTH = 4
MAX_FIELDS = 500
LONGEST_NAME = 200
MOST: dict[Setting, int] = {"indexed": 20, "searchable": 5}
"""How many fields of a content type may have the setting. Repeaters have none inside."""

# For the JSON Schema of manifests. The functions below check the values, with their own messages.
Slug = Annotated[str, Meta(extra_json_schema={"pattern": f"^{SLUG}$"})]
NotBlank = Annotated[str, Meta(extra_json_schema={"pattern": r"\S"})]
Name = Annotated[str, Meta(extra_json_schema={"pattern": r"\S", "maxLength": LONGEST_NAME})]
NotEmpty = Annotated[str, Meta(extra_json_schema={"minLength": 1})]


class Option(Struct, frozen=True, forbid_unknown_fields=True):
    """One choice of a select field: the value is stored, the label is for people."""

    value: NotEmpty
    label: str


class Field(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One field of a content type (behaviour.md, 'Field values').

    ``to`` holds the slugs of the content types that a reference may point to (empty: any);
    ``fields`` are a repeater's own. ``multiple`` and ``range`` belong to the type and never change.
    Lists can be filtered and sorted by an ``indexed`` field, and a search finds the words of a
    ``searchable`` one; repeaters have neither inside.
    """

    slug: Slug
    name: Name
    type: FieldType
    required: bool = False
    multiple: bool = False
    range: bool = False
    options: tuple[Option, ...] = ()
    to: tuple[Slug, ...] = ()
    fields: tuple[Field, ...] = ()
    indexed: bool = False
    searchable: bool = False

    @property
    def spec(self) -> FieldTypeSpec:
        """The field's row in the table of types."""
        return FIELD_TYPES[self.type]

    @property
    def is_translatable(self) -> bool:
        return self.spec.translatable or any(inner.is_translatable for inner in self.fields)

    @property
    def may_refer(self) -> bool:
        """Whether values of the field, or of a field inside it, can refer to entries or files."""
        return bool(self.spec.refers_to) or any(inner.may_refer for inner in self.fields)

    @property
    def kind(self) -> tuple[str, bool, bool]:
        """The properties that a field's slug keeps forever."""
        return (self.type, self.multiple, self.range)


class Stage(Struct, frozen=True, forbid_unknown_fields=True):
    id: Slug
    name: Name


decode_fields = msgspec.json.Decoder(tuple[Field, ...]).decode
decode_stages = msgspec.json.Decoder(tuple[Stage, ...]).decode


class At(Protocol):
    """A context for the checks of the part at a path, such as ``("fields", 0, "slug")``.

    It may collect their refusals and continue with the next part, to find every error of a
    definition.
    """

    def __call__(self, *path: str | int) -> AbstractContextManager[None]: ...


def _first(*_path: str | int) -> AbstractContextManager[None]:
    """Does not handle the refusal, so the first one is raised."""
    return nullcontext()


def check_definition(
    name: str, fields: Sequence[Field], stages: Sequence[Stage], at: At = _first
) -> None:
    """Raises InvalidDefinition for the first error that ``at`` does not handle."""
    with at("name"):
        check_name(name, "The name of the content type")
    _check_fields(fields, "", 0, _within(at, "fields"))
    seen: set[str] = set()
    for index, stage in enumerate(stages):
        with at("stages", index, "id"):
            _check_unique(stage.id, seen, "stage id")
            check_slug(stage.id, "Stage id")
        with at("stages", index, "name"):
            check_name(stage.name, f"The name of stage '{stage.id}'")


def _within(at: At, *path: str | int) -> At:
    return lambda *inner: at(*path, *inner)


def _check_fields(fields: Sequence[Field], within: str, depth: int, at: At) -> None:
    with at():
        if fields and depth > MAX_REPEATER_DEPTH:
            raise InvalidDefinition(f"Repeaters nest at most {MAX_REPEATER_DEPTH} deep: '{within}'")
        if len(fields) > MAX_FIELDS:
            whose = f"The repeater '{within}'" if within else "A content type"
            raise InvalidDefinition(f"{whose} has at most {MAX_FIELDS} fields, not {len(fields)}")
        _check_most(fields)
    if depth > MAX_REPEATER_DEPTH:
        return
    seen: set[str] = set()
    for index, field in enumerate(fields):
        path = f"{within}.{field.slug}" if within else field.slug
        with at(index, "slug"):
            _check_unique(field.slug, seen, f"field slug{within and f' in {within}'}")
            check_slug(field.slug, "Field slug")
        with at(index, "name"):
            check_name(field.name, f"The name of field '{path}'")
        _check_kind(field, path, depth, _within(at, index))
        _check_fields(field.fields, path, depth + 1, _within(at, index, "fields"))


def _check_most(fields: Sequence[Field]) -> None:
    for setting, most in MOST.items():
        having = sum(1 for field in fields if getattr(field, setting))
        if having > most:
            raise InvalidDefinition(
                f"A content type has at most {most} fields with '{setting}', not {having}"
            )


def _check_kind(field: Field, path: str, depth: int, at: At) -> None:
    given = msgspec.to_builtins(field)  # without defaults
    for setting in get_args(Setting):
        with at(setting):
            if setting not in given:
                continue
            if setting not in field.spec.settings:
                raise InvalidDefinition(
                    f"Field '{path}' of type {field.type} cannot have '{setting}'"
                )
            if depth and setting in MOST:
                raise InvalidDefinition(
                    f"Field '{path}' cannot have '{setting}': it is inside a repeater"
                )
    for setting in field.spec.needs:
        with at():
            if not getattr(field, setting):
                raise InvalidDefinition(f"Field '{path}' of type {field.type} needs {setting}")
    _check_options(field, path, _within(at, "options"))
    for index, target in enumerate(field.to):
        with at("to", index):
            check_slug(target, f"A target of '{path}'")


def _check_options(field: Field, path: str, at: At) -> None:
    seen: set[str] = set()
    for index, option in enumerate(field.options):
        with at(index, "value"):
            _check_unique(option.value, seen, f"option in '{path}'")
            _check_option(option.value, path, multiple=field.multiple)
        with at(index, "label"):
            check_text(option.label, f"An option of '{path}'")


def _check_option(value: str, path: str, *, multiple: bool) -> None:
    if not value:
        raise InvalidDefinition(f"An option of '{path}' is empty: only null empties a field")
    if multiple and "," in value:
        raise InvalidDefinition(
            f"The option {value!r} of '{path}' contains a comma: with 'multiple' "
            "a comma separates options in a spreadsheet's cell"
        )
    check_text(value, f"An option of '{path}'")


def check_unchanged_kinds(
    before: Mapping[str, Field], after: Iterable[Field], within: str = "", at: At = _first
) -> None:
    """Raises InvalidDefinition if a slug that was ever used would change its kind of value.

    The paths of ``at`` begin with the index of a field.
    """
    for index, field in enumerate(after):
        path = f"{within}.{field.slug}" if within else field.slug
        known = before.get(field.slug)
        if known is None:
            continue
        with at(index, _changed_setting(known, field)):
            if known.kind != field.kind:
                raise InvalidDefinition(
                    f"Field '{path}' is {_described(known)} permanently and cannot become "
                    f"{_described(field)}: its stored values would no longer fit; add a new field"
                )
        inner = {each.slug: each for each in known.fields}
        check_unchanged_kinds(inner, field.fields, path, _within(at, index, "fields"))


def _changed_setting(before: Field, after: Field) -> str:
    named = zip(("type", "multiple", "range"), before.kind, after.kind, strict=True)
    return next((name for name, was, becomes in named if was != becomes), "type")


def known_fields(before: Mapping[str, Field], after: Iterable[Field]) -> dict[str, Field]:
    """Every field that the type has had, by slug; repeaters keep their removed inner fields."""
    known = dict(before)
    for field in after:
        inner = known_fields(
            {f.slug: f for f in known[field.slug].fields} if field.slug in known else {},
            field.fields,
        )
        known[field.slug] = replace(field, fields=tuple(inner.values()))
    return known


def value_fields(fields: Iterable[Field]) -> Iterator[Field]:
    """The fields that hold values, that is, all except sections (behaviour.md §2.1)."""
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
    """Raises InvalidDefinition if the text cannot be the slug of ``what``."""
    if not is_slug(slug):
        raise InvalidDefinition(
            f"{what} {slug!r} must be 1 to 63 of a-z, 0-9, '-' and '_', "
            "beginning with a letter or digit"
        )


def check_not_blank(text: str, what: str) -> None:
    """Raises InvalidText or InvalidDefinition."""
    check_text(text, what)
    if not text.strip():
        raise InvalidDefinition(f"{what} is empty; enter one")


def check_name(name: str, what: str) -> None:
    """Raises InvalidText or InvalidDefinition if the text cannot be the name of ``what``."""
    check_not_blank(name, what)
    if len(name) > LONGEST_NAME:
        raise InvalidDefinition(f"{what} has {len(name)} characters; at most {LONGEST_NAME}")


def _check_unique(value: str, seen: set[str], what: str) -> None:
    if value in seen:
        raise InvalidDefinition(f"Repeated {what}: {value!r}; use each once")
    seen.add(value)
