"""How a file's columns are mapped: by heading, by a saved mapping or by position."""

from __future__ import annotations

import pytest

from tests.time_limits import at_most
from write_side.domain.definition import Field
from write_side.domain.events import MappedColumn
from write_side.domain.identity import Scope
from write_side.imports.columns import EXPORTED as EXPORT
from write_side.imports.columns import (
    MappingRefused,
    UnknownColumn,
    column_targets,
    columns_of,
    headings_row,
    map_columns,
    match_headings,
    propose_targets,
)
from write_side.imports.csv_reader import csv_table
from write_side.imports.request import ImportRequest
from write_side.imports.table import FileRefused, Row, Table

REQUEST = ImportRequest(Scope("acme", "production"), "posts", "i-1")
FIELDS = (
    Field("body", "Text", "text"),
    Field("second", "Body", "text"),
    Field("views", "Views", "number"),
    Field("goes_live", "Goes live", "datetime"),
    Field("title", "Title", "text"),
)
REQUIRED = (Field("body", "Text", "text", required=True), *FIELDS[2:4])


def targets(*headings: str) -> list[str]:
    return list(propose_targets(headings, FIELDS).targets)


def test_headings_are_compared_by_name_then_slug_without_regard_to_case() -> None:
    assert targets("title", "VIEWS", " Text ", "body") == ["Title", "views", "body", "second"]
    assert targets("Title", "second", "Body") == ["Title", "second", "body"]


def test_composed_and_decomposed_headings_match() -> None:
    fields = (Field("price", "Prix é", "number"), Field("decomposed", "Pe\u0301riode", "text"))
    headings = ("Title", "Prix e\u0301", "Période")
    expected = ("Title", "price", "decomposed")
    assert propose_targets(headings, fields).targets == expected
    table = Table("x.csv", headings, (Row(2, ("a", "1", "e\u0301")),))
    assert map_columns(REQUEST, (), None, table, fields).targets == expected
    saved = [MappedColumn("Prix é", "decomposed")]
    assert propose_targets(headings, fields, saved).targets[1] == "decomposed"
    named = map_columns(REQUEST, [("prix é", "")], "période", table, fields)
    assert (named.targets[1], named.key) == ("", 2)


def test_large_headings_and_many_choices_are_compared_quickly() -> None:
    large = ("a" + "\u0301\u0323" * 20_000, *(f"{'é_' * 200_000}{n}" for n in range(5)))
    many = tuple(f"{'column ' * 20}{n}" for n in range(500 - len(large)))
    table = Table("x.csv", (*many, *large), (Row(2, ("",) * 500),))
    maps = [(heading.upper() if heading in many else heading, "") for heading in table.headings]
    with at_most(1):
        assert targets("Title", *large) == ["Title", *[""] * len(large)]
        mapped = map_columns(REQUEST, maps, None, table, FIELDS)
    assert set(mapped.targets) == {""}


@pytest.mark.parametrize("heading", ["goes_live", "GOES-LIVE", "  Goes   live", "Goes_-live"])
def test_spaces_underscores_and_hyphens_are_alike(heading: str) -> None:
    assert targets(heading) == ["goes_live"]


def test_an_exported_file_is_mapped_automatically() -> None:
    own = ["", "Title", "Slug", "Status", "", "", "", ""]
    found = propose_targets((*EXPORT, *(field.name for field in FIELDS)), FIELDS)
    assert list(found.targets) == [*own, *(field.slug for field in FIELDS)]
    assert set(found.sources) == {"heading"}


def test_language_comes_after_the_fields() -> None:
    """An export's language column is mapped; a field with that name or slug takes precedence."""
    assert targets("Title", "language") == ["Title", "Language"]
    for field in (Field("tongue", "Language", "text"), Field("language", "Tongue", "text")):
        exported = (*EXPORT, field.name, "Language")
        assert propose_targets(exported[:-1], [field]).targets[8:] == (field.slug,)
        assert propose_targets(exported, [field]).targets[8:] == (field.slug, "Language")
        assert propose_targets(("LANGUAGE",), [field]).targets == (field.slug,)
    assert targets("") == [""]


def test_a_saved_mapping_is_not_used_for_an_exported_file() -> None:
    saved = (MappedColumn("Status", "second"), MappedColumn("Title", "title"))
    headings = (*EXPORT, *(field.name for field in FIELDS))
    assert propose_targets(headings, FIELDS, saved) == propose_targets(headings, FIELDS)
    assert propose_targets(headings[1:], FIELDS, saved).sources[0] == "saved"


def test_a_heading_that_repeats_is_the_entrys_own_and_then_the_fields() -> None:
    assert targets("Title", "Title", "Title") == ["Title", "title", ""]


def test_a_heading_without_a_match_gets_no_proposal() -> None:
    found = propose_targets(("Colour", "", "Views", "views"), FIELDS)
    assert found.targets == ("", "", "views", "")
    assert found.sources == ("", "", "heading", "")


SAVED = (
    MappedColumn("Price", "views"),
    MappedColumn("Name", "Title"),
    MappedColumn("Name", "second"),
    MappedColumn("Text", ""),
    MappedColumn("Gone", "gone"),
)


def test_a_saved_target_takes_precedence_over_the_heading() -> None:
    found = propose_targets(
        ("Name", "TEXT", "price", "Views", "name", "Gone", "Body"), FIELDS, SAVED
    )
    assert found.targets == ("Title", "", "views", "", "second", "", "body")
    assert found.sources == ("saved", "saved", "saved", "", "saved", "", "heading")


def test_a_mapping_is_by_position() -> None:
    columns = columns_of(("x", "Title", "x"), ("body", "Title", ""), FIELDS)
    assert [(column.index, column.heading, column.target) for column in columns] == [
        (0, "x", FIELDS[0]),
        (1, "Title", "Title"),
    ]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (("", "body", ""), "no column is mapped to Title"),
        (("Title", "", ""), "no column is mapped to the required field 'Text'"),
        (("", "", ""), "to Title; no column is mapped to the required"),
        (("Title", "Title", "body"), "2 columns are mapped to 'Title'"),
        (("Title", "body", "colour"), "unknown target 'colour'"),
        (("Title", "body", "title"), "unknown target 'title'"),
        (("Title", "body"), "the file has 3 columns, not 2"),
    ],
)
def test_an_invalid_mapping_lists_all_its_errors(chosen: tuple[str, ...], message: str) -> None:
    with pytest.raises(MappingRefused, match=message):
        columns_of(("a", "b", "c"), chosen, REQUIRED)


def test_targets_include_which_are_required() -> None:
    offered = [(target.target, target.name, target.required) for target in column_targets(REQUIRED)]
    assert offered == [
        ("Title", "Title", True),
        ("Slug", "Slug", False),
        ("Status", "Status", False),
        ("Language", "Language", False),
        ("body", "Text", True),
        ("views", "Views", False),
        ("goes_live", "Goes live", False),
    ]


def test_without_interaction_each_heading_must_match() -> None:
    assert match_headings(("Colour", "Title", ""), FIELDS, {0: "views"}) == ("views", "Title", "")
    assert match_headings(("Colour", "Title"), FIELDS, {0: ""}) == ("", "Title")
    with pytest.raises(
        MappingRefused, match=r"matches the heading 'Colour'; targets are: .* Views, "
    ):
        match_headings(("Colour", "Title"), FIELDS, {})
    with pytest.raises(MappingRefused, match="matches the headings 'Colour', 'Views'"):
        match_headings(("Colour", "Price", "Views"), FIELDS, {1: "views"})


def test_without_interaction_a_column_with_cells_needs_a_heading() -> None:
    headings = ("Title", "", " ", "")
    rows = (Row(2, ("A", "b", "", " ")), Row(3, ("B", "c", "d", "")))
    expected = r": cells without a heading are in column 2 \(B: 2 cells\), column 3 \(C: 1 cell\)"
    with pytest.raises(MappingRefused, match=expected):
        match_headings(headings, FIELDS, {}, rows)
    with pytest.raises(
        MappingRefused, match=r"the heading 'Colour'.*; .* in column 2 \(B: 2 cells\)"
    ):
        map_columns(REQUEST, [("3", "")], None, Table("", ("Colour", *headings[1:]), rows), FIELDS)
    chosen = map_columns(
        REQUEST, [("2", "body"), ("3", "")], None, Table("", headings, rows), FIELDS
    )
    assert chosen.targets == ("Title", "body", "", "")
    with pytest.raises(MappingRefused, match=r"column 6 \(F: 1 cell\) and 3 more"):
        match_headings(("Title", *[""] * 8), FIELDS, {}, [Row(2, ("x",) * 9)])


def test_a_row_of_texts_is_not_taken_for_the_headings() -> None:
    for cells in (("Title", "Colour"), ("Text", "Views"), ("", "")):
        assert headings_row([Row(2, cells)], FIELDS) is None


def test_a_column_that_exports_have_fills_no_field_silently() -> None:
    fields = [Field("created", "Made on", "text"), Field("code", "ID", "text")]
    for heading, slug in (("Created", "created"), ("id", "code")):
        expected = f"'{heading}' is the name of a field, but also of a column that exports have"
        with pytest.raises(MappingRefused, match=expected):
            match_headings(("Title", heading), fields, {})
        for target in (slug, ""):
            assert match_headings(("Title", heading), fields, {1: target}) == ("Title", target)
        assert match_headings(("Title", heading, heading), fields, {}) == ("Title", "", slug)
    assert match_headings(EXPORT, fields, {})[0] == ""


@pytest.mark.parametrize(
    "document",
    [
        b"My list\nTitle,Views\nA,1\n",
        b"My list,\nTitle,Views\nA,1\n",
        b"My list\nTitle\nA\n",
        b"My list,,\nof 2026,,\nID,title,goes live\nA\n",
    ],
)
def test_a_title_above_the_headings_is_to_be_deleted(document: bytes) -> None:
    """Excel pads every row of a CSV file to the same width."""
    with pytest.raises((FileRefused, MappingRefused), match=r"delete (the )?rows above"):
        map_columns(REQUEST, [], None, csv_table(document, "a.csv"), FIELDS)


def test_a_long_heading_is_shortened_in_columns_and_refusals() -> None:
    """Each note about a column repeats its heading."""
    long = f"Views {'x' * 100_000}"
    title, views = columns_of(("Title", long), ("Title", "views"), (FIELDS[2],))
    assert (title.heading, len(views.heading)) == ("Title", 60)
    for refuse in (
        lambda: match_headings(("Title", long), FIELDS, {}),
        lambda: map_columns(
            REQUEST, [("Colour", "views")], None, Table("", ("Title", long), ()), FIELDS
        ),
        lambda: map_columns(REQUEST, [(long, "views")], None, Table("", ("Title",), ()), FIELDS),
        lambda: map_columns(REQUEST, [("Title", long)], None, Table("", ("Title",), ()), FIELDS),
    ):
        with pytest.raises((MappingRefused, UnknownColumn)) as refused:
            refuse()
        assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("key", "maps", "targets"),
    [
        ("SKU", [("Views", "")], ("Title", "", "", "")),
        ("4", [("SKU", "")], ("Title", "", "views", "")),
        ("Views", [("SKU", "")], ("Title", "", "views", "")),
        ("SKU", [("SKU", "body")], ("Title", "body", "views", "")),
    ],
    ids=["no field", "no heading", "a field", "mapped"],
)
def test_the_column_of_the_key_needs_no_target(
    key: str, maps: list[tuple[str, str]], targets: tuple[str, ...]
) -> None:
    cells = ("A", "7", "1", "8" if key == "4" else "")
    table = Table("", ("Title", "SKU", "Views", ""), (Row(2, cells),))
    mapped = map_columns(REQUEST, maps, key, table, FIELDS)
    assert mapped.targets == targets
    assert mapped.key == (int(key) - 1 if key == "4" else table.headings.index(key))


def test_a_number_of_thousands_of_digits_is_not_a_column() -> None:
    with pytest.raises(UnknownColumn, match="The file has no column '1111"):
        map_columns(REQUEST, [("1" * 5_000, "views")], None, Table("", ("Title",), ()), FIELDS)
    assert (
        map_columns(REQUEST, [("2", "views")], None, Table("", ("Title", "x"), ()), FIELDS).targets[
            1
        ]
        == "views"
    )


def test_a_column_with_two_targets_is_refused() -> None:
    """One column may be named by its heading, in any case, and by its number."""
    table = Table("", ("Title", "x"), ())
    twice = map_columns(REQUEST, [("x", "views"), ("2", "views")], None, table, FIELDS)
    assert twice.targets == ("Title", "views")
    with pytest.raises(MappingRefused, match="the column '2' has two targets: choose one"):
        map_columns(REQUEST, [("x", "views"), ("2", "body")], None, table, FIELDS)
    with pytest.raises(MappingRefused, match="the column 'X' has two targets: choose one"):
        map_columns(REQUEST, [("x", "views"), ("X", "")], None, table, FIELDS)
