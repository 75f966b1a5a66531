"""The number of JSON values in a body is limited before the body is decoded."""

from __future__ import annotations

import json

import pytest
from graphql import OperationDefinitionNode, parse
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from api.errors import BadRequest
from api.graphql import request
from api.graphql.request import read_body, read_variables
from api.graphql.schema import schema
from api.rest.request_body import MAX_VALUES, check_values
from write_side.domain.text import without_strings

CREATE = "mutation($t: [TranslationInput!], $f: JSON) { __typename }"


def variables(sent: bytes) -> dict[str, object]:
    operation = parse(CREATE).definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    return read_variables(Raw(sent), operation, schema._schema)


@pytest.mark.parametrize("value", [b"1", b"{}", b"[]", b'""', b'{"a":[]}', b"[[]]"])
def test_values_are_counted_in_every_notation(value: bytes) -> None:
    many = b"[" + b",".join([value] * (MAX_VALUES + 1)) + b"]"
    with pytest.raises(BadRequest, match="more than 100,000 values: send fewer"):
        check_values(many)


def test_the_maximum_number_of_values_passes() -> None:
    check_values(b"[" + b",".join([b"1"] * (MAX_VALUES - 1)) + b"]")


@pytest.mark.parametrize(
    "text", [b"," * 10**6, b"[{" * 10**6, b'\\"' * 10**6, b"\\\\" * 10**6, b'\\",' * 10**6]
)
def test_commas_inside_a_text_do_not_count(text: bytes) -> None:
    check_values(b'{"a":"' + text + b'"}')


def test_too_many_strings_are_refused_without_splitting() -> None:
    with pytest.raises(BadRequest, match="values"):
        check_values(b"[" + b'"",' * 2 * MAX_VALUES + b'""]')


@pytest.mark.parametrize("body", [b'"' + b"," * 10**6, b'"\\', b"", b"\xff" * 10**6])
def test_invalid_json_is_passed_to_the_parser(body: bytes) -> None:
    check_values(body)


def test_a_graphql_body_is_counted_before_it_is_decoded() -> None:
    body = b'{"query":"{a}","variables":{"t":[' + b"{}," * MAX_VALUES + b"{}]}}"
    with pytest.raises(BadRequest, match="values"):
        read_body(body)


def test_list_items_and_input_fields_are_counted_before_they_are_coerced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(request, "MAX_INPUTS", 4)
    assert variables(b'{"t":[{"locale":"a"},{"locale":"b"}]}')
    monkeypatch.setattr(request, "MAX_INPUTS", 3)
    with pytest.raises(BadRequest, match="more than 3 list items and input fields: send several"):
        variables(b'{"t":[{"locale":"a"},{"locale":"b"}]}')


def test_the_content_of_a_json_scalar_is_not_coerced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "MAX_INPUTS", 0)
    assert variables(b'{"f":{"a":[1,2,3],"b":{}}}')


TEXTS = st.text(alphabet='"\\[]{},:a\n\u20ac', max_size=20)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@given(VALUES)
def test_a_document_without_strings_keeps_its_structure(value: object) -> None:
    def structure(value: object) -> str:
        match value:
            case dict():
                return "{" + ",".join(":" + structure(one) for one in value.values()) + "}"
            case list():
                return "[" + ",".join(map(structure, value)) + "]"
            case str():
                return ""
            case _:
                return json.dumps(value)

    document = json.dumps(value, separators=(",", ":")).encode()
    assert without_strings(document).decode() == structure(value)


@pytest.mark.parametrize(
    ("document", "left"), [(b'[1,"[', b"[1,"), (b'[1,"\\"[', b"[1,"), (b'["\\\\"]', b"[]")]
)
def test_a_string_that_never_ends_extends_to_the_end(document: bytes, left: bytes) -> None:
    assert without_strings(document) == left
