"""Our readings: how rows are imported where the specification is silent."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.conformance.import_previews import ADA, FIELDS, SCOPE, SEA, entry, previewed, workbook
from write_side.domain.definition import Field
from write_side.imports.columns import columns_of, propose_targets
from write_side.imports.csv_reader import csv_table
from write_side.imports.preview import Preview, repeated, repeats_text
from write_side.imports.request import ImportRequest
from write_side.imports.table import FileRefused

NEEDED = ("error", "Body", "is blank, and a published entry needs it")


@pytest.mark.parametrize(
    ("name", "document"),
    [("x.csv", b"Title\n" + b"a\n" * 2001), ("x.csv", b"\x00\x01"), ("x.csv", b"")],
)
def test_imports_1_a_file_is_refused_as_a_whole(name: str, document: bytes) -> None:
    with pytest.raises(FileRefused):
        csv_table(document, name)


async def test_imports_4_a_row_that_changes_nothing_is_unchanged() -> None:
    one = entry("one", body='"x"', views="1.50")
    found = await previewed("Title,Body,Views\nOne,x,1.5\n", one, update=True)
    assert (found.states, found.decisions[0].values) == (["unchanged"], {})


def test_imports_5_columns_are_mapped_by_position() -> None:
    columns = columns_of(("Title", "Title"), ("Title", "title"), (FIELDS[-1],))
    assert [column.target for column in columns] == ["Title", FIELDS[-1]]


def test_imports_6_headings_that_match_are_proposed() -> None:
    found = propose_targets(("views", "TITLE", "Colour", "title"), FIELDS)
    assert found.targets == ("views", "Title", "", "title")


def test_imports_7_columns_that_an_entry_cannot_set_are_not_imported_by_default() -> None:
    headings = ("ID", "Content type", "Created", "Updated", "Published")
    assert set(propose_targets(headings, FIELDS).targets) == {""}


async def test_imports_8_slugs_repeats_references_and_the_plans_limit_are_simulated() -> None:
    file = 'Title,Body,Related\nA!,x,"b, c"\nB,x,a-\nB,x,\nC,x,c\n'
    found = await previewed(file, entries_left=2)
    assert [row.slug for row in found.rows] == ["a-", "b", "b", "c"]
    assert found.states == ["new", "new", "skipped", "error"]
    assert found.notes[-1][2].startswith("Your plan's limit of 2 entries is reached")


async def test_imports_10_a_blank_required_field_is_an_error_of_a_published_row() -> None:
    assert (await previewed("Title,Status,Body\nA,published,\n")).notes == [NEEDED]


async def test_imports_11_a_value_that_the_entry_already_lacked_is_no_error() -> None:
    one = entry("one", "published", views="1")
    file = "Title,Status,Body,Views\nOne,published,,2\n"
    assert (await previewed(file, one, update=True)).states == ["update"]
    draft = entry("one", "draft", views="1")
    assert (await previewed(file, draft, update=True)).notes == [NEEDED]


async def test_imports_12_a_blank_required_field_of_a_draft_is_a_warning() -> None:
    found = await previewed("Title,Body\nA,\n")
    assert (found.states, found.notes[0][0]) == (["new"], "warning")


async def test_imports_13_an_existing_reference_to_a_deleted_entry_is_accepted() -> None:
    gone = "018f0000-0000-7000-8000-00000000dead"
    file = f"Title,Body,Author\nOne,y,{gone}\n"
    one = entry("one", body='"x"', author=f'"{gone}"')
    assert (await previewed(file, one, update=True)).states == ["update"]
    assert (await previewed(file, entry("one"), update=True)).states == ["error"]


async def test_imports_14_an_unmapped_column_keeps_its_value_on_update() -> None:
    one = entry("one", views="7")
    found = await previewed("Title,Body\nOne,y\n", one, update=True)
    assert found.value("views") == "7"


async def test_imports_15_a_mapped_blank_cell_clears_it() -> None:
    one = entry("one", views="7", meta='""')
    found = await previewed("Title,Body,Views,Meta\nOne,y,,\n", one, update=True)
    assert (found.value("views"), found.value("meta")) == ("null", "null")


async def test_imports_16_status_is_read_without_regard_to_case() -> None:
    found = await previewed("Title,Status,Body\nA,PUBLISHED,x\nB,Archived,x\n")
    assert [row.status for row in found.rows] == ["published", "archived"]


async def test_imports_17_an_unmapped_status_is_kept_on_update() -> None:
    one = entry("one", "archived")
    assert (await previewed("Title,Body\nOne,y\n", one, update=True)).rows[0].status == "archived"


@pytest.mark.parametrize(
    "cell", ["1.234,5", "12,34", "1,2345", "1,,000", ",5", "1 00", "1 234,567"]
)
async def test_imports_18_commas_are_thousands_separators_or_an_error(cell: str) -> None:
    assert (await previewed(f'Title,Body,Views\nA,x,"{cell}"\n')).states == ["error"]
    assert (await previewed('Title,Body,Views\nA,x,"0,000"\n')).value("views") == "0"


async def test_imports_20_dates_without_an_offset_are_unchanged() -> None:
    found = await previewed("Title,Body,Live\nA,x,2026-01-31T09:30:00\n")
    assert found.value("live") == '"2026-01-31T09:30:00"'


async def test_imports_21_spreadsheet_serials_are_dates_in_both_epochs() -> None:
    assert (await previewed(workbook("Live", "46053.5"))).value("live") == '"2026-01-31T12:00:00"'
    mac = await previewed(workbook("Live", "44591", 1904))
    assert mac.value("live") == '"2026-01-31"'
    assert mac.notes == [("warning", "Live", "is a number and is read as the date 2026-01-31")]
    text = replace(workbook("Live", "46053"), texts=((2, 2),))
    for no_serial in ("Title,Body,Live\nA,x,46053\n", text):
        assert (await previewed(no_serial)).states == ["error"]


async def test_imports_22_a_range_is_from_to() -> None:
    found = await previewed("Title,Body,Campaign\nA,x,2026-01-31/2026-02-28\n")
    assert found.value("campaign") == '{"from":"2026-01-31","to":"2026-02-28"}'


async def test_imports_23_ids_come_first_then_slugs_of_the_allowed_types() -> None:
    impostor = entry(ADA)
    found = await previewed(f"Title,Body,Related,Author\nA,x,{ADA},ada\n", impostor)
    assert (found.value("related"), found.value("author")) == (f'["{ADA}"]', f'"{ADA}"')
    [(_, _, reason)] = (await previewed(f"Title,Body,Author\nA,x,{SEA}\n")).notes
    assert reason == "is an entry of type topics, but takes authors"


async def test_imports_24_an_ambiguous_slug_is_an_error() -> None:
    found = await previewed("Title,Body,Related\nA,x,ada\n")
    assert found.notes[0][2].startswith("is ambiguous: 2 entries have the slug 'ada'")


async def test_imports_25_the_language_column_of_an_export_is_read() -> None:
    """Slugs are unique per language; a reference first looks in the row's language."""
    old = entry("old", body='"x"')
    file = (
        "Title,Slug,Body,Related,Language\n"
        "Old,old,y,,en-US\n"
        "Vieux,old,x,old,fr-FR\n"
        "Deux,two,x,old,fr-FR\n"
        "Two,two,x,two,\n"
        "Trois,three,x,only,fr-FR\n"
        "Only,only,x,,en-US\n"
        "Vier,four,x,,Deutsch\n"
        "Five,five,x,four,en-US\n"
    )
    found = await previewed(file, old, update=True)
    states = ["update", "new", "new", "new", "new", "new", "error", "error"]
    assert found.states == states
    assert [row.language for row in found.rows][:4] == ["en-US", "fr-FR", "fr-FR", "en-US"]
    assert [found.after(row).language for row in range(4)] == ["en-US", "fr-FR", "fr-FR", "en-US"]
    ids = [row.entry_id for row in found.rows]
    assert ids[0] == old.id
    assert len({*ids[:6]}) == 6
    assert [found.value("related", row) for row in (1, 2, 3, 4)] == [
        f'["{ids[1]}"]',
        f'["{ids[1]}"]',
        f'["{ids[3]}"]',
        f'["{ids[5]}"]',
    ]
    assert found.notes == [
        ("error", "Language", "is not a supported language: use a code like en-US or fr-FR"),
        ("error", "Related", "names no entry with the id or slug 'four'"),
    ]


async def test_imports_25_rows_without_a_language_have_that_of_the_import() -> None:
    for file in ("Title,Body\nA,x\n", "Title,Body,Language\nA,x, \n"):
        assert (await previewed(file, language="fr-FR")).after().language == "fr-FR"


async def test_imports_25_only_ready_rows_refer_to_one_another_within_their_language() -> None:
    """The German row has errors; the English row with the same slug has none."""
    file = (
        "Title,Slug,Status,Body,Related,Language\n"
        "A,a,published,,,de-DE\nA,a,published,x,,en-US\n"
        "B,b,draft,x,a,de-DE\nC,c,draft,x,a,en-US\n"
    )
    found = await previewed(file, ready_only=True)
    assert found.states == ["error", "new", "error", "new"]
    assert "refers to the row with the slug 'a', which has errors" in found.notes[-1][2]


async def test_imports_31_repeats_are_counted_separately_and_name_their_row() -> None:
    found = await previewed("Title,Body\nRome,x\nOslo,x\nRome,y\n")
    assert [row.repeats for row in found.rows] == [None, None, 2]
    assert repeats_text(repeated(found.rows)) == "1 row repeats the slug of an earlier row"


async def test_imports_32_repeats_are_imported_only_after_a_choice() -> None:
    file = "Title,Body\nRome,x\nRome,y\n"
    shown = await previewed(file, update=True)
    preview = Preview("", tuple(shown.rows))
    assert preview.is_undecided(ImportRequest(SCOPE, "posts", "i-1", update=True))
    assert not preview.is_undecided(ImportRequest(SCOPE, "posts", "i-1", repeats="update"))
    assert (await previewed(file, repeats="skip")).states == ["new", "skipped"]
    assert (await previewed(file, repeats="update")).states == ["new", "update"]


async def test_imports_33_repeats_may_get_a_suffix_on_derived_slugs() -> None:
    found = await previewed("Title,Slug,Body\nRome,,x\nRome,,y\nA,a,x\nB,a,y\n", repeats="suffix")
    assert [row.slug for row in found.rows] == ["rome", "rome-2", "a", "a"]
    assert found.states == ["new", "new", "new", "error"]


async def test_imports_34_repeats_may_use_another_column_as_the_key() -> None:
    found = await previewed("Title,Body,Views\nRome,x,1\nRome,x,2\n", key=2)
    assert [(row.slug, row.repeats) for row in found.rows] == [("1", None), ("2", None)]


@pytest.mark.parametrize("space", [" ", "\u00a0", "\u202f", "\u2009", "'", "’"])
async def test_imports_35_spaces_and_apostrophes_separate_thousands_too(space: str) -> None:
    found = await previewed(f"Title,Body,Views\nA,x,1{space}234{space}567.5\n")
    assert found.value("views") == "1234567.5"
    assert (await previewed(f"Title,Body,Views\nA,x,1{space}23\n")).states == ["error"]


@pytest.mark.parametrize("cell", ["20260131", "2026-031", "2026031", "2026-W05-6", "2026W056"])
async def test_imports_36_every_date_is_stored_in_the_extended_calendar_form(cell: str) -> None:
    found = await previewed(f"Title,Body,Live,Campaign\nA,x,{cell},{cell}T0930 / {cell}\n")
    assert found.value("live") == '"2026-01-31"'
    assert found.value("campaign") == '{"from":"2026-01-31T09:30","to":"2026-01-31"}'


async def test_imports_37_24_00_is_midnight_of_the_next_day() -> None:
    found = await previewed("Title,Body,Live\nA,x,2026-01-31T24:00Z\n")
    assert found.value("live") == '"2026-02-01T00:00Z"'


async def test_imports_28_guarded_formulas_are_unguarded() -> None:
    fields = (Field("body", "Body", "text"),)
    found = await previewed("Title,Body\nA,'=1+1\nB,'plain\n", fields=fields)
    assert (found.value("body"), found.value("body", 1)) == ('"=1+1"', '"\'plain"')
