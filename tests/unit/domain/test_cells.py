"""How cells become values: every row of the table in behaviour.md §4.6, and what is refused."""

from __future__ import annotations

import time

import pytest
from msgspec import Raw

from write_side.domain.cells import (
    EXCEL_BOOLEANS,
    FALSE,
    TRUE,
    BadCell,
    cell_of,
    is_blank,
    is_listable,
    names_in,
    same,
    value_of,
)
from write_side.domain.definition import Field, Option
from write_side.domain.field_types import FieldType
from write_side.imports.rows import status_of

OPTIONS = (Option("news", "News"), Option("how to", "How-to"))


def field(kind: FieldType, **properties: object) -> Field:
    options = OPTIONS if kind == "select" else ()
    inner = (Field("q", "Question", "text"),) if kind == "repeater" else ()
    return Field("f", "F", kind, options=options, fields=inner, **properties)  # type: ignore[arg-type]


def value(kind: FieldType, cell: str, **properties: object) -> str:
    return bytes(value_of(field(kind, **properties), cell)).decode()


@pytest.mark.parametrize(
    ("kind", "cell", "json"),
    [
        ("text", " Ada, «Countess»\n", '" Ada, «Countess»\\n"'),
        ("text", "007", '"007"'),
        ("rich_text", "<p>x</p>", '"<p>x</p>"'),
        ("number", "1,234.5", "1234.5"),
        ("number", "0,000", "0"),
        ("number", "12,345,678", "12345678"),
        ("number", " +007 ", "7"),
        ("number", "-0.50", "-0.50"),
        ("number", ".5", "0.5"),
        ("number", "+.5", "0.5"),
        ("number", "1e3", "1e3"),
        ("number", "12345678901234567890.123", "12345678901234567890.123"),
        ("boolean", " Yes ", "true"),
        ("boolean", "1", "true"),
        ("boolean", "ON", "true"),
        ("boolean", "true", "true"),
        ("boolean", "no", "false"),
        ("boolean", "0", "false"),
        ("boolean", "off", "false"),
        ("boolean", "FALSE", "false"),
        ("boolean", "WAHR", "true"),
        ("boolean", "Faux", "false"),
        ("datetime", " 2026-01-31 ", '"2026-01-31"'),
        ("datetime", "2026-01-31T09:30:00Z", '"2026-01-31T09:30:00Z"'),
        ("datetime", "2026-01-31 09:30z", '"2026-01-31 09:30z"'),
        ("datetime", "20260131", '"2026-01-31"'),
        ("select", " news ", '"news"'),
        ("json", '{"a": [1, 2.0]}', '{"a":[1,2.0]}'),
        ("repeater", '[{"q": "Why?", "x": 1}]', '[{"q":"Why?"}]'),
    ],
)
def test_a_cell_is_the_value_of_its_field(kind: FieldType, cell: str, json: str) -> None:
    assert value(kind, cell) == json


@pytest.mark.parametrize(("true", "false"), EXCEL_BOOLEANS.items())
def test_a_boolean_may_be_in_the_language_of_excel(true: str, false: str) -> None:
    for cell in (true, f" {true.capitalize()} "):
        assert value("boolean", cell) == "true"
    assert value("boolean", false) == "false"


def test_no_word_is_both_true_and_false() -> None:
    assert not TRUE & FALSE


def test_a_range_is_written_as_from_to() -> None:
    expected = '{"from":"2026-01-31","to":"2026-02-01T10:00:00Z"}'
    assert value("datetime", "2026-01-31 / 2026-02-01T10:00:00Z", range=True) == expected
    assert value("datetime", "2026-01-31/2026-02-01T10:00:00Z", range=True) == expected


def test_several_options_are_comma_separated() -> None:
    assert value("select", "news, how to,", multiple=True) == '["news","how to"]'


SIZES = (Option("XL", "Large, wide"), Option("s", "Small"), Option("S", "Swedish"))


@pytest.mark.parametrize(
    ("cell", "several", "chosen"),
    [
        ("xl", False, '"XL"'),
        ("small", False, '"s"'),
        ("S", False, '"S"'),
        (" Large, wide ", False, '"XL"'),
        (" Large, wide ", True, '["XL"]'),
        ("xl, S, small", True, '["XL","S","s"]'),
        (' ["Large, wide", "S"]', True, '["XL","S"]'),
    ],
)
def test_an_option_is_named_by_its_value_or_label(cell: str, several: bool, chosen: str) -> None:
    sizes = Field("f", "F", "select", options=SIZES, multiple=several)
    assert value_of(sizes, cell) == Raw(chosen.encode())


def test_an_invalid_list_of_options_is_refused_in_the_terms_of_a_cell() -> None:
    expected = "^takes a list, with commas between the options, of: news, how to$"
    with pytest.raises(BadCell, match=expected):
        value("select", "sports", multiple=True)


def test_a_list_that_json_cannot_hold_is_separated_by_commas() -> None:
    names = field("reference", multiple=True)
    assert names_in(names, '["a", b]') == ['["a"', "b]"]
    assert names_in(names, '["\ud800"]') == ['["\ud800"]']


@pytest.mark.parametrize(
    ("kind", "cell", "reason"),
    [
        ("number", "1.234,5", "takes a number"),
        ("number", "+", "takes a number"),
        ("number", "e5", "takes a number"),
        ("number", "12,34", "takes a number"),
        ("number", "1,2345", "takes a number"),
        ("number", "ten", "takes a number"),
        ("number", "0x10", "takes a number"),
        ("number", "٣", "takes a number"),
        ("number", "NaN", "takes a number"),
        ("number", "1e999", "takes a finite number"),
        ("boolean", "maybe", "takes true or false, yes or no"),
        ("datetime", "31.01.2026", "takes an ISO 8601 date"),
        ("datetime", "2026-02-30", "^names a day that does not exist: 2026-02-30$"),
        ("datetime", "2026-366T09:30", "names a day that does not exist"),
        ("datetime", "9999-366", "names a day that does not exist"),
        ("datetime", "2026-W54-1", "names a day that does not exist"),
        ("datetime", "2026-01-31T25:00", "takes an ISO 8601 date"),
        ("select", "sports", "^takes one of: news, how to$"),
        ("json", "{oops", "takes JSON text"),
        ("json", "9" * 4_001, "^takes numbers of at most 4,000 characters$"),
        ("json", '"\\u0000"', "NUL"),
        ("text", "a\x00b", "NUL"),
        ("repeater", "[1]", "takes an array of objects"),
        ("repeater", '[{"q": 3}]', r"^f\[0\]\.q takes a string$"),
    ],
)
def test_an_invalid_cell_is_refused_with_what_it_should_be(
    kind: FieldType, cell: str, reason: str
) -> None:
    with pytest.raises(BadCell, match=reason):
        value(kind, cell)


def test_a_range_without_an_end_is_refused() -> None:
    with pytest.raises(BadCell, match="from / to"):
        value("datetime", "2026-01-31", range=True)
    with pytest.raises(BadCell, match="takes a range"):
        value("datetime", "2026-01-31 / soon", range=True)


def test_a_range_of_any_length_is_refused_at_once() -> None:
    began = time.perf_counter()
    with pytest.raises(BadCell, match="from / to"):
        value("datetime", f"a{' ' * 50_000}b", range=True)
    assert time.perf_counter() - began < 20  # seconds; backtracking takes hours


def test_white_space_is_a_value_only_of_texts() -> None:
    assert not is_blank(field("text"), " ")
    assert is_blank(field("text"), "")
    assert is_blank(field("number"), " \t")


@pytest.mark.parametrize(
    ("cell", "status"),
    [
        ("Published", "published"),
        (" ARCHIVED ", "archived"),
        ("draft", "draft"),
        ("", "draft"),
        ("live", "draft"),
    ],
)
def test_any_other_status_is_a_draft(cell: str, status: str) -> None:
    assert status_of(cell) == status


INNER = (Field("n", "N", "number"), Field("j", "J", "json"))
REPEATER = Field("f", "F", "repeater", fields=INNER)


@pytest.mark.parametrize(
    ("of_field", "one", "other", "expected"),
    [
        (field("number"), "1.0", "1", True),
        (field("number"), "1e400", "2e400", False),
        (field("number"), "1e-99999999999999999999", "0", False),
        (field("text"), '"\\u00e9"', '"é"', True),
        (field("text"), '"a"', '"b"', False),
        (field("text"), '"a"', "null", False),
        (field("text"), "null", "null", True),
        (field("datetime", range=True), '{"from":"a","to":"b"}', '{"to":"b","from":"a"}', True),
        (field("json"), "1.0", "1", False),
        (field("json"), '{"a":1,"b":2}', '{"a":1,"b":2}', True),
        (REPEATER, '[{"n":1.0}]', '[{"n":1,"j":null}]', True),
        (REPEATER, '[{"n":1,"gone":2}]', '[{"n":1}]', True),
        (REPEATER, '[{"j":1.0}]', '[{"j":1}]', False),
        (REPEATER, "null", "[]", False),
        (REPEATER, "[{}]", "[]", False),
    ],
)
def test_values_are_equal_in_every_notation(
    of_field: Field, one: str, other: str, expected: bool
) -> None:
    assert same(of_field, Raw(one.encode()), Raw(other.encode())) is expected
    assert same(of_field, Raw(other.encode()), Raw(one.encode())) is expected


@pytest.mark.parametrize(
    ("of_field", "value", "cell"),
    [
        (field("text"), '"\\"\\""', '""""'),
        (field("text"), '"\\""', '"'),
        (field("select"), '"how to"', "how to"),
        (field("select", multiple=True), '["news","how to"]', "news, how to"),
        (field("reference"), '"id-1"', "ann"),
        (field("reference"), '"id-2"', "id-2"),
        (field("media", multiple=True), '["a,b"]', '["a,b"]'),
        (field("media", multiple=True), "[]", "[]"),
        (field("number"), "null", ""),
    ],
)
def test_a_value_is_written_as_a_cell_that_can_be_read_back(
    of_field: Field, value: str, cell: str
) -> None:
    assert cell_of(of_field, Raw(value.encode()), {"id-1": "ann"}) == cell
    if cell and "id-" not in value:
        assert bytes(value_of(of_field, cell)).decode() == value


@pytest.mark.parametrize(
    ("name", "expected"),
    [("hero", True), ("a b", True), ("", False), (" a", False), ("a,b", False), ("[a", False)],
)
def test_a_name_is_listable_if_it_can_be_read_back_from_a_list(name: str, expected: bool) -> None:
    assert is_listable(name) is expected
