"""A value written into a cell is read back unchanged by an import."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from tests.spreadsheets import REPEATER, SCALAR_FIELDS, plain, repeaters, texts
from write_side.domain.cells import Digits, cell_of, is_blank, same, value_of
from write_side.domain.definition import Field
from write_side.domain.values import checked_value

AUTHOR = Field("author", "Author", "reference")
AUTHORS = Field("authors", "Authors", "reference", multiple=True)
VERBATIM = ("number", "boolean", "json", "repeater")
NAMES = {"id-1": "ann", "id-2": "bob"}


def written(field: Field, value: Raw | None) -> str:
    return cell_of(field, value, NAMES)


def read(field: Field, text: str) -> Raw:
    """Reads a cell as an import does; references are given as ids."""
    if is_blank(field, text):
        return Raw(b"null")
    return value_of(field, text)


@pytest.mark.parametrize("kind", [*SCALAR_FIELDS, "repeater"])
@settings(max_examples=30)
@given(data=st.data())
def test_every_value_is_read_back(kind: str, data: st.DataObject) -> None:
    field, values = SCALAR_FIELDS.get(kind, (REPEATER, repeaters))
    value = checked_value(field, data.draw(values), field.slug)
    back = read(field, written(field, value))
    assert same(field, back, value)
    if field.type in VERBATIM:
        assert bytes(back) == bytes(value)
    else:
        assert msgspec.json.decode(back) == msgspec.json.decode(value)


@settings(max_examples=30)
@given(st.lists(texts, max_size=3))
def test_a_list_of_any_names_is_read_back(names: list[str]) -> None:
    field = Field("gallery", "Gallery", "media", multiple=True)
    assert msgspec.json.decode(read(field, written(field, plain(names)))) == names


WRITTEN: list[tuple[Field, Any, str]] = [
    (SCALAR_FIELDS["text"][0], "=1+1", "=1+1"),
    (SCALAR_FIELDS["text"][0], "", '""'),
    (SCALAR_FIELDS["text"][0], '""', '""""'),
    (SCALAR_FIELDS["number"][0], Raw(b"-1.10"), "-1.10"),
    (SCALAR_FIELDS["boolean"][0], True, "true"),
    (SCALAR_FIELDS["datetime"][0], "2026-01-31", "2026-01-31"),
    (SCALAR_FIELDS["range"][0], {"to": "2026-02-01", "from": "2026-01"}, "2026-01 / 2026-02-01"),
    (SCALAR_FIELDS["selects"][0], ["news", "how to"], "news, how to"),
    (SCALAR_FIELDS["selects"][0], ["news", " lead"], '["news"," lead"]'),
    (SCALAR_FIELDS["selects"][0], [], "[]"),
    (SCALAR_FIELDS["medias"][0], ["hero", "logo"], "hero, logo"),
    (SCALAR_FIELDS["json"][0], {"b": 1, "a": None}, '{"b":1,"a":null}'),
    (REPEATER, [{"body": "é"}], '[{"body":"é"}]'),
    (AUTHOR, "id-1", "ann"),
    (AUTHOR, "id-3", "id-3"),
    (AUTHORS, ["id-1", "id-3", "id-2"], "ann, id-3, bob"),
    (AUTHORS, [], "[]"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "expected"), WRITTEN)
def test_a_value_is_written_as_people_would(field: Field, value: Any, expected: str) -> None:
    assert written(field, value if isinstance(value, Raw) else plain(value)) == expected


@pytest.mark.parametrize(
    "field", [REPEATER, AUTHOR, AUTHORS, *(f for f, _ in SCALAR_FIELDS.values())]
)
def test_a_missing_value_is_a_blank_cell(field: Field) -> None:
    assert written(field, None) == ""
    assert written(field, Raw(b"null")) == ""


def test_only_numbers_are_not_written_as_text() -> None:
    assert type(written(SCALAR_FIELDS["number"][0], Raw(b"-1"))) is Digits
    assert type(written(SCALAR_FIELDS["json"][0], Raw(b"-1"))) is str
