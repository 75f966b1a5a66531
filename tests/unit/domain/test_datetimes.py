"""Which texts are dates and date-times (behaviour.md, "Field values"): ISO 8601, UTC by default."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from write_side.domain.values import is_iso_datetime

GOOD = [
    "2026-01-31",
    "2024-02-29",
    "0001-01-01",
    "9999-12-31",
    "2026-01-31T09:30",
    "2026-01-31T09:30:15",
    "2026-01-31T09:30:15.5",
    "2026-01-31T09:30:15,250",
    "2026-01-31T09:30:15.123456789",
    "2026-01-31T09:30Z",
    "2026-01-31T09:30:15Z",
    "2026-01-31T09:30:15.000Z",
    "2026-01-31T09:30:15+02:00",
    "2026-01-31T09:30:15-0530",
    "2026-01-31T09:30:15+05",
    "2026-01-31T09:30:15-00:00",
    "2026-01-31 09:30:15",
    "2026-01-31t09:30:15z",
    "2026-01-31T00:00:00+23:59",
]
BAD = [
    "",
    "today",
    "2026",
    "2026-01",
    "20260131",
    "2026-1-31",
    "26-01-31",
    "2026-W05-6",
    "2026-031",
    "31.01.2026",
    "01/31/2026",
    "2026-01-31Z",
    "2026-01-31T",
    "2026-01-31T09",
    "2026-01-31T9:30",
    "2026-01-31T0930",
    "2026-01-31T09:30:15.",
    "2026-01-31T09:30:15.1234567890",
    "2026-01-31T09:30:15 Z",
    "2026-01-31T09:30:15UTC",
    "2026-01-31_09:30:15",
    " 2026-01-31",
    "2026-01-31\n",
    "+2026-01-31",
    "٢٠٢٦-٠١-٣١",
    "2026-13-01",
    "2026-00-10",
    "2026-02-29",
    "2026-02-30",
    "2026-01-32",
    "0000-01-01",
    "2026-01-31T24:00:00",
    "2026-01-31T09:60",
    "2026-01-31T09:30:60",
    "2026-01-31T09:30:15+24:00",
    "2026-01-31T09:30:15+05:60",
    "2026-01-31T09:30:15+0599",
]


@pytest.mark.parametrize("text", GOOD)
def test_an_iso_8601_date_or_date_time_is_accepted(text: str) -> None:
    assert is_iso_datetime(text)


@pytest.mark.parametrize("text", BAD)
def test_other_forms_and_impossible_dates_are_refused(text: str) -> None:
    assert not is_iso_datetime(text)


@settings(max_examples=50)
@given(st.dates())
def test_every_date_of_the_calendar_is_accepted(day: date) -> None:
    assert is_iso_datetime(day.isoformat())


@settings(max_examples=50)
@given(st.datetimes(timezones=st.just(UTC)))
def test_every_date_time_that_python_writes_is_accepted(moment: datetime) -> None:
    assert is_iso_datetime(moment.isoformat())
