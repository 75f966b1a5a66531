"""Query parameters (behaviour.md §4.0 to §4.3, §8)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from api.errors import BadRequest
from api.rest import parameters
from tests.time_limits import at_most
from write_side.domain.refusals import InvalidDefinition

LONG = "9" * 5000


def test_values_in_refusals_can_be_encoded_as_json() -> None:
    """A header may hold bytes that are not text: Python decodes them as lone surrogates."""
    with pytest.raises(InvalidDefinition) as refused:
        parameters.environment({}, "\udcff" + LONG)
    str(refused.value).encode()
    assert len(str(refused.value)) < 200


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
TIMES = [
    ("2026-01-31T12:00:00Z", NOON),
    ("2026-01-31t12:00:00.000z", NOON),
    ("2026-01-31T12:00:00,000", NOON),
    ("2026-01-31 12:00", NOON),
    ("2026-01-31T14:00:00+02:00", NOON),
    ("2026-01-31T06:30-0530", NOON),
    # The "+" was not percent-encoded.
    ("2026-01-31T14:00:00.000 02:00", NOON),
    ("2026-01-31 14:00 0200", NOON),
    ("2026-01-31", NOON.replace(hour=0)),
    ("2026-01-31T12:00:00.123456789Z", NOON.replace(microsecond=123456)),
    ("0001-01-01", datetime(1, 1, 1, tzinfo=UTC)),
]
NO_TIMES = [
    "yesterday",
    "2026-02-30",
    "2026-01-31T25:00Z",
    "2026-01-31 02:00 02:00 02:00",
    "20260131",
    "1769860800",
    "2026-01-31T12:00:00Z\n",
    "\ud800",
    "٢٠٢٦-٠١-٣١",
    "0001-01-01T00:00:00+14:00",
    "x" * 5000,
]


@pytest.mark.parametrize(("value", "expected"), TIMES)
def test_as_of_is_a_time_or_a_date_in_utc(value: str, expected: datetime) -> None:
    assert parameters.as_of({"asOf": value}) == expected


@pytest.mark.parametrize("query", [{}, {"asOf": ""}])
def test_as_of_is_now_if_absent_or_empty(query: dict[str, str]) -> None:
    assert parameters.as_of(query) is None


@pytest.mark.parametrize("value", NO_TIMES)
def test_an_invalid_time_is_refused_with_an_example(value: str) -> None:
    with pytest.raises(BadRequest, match=r"asOf.*2026-01-31T09:30:00Z") as refused:
        parameters.as_of({"asOf": value})
    assert len(str(refused.value)) < 300


def test_no_hostile_time_takes_long() -> None:
    with at_most(0.1), pytest.raises(BadRequest):
        parameters.as_of({"asOf": ":00" * 10_000})


def test_the_end_of_the_calendar_is_refused_in_a_time_zone_that_passes_it() -> None:
    assert parameters.as_of({"asOf": "9999-12-31T23:59:59"}) is not None
    with pytest.raises(BadRequest, match="Unknown time '9999-12-31T23:59:59-05:00' in asOf"):
        parameters.as_of({"asOf": "9999-12-31T23:59:59-05:00"})
