"""ISO 8601 dates in every form, normalized to the stored calendar form (YYYY-MM-DD)."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from write_side.domain.cells import extended_form
from write_side.domain.values import is_iso_datetime


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("20260131", "2026-01-31"),
        ("2026-031", "2026-01-31"),
        ("2026031", "2026-01-31"),
        ("2024-366", "2024-12-31"),
        ("2026-W05-6", "2026-01-31"),
        ("2026W056", "2026-01-31"),
        ("2020-W53-5", "2021-01-01"),
        ("20260131T0930", "2026-01-31T09:30"),
        ("20260131T093015.5Z", "2026-01-31T09:30:15.5Z"),
        ("2026-W05-6T09:30+02:00", "2026-01-31T09:30+02:00"),
        ("2026-031T09", "2026-01-31T09:00"),
        ("2026-01-31T24:00", "2026-02-01T00:00"),
        ("2026-12-31T24:00:00Z", "2027-01-01T00:00:00Z"),
        ("20261231T2400", "2027-01-01T00:00"),
    ],
)
def test_every_form_of_a_date_is_read(text: str, stored: str) -> None:
    assert extended_form(text) == stored
    assert is_iso_datetime(stored)


@pytest.mark.parametrize(
    "text",
    [
        "2026",
        "2026-01",
        "202601",
        "2026-1-31",
        "2026-02-30",
        "2026-000",
        "0001-000",
        "2026-366",
        "9999-366",
        "2026-W54-1",
        "2026-W05",
        "2026-W05-8",
        "2026W05-6",
        "2026-01-31T24:01",
        "9999-12-31T24:00",
        "31.01.2026",
        "46053",
        "٢٠٢٦٠١٣١",
    ],
)
def test_an_invalid_day_is_not_guessed(text: str) -> None:
    assert extended_form(text) is None


@settings(max_examples=100)
@given(st.dates())
def test_all_forms_of_a_day_are_the_same_day(day: date) -> None:
    year, week, weekday = day.isocalendar()
    forms = [f"{day:%Y%m%d}".zfill(8), f"{day.year:04}-{day:%j}", f"{day.year:04}{day:%j}"]
    if 1 <= year <= 9999:
        forms += [f"{year:04}-W{week:02}-{weekday}", f"{year:04}W{week:02}{weekday}"]
    assert {extended_form(form) for form in forms} == {day.isoformat()}


@settings(max_examples=50)
@given(st.datetimes())
def test_a_basic_time_is_the_same_time(moment: datetime) -> None:
    text = f"{moment.date():%Y%m%d}".zfill(8) + f"T{moment:%H%M%S}"
    assert extended_form(text) == moment.isoformat(timespec="seconds")
