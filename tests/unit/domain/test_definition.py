"""Which content type definitions are well formed, and what can never change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest

from tests.unit.samples import COLOURS, NOON, type_created
from write_side.domain import definition
from write_side.domain.content_type import ContentType, evolve
from write_side.domain.definition import (
    LONGEST_NAME,
    MAX_FIELDS,
    MAX_REPEATER_DEPTH,
    Field,
    Option,
    Stage,
    check_definition,
    check_slug,
    check_unchanged_kinds,
    known_fields,
)
from write_side.domain.events import ContentTypeRevised
from write_side.domain.refusals import InvalidDefinition, InvalidText

TEXT = Field("body", "Body", "text")


class LimitedField(Field, frozen=True, omit_defaults=True):
    """A field with one more setting, whose value may be 0."""

    minimum: int | None = None


def repeater(*fields: Field, slug: str = "faq") -> Field:
    return Field(slug, slug.upper(), "repeater", fields=fields)


def nested(depth: int) -> Field:
    """Nests ``depth`` repeaters around a text field."""
    return TEXT if depth == 0 else repeater(nested(depth - 1))


WELL_FORMED = [
    (),
    (TEXT,),
    (Field("a", "A", "text", required=True),),
    (Field("0", "0", "text"), Field("a-b_c", "A", "text"), Field("x" * 63, "X", "text")),
    (Field("s", "S", "section"), Field("i", "Same name", "text"), Field("j", "Same name", "text")),
    (Field("d", "D", "datetime", range=True),),
    (Field("c", "C", "select", options=COLOURS, multiple=True),),
    (Field("c", "C", "select", options=(Option("red, pale", "R"),)),),
    (Field("a", "é" * LONGEST_NAME, "text"),),
    (Field("r", "R", "reference", to=("posts", "authors"), multiple=True),),
    (Field("m", "M", "media", multiple=True),),
    (repeater(TEXT, repeater(TEXT)), TEXT),
    (nested(MAX_REPEATER_DEPTH),),
    tuple(Field(f"f{n}", "F", "text") for n in range(MAX_FIELDS)),
    tuple(Field(f"f{n}", "F", "text", indexed=True, searchable=n < 5) for n in range(20)),
]

ILL_FORMED: list[tuple[str, tuple[Field, ...]]] = [
    ("Field slug '' must be", (Field("", "A", "text"),)),
    ("Field slug 'Body' must be", (Field("Body", "A", "text"),)),
    ("Field slug 'a b' must be", (Field("a b", "A", "text"),)),
    ("Field slug '-a' must be", (Field("-a", "A", "text"),)),
    ("Field slug 'été' must be", (Field("été", "A", "text"),)),
    ("Field slug 'a\\n' must be", (Field("a\n", "A", "text"),)),
    ("Field slug 'a.b' must be", (Field("a.b", "A", "text"),)),
    ("Field slug 'xxx", (Field("x" * 64, "A", "text"),)),
    ("The name of field 'a' has 201 characters; at most 200", (Field("a", "A" * 201, "text"),)),
    ("The name of field 'a' is empty", (Field("a", "  ", "text"),)),
    ("Repeated field slug: 'body'; use each once", (TEXT, TEXT)),
    ("Repeated field slug in faq: 'body'", (repeater(TEXT, TEXT),)),
    ("Field slug 'B' must be", (repeater(Field("B", "B", "text")),)),
    ("'a' of type text cannot have 'multiple'", (Field("a", "A", "text", multiple=True),)),
    ("'a' of type number cannot have 'range'", (Field("a", "A", "number", range=True),)),
    ("'a' of type text cannot have 'options'", (Field("a", "A", "text", options=COLOURS),)),
    ("'a' of type media cannot have 'to'", (Field("a", "A", "media", to=("x",)),)),
    ("'a' of type json cannot have 'fields'", (Field("a", "A", "json", fields=(TEXT,)),)),
    ("'a' of type section cannot have 'required'", (Field("a", "A", "section", required=True),)),
    (
        "'faq' of type repeater cannot have 'multiple'",
        (Field("faq", "F", "repeater", fields=(TEXT,), multiple=True),),
    ),
    *(
        (f"'a' of type {type_} cannot have 'indexed'", (Field("a", "A", type_, indexed=True),))
        for type_ in ("rich_text", "json", "section")
    ),
    (
        "'faq' of type repeater cannot have 'indexed'",
        (Field("faq", "F", "repeater", fields=(TEXT,), indexed=True),),
    ),
    ("'a' of type number cannot have 'searchable'", (Field("a", "A", "number", searchable=True),)),
    (
        "Field 'faq.a' cannot have 'indexed': it is inside a repeater",
        (repeater(Field("a", "A", "text", indexed=True)),),
    ),
    (
        "Field 'faq.a' cannot have 'searchable': it is inside a repeater",
        (repeater(Field("a", "A", "text", searchable=True)),),
    ),
    (
        "A content type has at most 20 fields with 'indexed', not 21",
        tuple(Field(f"f{n}", "F", "number", indexed=True) for n in range(21)),
    ),
    (
        "A content type has at most 5 fields with 'searchable', not 6",
        tuple(Field(f"f{n}", "F", "rich_text", searchable=True) for n in range(6)),
    ),
    ("'faq.a' of type text cannot have 'to'", (repeater(Field("a", "A", "text", to=("x",))),)),
    ("Field 'c' of type select needs options", (Field("c", "C", "select"),)),
    ("Field 'faq' of type repeater needs fields", (repeater(),)),
    ("Repeated option in 'c': 'red'", (Field("c", "C", "select", options=COLOURS + COLOURS),)),
    (
        "The option 'red, pale' of 'c' contains a comma",
        (Field("c", "C", "select", options=(Option("red, pale", "R"),), multiple=True),),
    ),
    ("An option of 'c' is empty", (Field("c", "C", "select", options=(Option("", "None"),)),)),
    ("A target of 'r' 'Posts' must be", (Field("r", "R", "reference", to=("Posts",)),)),
    ("Repeaters nest at most 4 deep: 'faq.faq.faq.faq.faq'", (nested(MAX_REPEATER_DEPTH + 1),)),
    (
        "A content type has at most 500 fields, not 501",
        tuple(Field(f"f{n}", "F", "text") for n in range(MAX_FIELDS + 1)),
    ),
    (
        "The repeater 'faq' has at most 500 fields",
        (repeater(*(Field(f"f{n}", "F", "text") for n in range(MAX_FIELDS + 1))),),
    ),
]


@pytest.mark.parametrize("fields", WELL_FORMED)
def test_a_well_formed_definition_is_accepted(fields: tuple[Field, ...]) -> None:
    check_definition("Posts", fields, ())


@pytest.mark.parametrize(("why", "fields"), ILL_FORMED)
def test_an_ill_formed_definition_is_refused_with_the_reason(
    why: str, fields: tuple[Field, ...]
) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        check_definition("Posts", fields, ())
    assert why in str(refused.value)


def test_fields_of_a_repeater_that_is_nested_too_deeply_are_not_checked() -> None:
    """Otherwise each level would be read again for every level around it."""
    found: list[str] = []

    @contextmanager
    def at(*_path: str | int) -> Iterator[None]:
        try:
            yield
        except InvalidDefinition as refused:
            found.append(str(refused))

    check_definition("Posts", [nested(MAX_REPEATER_DEPTH + 3)], (), at)
    assert found == ["Repeaters nest at most 4 deep: 'faq.faq.faq.faq.faq'"]


def test_a_setting_that_is_zero_is_refused_for_a_type_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(definition, "Setting", Literal["minimum"])
    check_definition("Posts", [LimitedField("a", "A", "text")], ())
    with pytest.raises(InvalidDefinition, match="'a' of type text cannot have 'minimum'"):
        check_definition("Posts", [LimitedField("a", "A", "text", minimum=0)], ())


@pytest.mark.parametrize(
    ("why", "stages"),
    [
        ("Repeated stage id: 'a'", (Stage("a", "A"), Stage("a", "B"))),
        ("Stage id 'A' must be", (Stage("A", "A"),)),
        ("The name of stage 'a' is empty", (Stage("a", ""),)),
    ],
)
def test_ill_formed_stages_are_refused(why: str, stages: tuple[Stage, ...]) -> None:
    with pytest.raises(InvalidDefinition, match=why):
        check_definition("Posts", (), stages)


def test_the_name_of_a_content_type_is_bounded() -> None:
    with pytest.raises(InvalidDefinition, match="of the content type has 201 characters"):
        check_definition("A" * 201, (), ())


@pytest.mark.parametrize("name", ["", " ", "\t"])
def test_a_content_type_has_a_name(name: str) -> None:
    with pytest.raises(InvalidDefinition, match="The name of the content type is empty"):
        check_definition(name, (), ())


def test_names_and_options_must_be_storable_text() -> None:
    for what, name, fields in (
        ("The name of the content type", "a\x00", ()),
        ("The name of field 'a'", "A", (Field("a", "\ud800", "text"),)),
        ("An option of 'a'", "A", (Field("a", "A", "select", options=(Option("a\x00", "A"),)),)),
        ("An option of 'a'", "A", (Field("a", "A", "select", options=(Option("a", "\udfff"),)),)),
    ):
        with pytest.raises(InvalidText, match=f"^{what} contains .* remove it"):
            check_definition(name, fields, ())


def test_a_refused_slug_is_reported_with_the_rules() -> None:
    with pytest.raises(InvalidDefinition) as refused:
        check_slug("My posts", "Content type slug")
    assert str(refused.value) == (
        "Content type slug 'My posts' must be 1 to 63 of a-z, 0-9, '-' and '_', "
        "beginning with a letter or digit"
    )


KINDS = [
    Field("f", "F", "text"),
    Field("f", "F", "rich_text"),
    Field("f", "F", "datetime"),
    Field("f", "F", "datetime", range=True),
    Field("f", "F", "reference"),
    Field("f", "F", "reference", multiple=True),
    Field("f", "F", "section"),
]


@pytest.mark.parametrize("before", KINDS)
@pytest.mark.parametrize("after", KINDS)
def test_a_slug_keeps_its_kind_forever(before: Field, after: Field) -> None:
    if before is after:
        check_unchanged_kinds({"f": before}, [after])
        return
    with pytest.raises(InvalidDefinition) as refused:
        check_unchanged_kinds({"f": before}, [after])
    assert "permanently and cannot become" in str(refused.value)
    assert "add a new field" in str(refused.value)


def test_the_refusal_names_both_kinds() -> None:
    before, after = Field("f", "F", "reference", multiple=True), Field("f", "F", "datetime")
    with pytest.raises(
        InvalidDefinition, match=r"'f' is reference \(multiple\) permanently and can"
    ):
        check_unchanged_kinds({"f": before}, [after])


def test_every_field_is_compared_with_the_one_of_its_slug() -> None:
    before, after = Field("f", "F", "datetime", range=True), Field("f", "F", "datetime")
    with pytest.raises(InvalidDefinition, match=r"'f' is datetime \(range\) permanently"):
        check_unchanged_kinds({"f": before}, [Field("new", "N", "text"), after])


def test_everything_but_the_kind_may_change() -> None:
    check_unchanged_kinds(
        {
            "c": Field("c", "C", "select", options=COLOURS),
            "r": Field("r", "R", "reference", to=("posts",)),
        },
        [
            Field("c", "Colour", "select", options=COLOURS[:1], required=True, indexed=True),
            Field("r", "Any", "reference"),
        ],
    )


def revised(content_type: ContentType, *fields: Field) -> ContentType:
    event = ContentTypeRevised(
        workspace="acme",
        environment="production",
        actor=type_created().actor,
        at=NOON,
        content_type_id=content_type.id,
        name="Posts",
        fields=fields,
    )
    return evolve(content_type, event)


def test_a_removed_slug_keeps_its_kind() -> None:
    content_type = revised(evolve(None, type_created(TEXT)))
    assert content_type.fields == ()
    check_unchanged_kinds(content_type.known, [TEXT])
    with pytest.raises(InvalidDefinition, match="'body' is text permanently"):
        check_unchanged_kinds(content_type.known, [Field("body", "Body", "number")])


def test_a_slug_inside_a_repeater_keeps_its_kind_even_if_both_were_removed() -> None:
    content_type = evolve(None, type_created(repeater(TEXT)))
    content_type = revised(content_type, repeater(Field("other", "Other", "text")))
    content_type = revised(content_type)
    check_unchanged_kinds(content_type.known, [repeater(TEXT)])
    with pytest.raises(InvalidDefinition, match=r"'faq\.body' is text permanently"):
        check_unchanged_kinds(content_type.known, [repeater(Field("body", "Body", "number"))])


def test_the_same_slug_may_have_another_kind_at_another_path() -> None:
    known = known_fields({}, [repeater(TEXT), Field("other", "Other", "text")])
    check_unchanged_kinds(known, [Field("body", "Body", "number")])
