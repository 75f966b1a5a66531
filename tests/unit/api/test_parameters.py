"""Query parameters (behaviour.md §4.0 to §4.3, §8)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from multidict import MultiDict

from api.errors import BadRequest
from api.rest import parameters
from api.rest.parameters import paging
from api.rest.wire import MAX_OFFSET
from tests.time_limits import at_most
from write_side.domain.refusals import InvalidDefinition, InvalidEntry

LONG = "9" * 5000

NUMBERS = [
    # given text, limit (for a default of 10), offset
    (None, 10, 0),
    ("", 10, 0),
    ("0", 1, 0),
    ("1", 1, 1),
    ("5", 5, 5),
    ("100", 100, 100),
    ("101", 100, 101),
    ("-1", 1, 0),
    ("-0", 1, 0),
    ("+5", 5, 5),
    ("007", 7, 7),
    ("5.7", 5, 5),
    ("5.", 5, 5),
    ("-5.9", 1, 0),
    ("0.9", 1, 0),
    (LONG, 100, MAX_OFFSET),
    ("-" + LONG, 1, 0),
    ("0" * 5000 + "7", 7, 7),
    ("7." + LONG, 7, 7),
    (str(2**63), 100, MAX_OFFSET),
    ("abc", 10, 0),
    ("5x", 10, 0),
    ("x5", 10, 0),
    ("1e2", 10, 0),
    ("NaN", 10, 0),
    ("Infinity", 10, 0),
    ("1_000", 10, 0),
    ("1,000", 10, 0),
    ("0x10", 10, 0),
    (" 5", 10, 0),
    ("5 ", 10, 0),
    ("5\n", 10, 0),
    ("--5", 10, 0),
    ("+-5", 10, 0),
    ("+", 10, 0),
    (".5", 10, 0),
    (".", 10, 0),
    ("٥", 10, 0),
    ("\uff15", 10, 0),
    ("²", 10, 0),
    ("5\x00", 10, 0),
]


@pytest.mark.parametrize(("value", "limit", "offset"), NUMBERS)
def test_limit_and_offset_are_clamped_and_other_text_counts_as_absent(
    value: str | None, limit: int, offset: int
) -> None:
    query = {} if value is None else {"limit": value, "offset": value}
    found = paging(query, 10)
    assert found == (limit, offset)


def test_each_list_has_its_own_default_limit() -> None:
    assert paging({"limit": "abc"}, 50)[0] == 50


def test_the_first_of_duplicates_counts() -> None:
    query = MultiDict([("limit", "5"), ("limit", "7"), ("status", ""), ("status", "draft")])
    assert paging(query, 10)[0] == 5
    assert parameters.status(query) == "published"


@pytest.mark.parametrize("value", ["published", "draft", "archived"])
def test_a_valid_status_is_accepted(value: str) -> None:
    assert parameters.status({"status": value}) == value


@pytest.mark.parametrize("query", [{}, {"status": ""}])
def test_published_is_the_default_status(query: dict[str, str]) -> None:
    assert parameters.status(query) == "published"


@pytest.mark.parametrize("value", ["Draft", "drafts", " draft", "all", "*", "draft\x00"])
def test_an_unknown_status_is_refused_naming_the_three(value: str) -> None:
    with pytest.raises(BadRequest, match="use published, draft or archived") as refused:
        parameters.status({"status": value})
    assert value in str(refused.value)


@pytest.mark.parametrize(
    ("query", "header", "expected"),
    [
        ({}, None, "production"),
        ({}, "staging", "staging"),
        ({"environment": "staging"}, None, "staging"),
        ({"environment": "production"}, "staging", "production"),
        ({"environment": ""}, "staging", "staging"),
        ({"environment": ""}, "", "production"),
        ({"environment": "staging"}, "nonsense", "staging"),
    ],
)
def test_the_environment_of_the_query_takes_precedence(
    query: dict[str, str], header: str | None, expected: str
) -> None:
    assert parameters.environment(query, header) == expected


@pytest.mark.parametrize("value", ["Production", "prod", "STAGING", "production ", "\x00"])
def test_an_unknown_environment_is_refused_stating_the_value(value: str) -> None:
    for query, header in (({"environment": value}, None), ({}, value)):
        with pytest.raises(InvalidDefinition, match="use production or staging") as refused:
            parameters.environment(query, header)
        assert value in str(refused.value)


@pytest.mark.parametrize("value", ["en-US", "fr-FR", "zh-CN", "zh-TW", "sr-RS", "pt-BR"])
def test_locales_of_cldr_are_supported(value: str) -> None:
    assert parameters.locale({"locale": value}) == value


def test_en_us_is_the_default_locale() -> None:
    assert parameters.locale({}) == parameters.locale({"locale": ""}) == "en-US"


@pytest.mark.parametrize("value", ["en", "EN-us", "en_US", "xx-YY", "zh-Hans-CN", "fr-fr", "😀"])
def test_an_unsupported_locale_is_refused_stating_the_value(value: str) -> None:
    with pytest.raises(InvalidEntry, match="use a code like en-US or fr-FR") as refused:
        parameters.locale({"locale": value})
    assert value in str(refused.value)


def test_values_in_refusals_can_be_encoded_as_json() -> None:
    """A header may hold bytes that are not text: Python decodes them as lone surrogates."""
    with pytest.raises(InvalidDefinition) as refused:
        parameters.environment({}, "\udcff" + LONG)
    str(refused.value).encode()
    assert len(str(refused.value)) < 200


def test_a_language_is_any_text_with_en_us_as_default() -> None:
    assert parameters.language({}) == parameters.language({"language": ""}) == "en-US"
    assert parameters.language({"language": "tlh"}) == "tlh"


def test_a_type_is_optional() -> None:
    assert parameters.type_slug({}) is None
    assert parameters.type_slug({"type": ""}) is None
    assert parameters.type_slug({"type": "posts"}) == "posts"


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_text_that_postgresql_cannot_store_finds_nothing(text: str) -> None:
    assert parameters.searchable(text) == ""
    assert parameters.language({"language": text}) == ""
    assert parameters.type_slug({"type": text}) == ""


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
