"""A value fits its field, or the refusal names the field (behaviour.md, "Field values")."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from msgspec import Raw

from tests.unit.samples import COLOURS, raw, raws
from write_side.domain.definition import Field
from write_side.domain.field_types import FieldType
from write_side.domain.refusals import InvalidField
from write_side.domain.values import MAX_ITEMS, checked, checked_value, missing, targets

DATES = 'a range {"from": …, "to": …} of ISO 8601 dates or date-times'
DATE = "an ISO 8601 date or date-time, such as 2026-01-31 or 2026-01-31T09:30:00Z"
ELEMENTS = "an array of objects keyed by its field slugs"

TEXT = Field("f", "F", "text")
RICH = Field("f", "F", "rich_text")
NUMBER = Field("f", "F", "number")
BOOLEAN = Field("f", "F", "boolean")
DATETIME = Field("f", "F", "datetime")
RANGE = Field("f", "F", "datetime", range=True)
SELECT = Field("f", "F", "select", options=COLOURS)
SELECTS = Field("f", "F", "select", options=COLOURS, multiple=True)
REFERENCE = Field("f", "F", "reference")
REFERENCES = Field("f", "F", "reference", multiple=True)
MEDIA = Field("f", "F", "media")
MEDIAS = Field("f", "F", "media", multiple=True)
JSON = Field("f", "F", "json")
REPEATER = Field("f", "F", "repeater", fields=(Field("q", "Q", "text"), Field("n", "N", "number")))

GOOD: dict[str, tuple[Field, list[str]]] = {
    "text": (TEXT, ['""', '"a"', '"\\u00e9\\n"', '"日本"']),
    "rich_text": (RICH, ['"<p>a</p>"', '""']),
    "number": (
        NUMBER,
        ["0", "-0", "1.0", "1.10", "-1.5e-7", "1E5", "9" * 300, "0." + "1" * 400, "1e-999"],
    ),
    "boolean": (BOOLEAN, ["true", "false"]),
    "datetime": (DATETIME, ['"2026-01-31"', '"2026-01-31T09:30:00Z"']),
    "datetime range": (RANGE, ['{"from":"2026-01-31","to":"2026-02-01T00:00Z"}']),
    "select": (SELECT, ['"red"', '"green"', '"r\\u0065d"']),
    "select multiple": (SELECTS, ["[]", '["red"]', '["green","red"]']),
    "reference": (REFERENCE, ['"018f0000-0000-7000-8000-000000000001"', '"anything"']),
    "reference multiple": (REFERENCES, ["[]", '["a","b"]']),
    "media": (MEDIA, ['"hero"']),
    "media multiple": (MEDIAS, ["[]", '["hero","logo"]']),
    "json": (JSON, ["0", '""', "[]", "{}", '{"a":[1,{"b":null}]}', "false", '{"z":1,"a":2}']),
    "repeater": (REPEATER, ["[]", "[{}]", '[{"q":"a","n":1.50},{"q":null}]']),
}

BAD: dict[str, tuple[Field, str, list[str]]] = {
    "text": (TEXT, "a string", ["1", "true", "[]", "{}", '["a"]']),
    "rich_text": (RICH, "a string", ["1", "false", '{"html":"a"}']),
    "number": (
        NUMBER,
        "a finite number",
        ['"1"', "true", "[]", "{}", "[1]", "1e999", "-1e999", "9" * 400],
    ),
    "boolean": (BOOLEAN, "true or false", ["0", "1", '"true"', '"yes"', "[]", "{}"]),
    "datetime": (DATETIME, DATE, ["1", "true", "{}", '["2026-01-31"]', '""', '"today"']),
    "datetime range": (
        RANGE,
        DATES,
        [
            '"2026-01-31"',
            "{}",
            '{"from":"2026-01-31"}',
            '{"from":"2026-01-31","to":null}',
            '{"from":"2026-01-31","to":"2026-02-30"}',
            '{"from":"2026-01-31","to":"2026-02-01","by":"x"}',
            '["2026-01-31","2026-02-01"]',
        ],
    ),
    "select": (SELECT, "one of: red, green", ['"blue"', '"Red"', '""', "1", '["red"]']),
    "select multiple": (
        SELECTS,
        "an array of: red, green",
        ['"red"', '["red","blue"]', "[null]", "[1]", "{}"],
    ),
    "reference": (REFERENCE, "the id of an entry", ["1", '["a"]', '{"id":"a"}', "true"]),
    "reference multiple": (
        REFERENCES,
        "an array of ids of entries",
        ['"a"', "[1]", "[null]", '{"id":"a"}', '[["a"]]'],
    ),
    "media": (MEDIA, "the id of a media file", ["1", '["hero"]', "{}"]),
    "media multiple": (MEDIAS, "an array of ids of media files", ['"hero"', "[1]", "[null]"]),
    "repeater": (REPEATER, ELEMENTS, ["1", '"[]"', "{}", "[1]", "[null]", "[[]]"]),
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in GOOD.values() for value in values]
)
def test_a_valid_value_is_returned_as_sent(field: Field, value: str) -> None:
    assert bytes(checked_value(field, Raw(value.encode()), "f")) == value.encode()


@pytest.mark.parametrize(
    ("field", "expected", "value"),
    [(field, expected, value) for field, expected, values in BAD.values() for value in values],
)
def test_an_invalid_value_is_refused_with_what_the_field_takes(
    field: Field, expected: str, value: str
) -> None:
    with pytest.raises(InvalidField) as refused:
        checked_value(field, Raw(value.encode()), "f")
    assert str(refused.value) == f"Field 'f' takes {expected}"


@pytest.mark.parametrize("field", [field for field, _ in GOOD.values()])
def test_null_empties_any_field(field: Field) -> None:
    assert bytes(checked_value(field, Raw(b"null"), "f")) == b"null"


def test_every_type_that_holds_values_is_in_the_tables() -> None:
    types = set(get_args(FieldType)) - {"section"}
    assert types - {field.type for field, _ in GOOD.values()} == set(), "add them to GOOD"
    assert types - {field.type for field, _, _ in BAD.values()} == {"json"}, "add them to BAD"


def test_unknown_slugs_and_sections_are_ignored() -> None:
    fields = [Field("intro", "Intro", "section"), TEXT]
    assert checked(fields, raws(intro="x", f="kept", other=1)) == raws(f="kept")


def test_values_are_kept_in_the_order_of_the_type() -> None:
    fields = [Field(slug, slug, "text") for slug in ("c", "a", "b")]
    assert list(checked(fields, raws(a="1", b="2", c="3"))) == ["c", "a", "b"]


def test_absent_values_are_not_stored() -> None:
    assert checked([TEXT], {}) == {}


def nested(value: Any) -> dict[str, Raw]:
    inner = Field("links", "Links", "repeater", fields=(Field("n", "N", "number"),))
    faq = Field("faq", "FAQ", "repeater", fields=(Field("q", "Q", "text"), inner))
    return checked([faq], raws(faq=value))


def test_a_repeater_is_checked_by_the_same_rules_at_any_depth() -> None:
    with pytest.raises(InvalidField) as refused:
        nested([{"q": "a"}, {"q": "b", "links": [{"n": 1}, {"n": 2}, {"n": "3"}]}])
    assert str(refused.value) == "Field 'faq[1].links[2].n' takes a finite number"


def test_unknown_slugs_inside_a_repeater_are_ignored() -> None:
    value = [{"other": 1, "links": [{"n": 1, "x": 2}], "q": None}]
    assert nested(value) == raws(faq=[{"q": None, "links": [{"n": 1}]}])


def test_numbers_inside_a_repeater_keep_their_text() -> None:
    value = Raw(b'[{"n":1.500},{"n":123456789012345678901234567890}]')
    assert bytes(checked([REPEATER], {"f": value})["f"]) == bytes(value)


REQUIRED_TEXT = Field("f", "F", "text", required=True)


@pytest.mark.parametrize(
    ("field", "empty"),
    [
        (REQUIRED_TEXT, "null"),
        (REQUIRED_TEXT, '""'),
        (Field("f", "F", "reference", required=True, multiple=True), "[]"),
        (Field("f", "F", "repeater", required=True, fields=(TEXT,)), "[]"),
        (Field("f", "F", "json", required=True), "null"),
    ],
)
def test_an_empty_required_field_is_missing(field: Field, empty: str) -> None:
    assert missing([field], {"f": Raw(empty.encode())}) == ["f"]
    assert missing([field], {}) == ["f"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (REQUIRED_TEXT, '" "'),
        (Field("f", "F", "boolean", required=True), "false"),
        (Field("f", "F", "number", required=True), "0"),
        (Field("f", "F", "json", required=True), "[]"),
        (Field("f", "F", "json", required=True), '""'),
        (Field("f", "F", "json", required=True), "{}"),
        (TEXT, "null"),
    ],
)
def test_a_value_is_not_missing(field: Field, value: str) -> None:
    assert missing([field], {"f": Raw(value.encode())}) == []


def test_a_required_field_is_missing_inside_a_repeater_too() -> None:
    faq = Field("faq", "FAQ", "repeater", fields=(REQUIRED_TEXT,))
    assert missing([faq], raws(faq=[{"f": "a"}, {}, {"f": ""}])) == ["faq[1].f", "faq[2].f"]
    assert missing([faq], raws(faq=[])) == []


def test_targets_are_found_at_any_depth() -> None:
    author = Field("author", "Author", "reference")
    covers = Field("covers", "Covers", "media", multiple=True)
    faq = Field("faq", "FAQ", "repeater", fields=(author, covers))
    values = raws(author="a", covers=["x", "y"], faq=[{}, {"author": "b", "covers": ["z"]}])
    values["gone"] = raw("c")
    found = [(t.path, t.field.type, t.id) for t in targets([author, covers, faq], values)]
    assert found == [
        ("author", "reference", "a"),
        ("covers", "media", "x"),
        ("covers", "media", "y"),
        ("faq[1].author", "reference", "b"),
        ("faq[1].covers", "media", "z"),
    ]


def test_a_target_belongs_to_its_field_in_any_element() -> None:
    author = Field("author", "Author", "reference")
    faq = Field("faq", "FAQ", "repeater", fields=(author,))
    (one,) = targets([faq], raws(faq=[{"author": "a"}]))
    (_, other) = targets([faq], raws(faq=[{"author": "b"}, {"author": "a"}]))
    (outside,) = targets([author], raws(author="a"))
    assert one.reference_key == other.reference_key
    assert one.reference_key != outside.reference_key


LONG = "1" * 4_001


@pytest.mark.parametrize("value", [LONG, f'{{"a": [-0.{LONG}]}}', f'["\\"{LONG}", {LONG}]'])
def test_a_number_of_more_than_4000_characters_is_refused(value: str) -> None:
    with pytest.raises(InvalidField, match="'meta' takes numbers of at most 4,000 characters"):
        checked_value(JSON, Raw(value.encode()), "meta")


@pytest.mark.parametrize("value", ["1" * 4_000, f'"{LONG}"', f'{{"{LONG}": ["\\"{LONG}"]}}'])
def test_long_runs_of_digits_in_strings_are_kept(value: str) -> None:
    sent = Raw(value.encode())
    assert checked_value(JSON, sent, "meta") == sent


def array(item: str, length: int) -> Raw:
    return Raw(f"[{','.join([item] * length)}]".encode())


@pytest.mark.parametrize(
    ("field", "item"),
    [(SELECTS, '"red"'), (REFERENCES, '"a,b"'), (REPEATER, '{"q":"a","n":1}')],
    ids=lambda given: given.type if isinstance(given, Field) else "",
)
def test_an_array_of_more_than_5000_elements_is_refused(field: Field, item: str) -> None:
    most = array(item, MAX_ITEMS)
    assert checked_value(field, most, "f") == most
    with pytest.raises(InvalidField, match="'f' takes an array of up to 5,000: use several"):
        checked_value(field, array(item, MAX_ITEMS + 1), "f")
