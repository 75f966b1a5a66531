"""When a key expires, in the formats that people use."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from write_side.domain.refusals import InvalidDefinition
from write_side.domain.workspace import check_expiry, expiry, expiry_or_duration

NOON = datetime(2026, 1, 31, 12, 0, 0, 999999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2027-01-31", datetime(2027, 1, 31, tzinfo=UTC)),
        ("2027-01-31T09:30:00", datetime(2027, 1, 31, 9, 30, tzinfo=UTC)),
        ("2027-01-31 09:30:00,9999+02:00", datetime(2027, 1, 31, 7, 30, 0, 999000, tzinfo=UTC)),
        ("2027-01-31T09:30:00+02:00", datetime(2027, 1, 31, 7, 30, tzinfo=UTC)),
        ("2027-01-31t09:30:00.9999z", datetime(2027, 1, 31, 9, 30, 0, 999000, tzinfo=UTC)),
    ],
)
def test_a_date_is_its_beginning_in_utc(
    text: str, expected: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "XXX-05:30")
        time.tzset()
        assert expiry(text) == expected
        assert expiry_or_duration(text, NOON) == expected
    time.tzset()


@pytest.mark.parametrize("text", ["tomorrow", "90d", "", "2027-02-30", "0001-01-01T00:00:00+23:00"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidDefinition, match="such as 2027-01-31"):
        expiry(text)


@pytest.mark.parametrize(
    ("text", "later"),
    [
        ("30m", timedelta(minutes=30)),
        ("12h", timedelta(hours=12)),
        ("90d", timedelta(days=90)),
        ("8w", timedelta(weeks=8)),
    ],
)
def test_a_duration_counts_from_now(text: str, later: timedelta) -> None:
    assert expiry_or_duration(text, NOON) == NOON.replace(microsecond=999000) + later


@pytest.mark.parametrize("text", ["0d", "90", "d", "-5d", "1.5d", "90 d", "99999999d"])
def test_another_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidDefinition, match="or a duration such as 90d"):
        expiry_or_duration(text, NOON)


def test_a_duration_past_the_calendar_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="too long"):
        expiry_or_duration("99999w", datetime(9990, 1, 1, tzinfo=UTC))


def test_an_expiry_must_be_in_the_future() -> None:
    check_expiry(None, NOON)
    check_expiry(NOON + timedelta(seconds=1), NOON)
    with pytest.raises(InvalidDefinition, match="2026-01-31T12:00:00Z is in the past"):
        check_expiry(NOON, NOON)
