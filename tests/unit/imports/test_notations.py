"""Numbers, dates, options and statuses in the formats that a user chooses."""

from __future__ import annotations

import pytest

from tests.conformance.import_previews import FIELDS, entry, previewed, workbook
from write_side.domain.definition import Field, Option

COLOURS = Field(
    "colours",
    "Colours",
    "select",
    multiple=True,
    options=(Option("red", "Rot"), Option("rot", "Decay"), Option("bw", "Black, white")),
)
OPTIONS = (*FIELDS[:1], COLOURS)


async def value(heading: str, cell: str, **options: bool) -> str | None:
    found = await previewed(
        f'Title,Body,{heading}\nA,x,"{cell}"\n', fields=FIELDS, entries_left=None, **options
    )
    slug = {"Views": "views", "Live": "live", "Campaign": "campaign"}[heading]
    return found.value(slug) if found.states == ["new"] else None


@pytest.mark.parametrize(
    ("cell", "stored"),
    [
        ("1.234,5", "1234.5"),
        ("1.234", "1234"),
        ("1,234", "1.234"),
        (",5", "0.5"),
        ("-1 234 567,25", "-1234567.25"),
        ("1'234,5", "1234.5"),
        ("1234", "1234"),
        ("1234.5", None),
        ("1.23", None),
        ("1,234,567", None),
        ("1.234 567", None),
        ("", None),
        (",", None),
    ],
)
async def test_a_decimal_comma_is_chosen(cell: str, stored: str | None) -> None:
    assert await value("Views", cell, decimal_comma=True) == stored


async def test_a_workbooks_own_numbers_have_no_notation() -> None:
    assert (await previewed(workbook("Views", "1.234"), decimal_comma=True)).value(
        "views"
    ) == "1.234"


@pytest.mark.parametrize(
    ("cell", "stored"),
    [
        ("31.01.2026", '"2026-01-31"'),
        ("1/2/2026", '"2026-02-01"'),
        ("31-01-2026 9:30", '"2026-01-31T09:30"'),
        ("31.01.2026T09:30:15Z", '"2026-01-31T09:30:15Z"'),
        ("2026-01-31", '"2026-01-31"'),
        ("01/31/2026", None),
        ("31.01/2026", None),
        ("31.01.26", None),
    ],
)
async def test_day_first_dates_are_chosen(cell: str, stored: str | None) -> None:
    assert await value("Live", cell, day_first=True) == stored
    if not cell.startswith("2026"):
        assert await value("Live", cell) is None


@pytest.mark.parametrize(
    ("heading", "cell", "advice"),
    [
        ("Views", "1.234,5", "or 1,234.5; choose a decimal comma to read it"),
        ("Views", "many", "or 1,234.5"),
        ("Live", "31.01.2026", "T09:30:00Z; choose day-first dates to read it"),
        ("Live", "01/31/2026", "T09:30:00Z"),
    ],
)
async def test_an_error_names_the_choice_that_helps(heading: str, cell: str, advice: str) -> None:
    found = await previewed(f'Title,Body,{heading}\nA,x,"{cell}"\n')
    assert found.notes[0][2].endswith(advice)


async def test_a_range_of_days_first() -> None:
    stored = await value("Campaign", "31/01/2026 / 28/02/2026", day_first=True)
    assert stored == '{"from":"2026-01-31","to":"2026-02-28"}'


@pytest.mark.parametrize(
    ("cell", "stored"),
    [
        ("red", '["red"]'),
        ("RED, Decay", '["red","rot"]'),
        ("rot", '["rot"]'),
        ("Rot", '["rot"]'),
        ("black, white", None),
        ("Black, white", '["bw"]'),
        ("decay", '["rot"]'),
        ("blue", None),
    ],
)
async def test_options_are_matched_by_value_then_by_label(cell: str, stored: str | None) -> None:
    found = await previewed(f'Title,Body,Colours\nA,x,"{cell}"\n', fields=OPTIONS)
    assert (found.value("colours") if found.states == ["new"] else None) == stored


async def test_composed_and_decomposed_options_match() -> None:
    options = (Option("\u00e9t\u00e9", "Summer"), Option("de", "e\u0301 \u00e0, o\u0300"))
    field = Field("f", "F", "select", multiple=True, options=options)
    for cell, stored in [
        ("e\u0301te\u0301, de", '["\u00e9t\u00e9","de"]'),
        ("\u00e9 a\u0300, \u00f2", '["de"]'),
    ]:
        found = await previewed(f'Title,Body,F\nA,x,"{cell}"\n', fields=(*FIELDS[:1], field))
        assert found.value("f") == stored


async def test_a_label_of_two_options_is_ambiguous() -> None:
    both = Field("f", "F", "select", options=(Option("a", "Same"), Option("b", "same")))
    found = await previewed("Title,Body,F\nA,x,SAME\n", fields=(*FIELDS[:1], both))
    assert found.notes[-1] == ("error", "F", "is ambiguous: 'SAME' is the name of a, b")


async def test_a_removed_option_is_not_read_as_the_label_of_another() -> None:
    kind = Field("kind", "Kind", "select", options=(Option("fresh", "old"),))
    held = entry("a", kind='"old"', body='"x"')
    file = "Title,Slug,Body,Kind\nA,a,x,old\n"
    found = await previewed(file, held, fields=(*FIELDS[:1], kind), update=True)
    assert "kind" not in found.decisions[0].values


async def test_a_default_status_applies_to_rows_without_one() -> None:
    file = "Title,Status,Body\nA,,x\nB,draft,x\nC,live,x\n"
    found = await previewed(file, status="published")
    assert [row.status for row in found.rows] == ["published", "draft", "published"]
    assert found.notes == [
        (
            "warning",
            "Status",
            "is not draft, published or archived: the row becomes published",
        )
    ]
    assert (await previewed("Title,Body\nA,x\n", status="archived")).after().status == "archived"
    kept = await previewed("Title,Body\nOne,y\n", entry("one"), status="published", update=True)
    assert kept.after().status == "draft"


async def test_a_status_that_unpublishes_is_noted() -> None:
    one = entry("one", "published", body='"x"')
    file = "Title,Status,Body\nOne,,x\n"
    found = await previewed(file, one, update=True, status="archived")
    assert found.notes[0][2] == "is blank: the published entry becomes archived"
    assert (await previewed(file, one, update=True, status="published")).notes == []
