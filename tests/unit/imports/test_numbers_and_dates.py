"""Numbers and dates of a workbook, read as text."""

from __future__ import annotations

import io
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workbooks import in_column, workbook
from write_side.imports.table import LIMITS, NO_CHOICE, Epoch, FileRefused
from write_side.imports.xlsx.number_formats import (
    Kind,
    decimal_text,
    kind_of_format,
    number_text,
)
from write_side.imports.xlsx.serials import clock_time, iso_date_time, iso_with_time
from write_side.imports.xlsx.workbook import workbook_table


def read(stored: str) -> str:
    """Returns the text read from a cell with this stored value."""
    document = io.BytesIO(workbook(in_column(f"><v>{stored}</v>")))
    return workbook_table(document, "x.xlsx", NO_CHOICE, LIMITS).rows[0].cells[0]


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("5", "5"),
        ("5.0", "5"),
        ("-0", "0"),
        ("007", "7"),
        ("0.1", "0.1"),
        (".5", "0.5"),
        ("+1.5", "1.5"),
        ("0.10000000000000001", "0.1"),
        ("1.1000000000000001", "1.1"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("9007199254740993", "9007199254740993"),
        ("12345678901234567890", "12345678901234567890"),
        ("0.1234567890123456789", "0.12345678901234568"),
        ("1E3", "1000"),
        ("1.5E+20", "150000000000000000000"),
        ("1E+21", "1e+21"),
        ("1.7976931348623157E+308", "1.7976931348623157e+308"),
        ("1E-7", "0.0000001"),
        ("2.50E-8", "2.5e-8"),
        ("-1E-400", "-0"),
        ("0E0", "0"),
    ],
)
def test_numbers_are_the_shortest_decimals(stored: str, text: str) -> None:
    assert read(stored) == text


@pytest.mark.parametrize("stored", ["abc", "NaN", "INF", "1,5", "1e", "0x1", "1E400", "-", " "])
def test_invalid_numbers(stored: str) -> None:
    with pytest.raises(FileRefused, match="is damaged"):
        read(stored)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_preserved_exactly(number: float) -> None:
    text = decimal_text(number)
    assert float(text) == number
    assert len(text) <= 26


@pytest.mark.parametrize(
    ("serial", "epoch", "text"),
    [
        ("1", 1900, "1900-01-01"),
        ("59", 1900, "1900-02-28"),
        ("60", 1900, None),
        ("61", 1900, "1900-03-01"),
        ("0.5", 1900, None),
        ("46053.395833333336", 1900, "2026-01-31T09:30:00"),
        ("46053.395836226852", 1900, "2026-01-31T09:30:00.250"),
        ("46053.99999999999", 1900, "2026-02-01"),
        ("2958465", 1900, "9999-12-31"),
        ("2958466", 1900, None),
        ("-1", 1900, None),
        ("1e30", 1900, None),
        ("x", 1900, None),
        ("0", 1904, "1904-01-01"),
        ("44591.5", 1904, "2026-01-31T12:00:00"),
        ("2957004", 1904, None),
    ],
)
def test_serials_are_days(serial: str, epoch: Epoch, text: str | None) -> None:
    assert iso_date_time(serial, epoch) == text


@given(st.datetimes(min_value=datetime(1904, 1, 1)), st.sampled_from([1900, 1904]))
def test_a_time_is_preserved_to_the_millisecond(moment: datetime, epoch: Epoch) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    zero = date(1899, 12, 30) if epoch == 1900 else date(1904, 1, 1)
    days = (moment - datetime.combine(zero, datetime.min.time())) / timedelta(days=1)
    text = iso_with_time(repr(days), epoch)
    assert text is not None
    assert datetime.fromisoformat(text) == moment


@pytest.mark.parametrize(
    ("serial", "text"),
    [
        ("0.5", "12:00:00"),
        ("1.1041666666666667", "26:30:00"),
        ("-0.0625", "-01:30:00"),
        ("0.0000001736", "00:00:00.015"),
        ("1e10", None),
    ],
)
def test_times_may_exceed_a_day(serial: str, text: str | None) -> None:
    assert clock_time(serial) == text


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("General", None),
        ("0.00", None),
        ("@", None),
        ("#,##0.00 [$€-407];[Red]-#,##0.00", None),
        ("0.00E+00", None),
        ('0 "days"', None),
        ("0\\d", None),
        ("# ?/?", None),
        ("yyyy-mm-dd", "date"),
        ("[$-409]d/m/yy;@", "date"),
        ("mmm", "date"),
        ("DD.MM.YYYY", "date"),
        ("yyyy\\-mm\\-dd\\ hh:mm", "datetime"),
        ("m/d/yy h:mm AM/PM", "datetime"),
        ("h:mm AM/PM", "time"),
        ("mm:ss.0", "time"),
        ("[h]:mm:ss", "duration"),
        ("[mm]:ss", "duration"),
        ("[Blue]yyyy", "date"),
        ('"' * 999 + "\\", None),
        ("0", 1),
        ("00000", 5),
        ("0" * 256, None),
        ("00000-0000", None),
    ],
)
def test_formats_distinguish_dates_from_numbers(code: str, kind: Kind | None) -> None:
    assert kind_of_format(code) == kind


@pytest.mark.parametrize(
    ("stored", "text"),
    [("7", "00007"), ("123456", "123456"), ("0", "00000"), ("7.5", "7.5"), ("-7", "-7")],
)
def test_leading_zeros_that_a_format_shows_are_read(stored: str, text: str) -> None:
    """As in postcodes and article numbers."""
    assert number_text(stored, kind_of_format("00000"), 1900) == text
