"""Specification §4.6, the import: the results of rows and cells. No server is needed: the import's
dry run uses a magazine in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.import_previews import ADA, FIELDS, HERO, SEA, entry, previewed, workbook
from write_side.imports.columns import MappingRefused, columns_of
from write_side.imports.csv_reader import csv_table
from write_side.imports.file_reader import read_file
from write_side.imports.table import FileRefused


async def test_3_1_a_row_has_the_status_in_its_cell() -> None:
    found = await previewed("Title,Status,Body\nA,draft,x\nB,published,x\nC,archived,x\n")
    assert [row.status for row in found.rows] == ["draft", "published", "archived"]


async def test_3_2_a_row_without_a_valid_status_is_a_draft_in_the_base_language() -> None:
    found = await previewed("Title,Status,Body\nA,,x\nB,live,x\n")
    assert [row.status for row in found.rows] == ["draft", "draft"]
    assert found.after().language == "en-US"


@pytest.mark.parametrize("name", ["posts.txt", "posts.xls", "posts"])
async def test_4_6_2_only_csv_and_xlsx_are_accepted(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"Title\nA\n")
    with pytest.raises(FileRefused, match="xlsx"):
        await read_file(tmp_path / name, name)


async def test_4_6_3_rows_are_entries_of_the_one_type_chosen() -> None:
    found = await previewed("Title,Body\nA,x\nB,x\n")
    types = {decision.after.content_type_id for decision in found.decisions if decision.after}
    assert len(types) == 1


def test_4_6_4_a_file_may_have_two_thousand_rows() -> None:
    assert len(csv_table(b"Title\n" + b"a\n" * 2000, "x.csv").rows) == 2000
    with pytest.raises(FileRefused, match="2,000"):
        csv_table(b"Title\n" + b"a\n" * 2001, "x.csv")


def test_4_6_5_a_column_is_title_slug_status_a_field_or_nothing() -> None:
    columns = columns_of("abcde", ("Title", "Slug", "Status", "body", ""), FIELDS)
    targets = [column.target for column in columns]
    assert targets == ["Title", "Slug", "Status", FIELDS[0]]


@pytest.mark.parametrize("targets", [("Title", ""), ("", "body"), ("", "")])
def test_4_6_6_title_and_every_required_field_must_be_mapped(targets: tuple[str, ...]) -> None:
    with pytest.raises(MappingRefused, match="no column is mapped to"):
        columns_of("ab", targets, FIELDS)


async def test_4_6_7_rows_are_checked_before_anything_is_saved() -> None:
    assert (await previewed("Title,Body,Views\nA,x,many\n")).states == ["error"]


async def test_4_6_8_a_row_is_new_an_update_skipped_or_has_errors() -> None:
    file = "Title,Body,Views\nOne,y,1\nTwo,x,1\nThree,x,many\n"
    one = entry("one", body='"x"')
    assert (await previewed(file, one)).states == ["skipped", "new", "error"]
    assert (await previewed(file, one, update=True)).states == ["update", "new", "error"]


async def test_4_6_9_problem_cells_have_a_reason() -> None:
    found = await previewed("Title,Body,Views\nA,x,many\n")
    assert found.notes == [("error", "Views", "takes a number, such as 1234.5 or 1,234.5")]
    assert found.rows[0].notes[0].column == 2


async def test_4_6_10_only_ready_rows_may_be_imported() -> None:
    found = await previewed("Title,Body,Views\nA,x,many\nB,x,1\n", ready_only=True)
    assert [row.entry_id is not None for row in found.rows] == [False, True]


async def test_4_6_11_a_row_is_a_draft_in_the_base_language_by_default() -> None:
    found = await previewed("Title,Body\nA,x\n")
    assert (found.after().status, found.after().language) == ("draft", "en-US")


async def test_4_6_12_an_empty_slug_is_derived_from_the_title() -> None:
    found = await previewed('Title,Slug,Body\n"Hello, World!",,x\n')
    assert found.rows[0].slug == "hello--world-"


async def test_4_6_13_a_row_whose_slug_exists_is_skipped() -> None:
    assert (await previewed("Title,Body\nOne,y\n", entry("one"))).states == ["skipped"]


async def test_4_6_14_a_row_whose_slug_exists_updates_the_entry_if_the_option_is_on() -> None:
    one = entry("one")
    found = await previewed("Title,Body\nOne,y\n", one, update=True)
    assert (found.states, found.rows[0].entry_id) == (["update"], one.id)


async def test_4_6_15_a_later_row_of_the_same_slug_is_treated_the_same_way() -> None:
    file = "Title,Body\nOne,x\nOne,y\n"
    assert (await previewed(file)).states == ["new", "skipped"]
    found = await previewed(file, update=True)
    assert (found.states, found.value("body", 1)) == (["new", "update"], '"y"')


async def test_4_6_16_a_blank_cell_leaves_the_field_empty() -> None:
    assert (await previewed("Title,Body,Views\nA,x,\n")).value("views") is None


async def test_4_6_17_a_blank_cell_clears_the_field_when_updating() -> None:
    found = await previewed("Title,Body,Views\nOne,x,\n", entry("one", views="7"), update=True)
    assert found.value("views") == "null"


CELLS = [
    (18, "Views", '"1,234.5"', "1234.5"),
    (18, "Views", '"12,345,678"', "12345678"),
    *((19, "Featured", cell, "true") for cell in ("true", "yes", "1", "on")),
    *((19, "Featured", cell, "false") for cell in ("false", "no", "0", "off")),
    (20, "Live", "2026-01-31", '"2026-01-31"'),
    (20, "Live", "2026-01-31T09:30:00Z", '"2026-01-31T09:30:00Z"'),
    (21, "Campaign", "2026-01-31 / 2026-02-28", '{"from":"2026-01-31","to":"2026-02-28"}'),
    (22, "Kind", "howto", '"howto"'),
    (23, "Author", "ada", f'"{ADA}"'),
    (23, "Author", ADA, f'"{ADA}"'),
    (23, "Related", f'"sea, {ADA}"', f'["{SEA}","{ADA}"]'),
    (24, "Cover", "hero", '"hero"'),
    (24, "Cover", HERO, '"hero"'),
    (25, "Meta", '"{""a"": [1]}"', '{"a":[1]}'),
    (25, "FAQ", '"[{""q"": ""Why?""}]"', '[{"q":"Why?"}]'),
]


async def value_of(number: int) -> None:
    """Checks every cell with this number in the specification's table."""
    for cell_number, heading, cell, value in CELLS:
        if cell_number == number:
            found = await previewed(f"Title,Body,{heading}\nA,x,{cell}\n")
            field = next(each.slug for each in FIELDS if each.name == heading)
            assert (found.states, found.value(field)) == (["new"], value), cell


async def test_4_6_18_a_number_with_thousands_separators() -> None:
    await value_of(18)


async def test_4_6_19_a_boolean_in_four_ways() -> None:
    await value_of(19)


async def test_4_6_20_a_date_or_a_date_time_in_iso_8601() -> None:
    await value_of(20)
    assert (await previewed(workbook("Live", "46053"))).value("live") == '"2026-01-31"'


async def test_4_6_21_a_range_is_written_as_from_to() -> None:
    await value_of(21)


async def test_4_6_22_a_select_is_one_of_its_options() -> None:
    await value_of(22)
    assert (await previewed("Title,Body,Kind\nA,x,sports\n")).states == ["error"]


async def test_4_6_23_references_are_slugs_or_ids_comma_separated() -> None:
    await value_of(23)


async def test_4_6_24_media_is_an_id_or_a_url_of_the_library() -> None:
    await value_of(24)


async def test_4_6_25_json_and_repeaters_are_json_text() -> None:
    await value_of(25)
