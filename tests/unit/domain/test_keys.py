"""Keys sort as their values do, and every value has a key (ADR 43)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Raw

from tests.unit.samples import raw
from write_side.domain.field_types import FIELD_TYPES
from write_side.domain.identity import Scope
from write_side.domain.keys import (
    BOOLEAN,
    ENTRY_ID,
    ID,
    INCOMPARABLE,
    INSTANT,
    LONGEST,
    MAX_EXPONENT,
    MISSING,
    NUMBER,
    OPTION,
    TEXT,
    Ordering,
    instant_key,
    list_id,
    number_key,
    text_key,
    time_key,
)

ORDERINGS = (TEXT, ID, ENTRY_ID, OPTION, NUMBER, BOOLEAN, INSTANT)


@st.composite
def numbers(draw: st.DrawFn) -> str:
    """Draws JSON numbers; numbers close to each other are frequent."""
    whole = draw(
        st.sampled_from(["0", "1", "9", "10", "12", "120", "1200"]) | st.integers(0).map(str)
    )
    fraction = draw(st.sampled_from(["", ".0", ".5", ".50", ".003", ".0030"]))
    exponent = draw(st.sampled_from(["", "e0", "E+2", "e-2", "e300", "e-16000"]))
    return draw(st.sampled_from(["", "-"])) + whole + fraction + exponent


@given(numbers(), numbers())
@example("-12", "-12.003")
@example("-0", "0.0e5")
@example("1.0", "10e-1")
def test_numbers_sort_by_their_exact_value(one: str, other: str) -> None:
    keys = number_key(one.encode()), number_key(other.encode())
    values = Decimal(one), Decimal(other)
    assert None not in keys
    assert INCOMPARABLE not in keys
    assert (keys[0] < keys[1], keys[0] == keys[1]) == (  # type: ignore[operator]
        values[0] < values[1],
        values[0] == values[1],
    )


@given(st.text(), st.text())
def test_texts_sort_by_code_points(one: str, other: str) -> None:
    assert (text_key(one) < text_key(other)) == (one < other)


def exact(text: str) -> Fraction:
    """Returns the exact number of seconds since the beginning of 2000, in UTC."""
    moment = datetime.fromisoformat(text[:19])
    rest = text[19:]
    digits = rest[1:].split("Z")[0].split("+")[0].split("-")[0] if rest.startswith(".") else ""
    zone = rest[len(digits) + bool(digits) :]
    since = moment - datetime(2000, 1, 1)
    seconds = Fraction(since.days * 86_400 + since.seconds)
    if digits:
        seconds += Fraction(int(digits), 10 ** len(digits))
    if zone[:1] in ("+", "-"):
        hours, minutes = zone[1:].split(":")
        offset = int(hours) * 3600 + int(minutes) * 60
        seconds -= offset if zone[0] == "+" else -offset
    return seconds


@st.composite
def instants(draw: st.DrawFn) -> str:
    moment = draw(
        st.datetimes() | st.datetimes(datetime(2026, 1, 1), datetime(2026, 1, 1, 0, 0, 9))
    )
    fraction = draw(
        st.sampled_from(["", ".5", ".500", ".1234567", ".123456789", ".123456788", ".000000001"])
    )
    zone = draw(st.sampled_from(["", "Z", "+00:00", "+14:00", "-23:59", "+05:30"]))
    return moment.replace(microsecond=0).isoformat() + fraction + zone


@given(instants(), instants())
@example("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00")
@example("9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59")
def test_times_sort_as_instants_to_the_nanosecond(one: str, other: str) -> None:
    keys = instant_key(one), instant_key(other)
    assert None not in keys
    assert (keys[0] < keys[1], keys[0] == keys[1]) == (  # type: ignore[operator]
        exact(one) < exact(other),
        exact(one) == exact(other),
    )


def test_a_date_is_its_midnight_in_utc() -> None:
    assert instant_key("2026-01-31") == instant_key("2026-01-31T02:00+02:00")


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=2))])))
def test_a_time_of_an_entry_is_cut_to_the_milliseconds_that_are_shown(at: datetime) -> None:
    shown = at.replace(microsecond=at.microsecond // 1000 * 1000).isoformat()
    assert time_key(at) == instant_key(shown)


@given(numbers(), st.text(max_size=300), instants())
def test_every_key_sorts_below_the_two_that_are_not_values(
    number: str, text: str, instant: str
) -> None:
    keys = [number_key(number.encode()), text_key(text), instant_key(instant), *map(
        BOOLEAN.of_text, ("true", "false")
    )]  # fmt: skip
    assert all(key is not None and key < INCOMPARABLE < MISSING for key in keys)


@pytest.mark.parametrize(
    ("ordering", "value"),
    [
        (NUMBER, "1e-20000"),
        (NUMBER, "-1e-20000"),
        (NUMBER, f"1e-{MAX_EXPONENT + 1}"),
        (NUMBER, "1e-" + "9" * 3_990),
        (NUMBER, "0.1e-" + "9" * 5_000),
        (NUMBER, "1" * 4_000),
        (NUMBER, "0." + "3" * 3_998),
        (TEXT, '"' + "a" * 10_000 + '"'),
        (TEXT, '"' + "ü" * (LONGEST // 2 + 1) + '"'),
        (TEXT, '"\\ud800"'),
        (ID, '"' + "a" * (LONGEST + 1) + '"'),
    ],
)
def test_a_value_that_no_key_holds_is_incomparable(ordering: Ordering, value: str) -> None:
    assert ordering.of_json(raw_text(value)) == INCOMPARABLE


@pytest.mark.parametrize(
    ("ordering", "value"),
    [
        (NUMBER, "0e-20000"),
        (NUMBER, "1" + "0" * 3_999),
        (NUMBER, f"-9.9e-{MAX_EXPONENT}"),
        (NUMBER, "0." + "3" * LONGEST),
        (TEXT, '"' + "a" * LONGEST + '"'),
        (TEXT, '"a\\u0000"'),
    ],
)
def test_keys_hold_values_up_to_their_limits(ordering: Ordering, value: str) -> None:
    key = ordering.of_json(raw_text(value))
    assert key is not None
    assert key < INCOMPARABLE
    assert len(key) <= LONGEST + 4


WRONG = {
    TEXT: "1",
    ID: "1",
    ENTRY_ID: "1",
    OPTION: "true",
    NUMBER: '"1"',
    BOOLEAN: "0",
    INSTANT: '"soon"',
}
TEXTS = {
    ENTRY_ID: ["", "a1", "018F0000-0000-7000-8000-000000000001"],
    NUMBER: ["", "x", "1.", ".5", "+1", "01", "1e", "NaN", "1_0", "٣", " 1"],
    BOOLEAN: ["", "True", "1", "yes"],
    INSTANT: ["", "soon", "2026-02-30", "2026"],
}


def test_the_ordering_of_every_field_type_is_tested() -> None:
    untested = {
        name: spec.ordering.takes
        for name, spec in FIELD_TYPES.items()
        if spec.ordering and spec.ordering not in ORDERINGS
    }
    assert untested == {}, "add the orderings to ORDERINGS and to WRONG"


@pytest.mark.parametrize("ordering", ORDERINGS, ids=lambda ordering: ordering.takes)
def test_a_value_of_another_type_has_no_key(ordering: Ordering) -> None:
    assert ordering.of_json(raw_text(WRONG[ordering])) is None
    assert ordering.of_json(raw_text("null")) is None
    for text in TEXTS.get(ordering, []):
        assert ordering.of_text(text) is None


@pytest.mark.parametrize(
    ("ordering", "text", "value"),
    [
        (TEXT, "Tide", "Tide"),
        (ID, "a1", "a1"),
        (NUMBER, "-1.50", -1.5),
        (BOOLEAN, "true", True),
        (INSTANT, "2026-01-31", "2026-01-31T00:00:00Z"),
    ],
)
def test_a_text_of_a_parameter_has_the_key_of_the_value(
    ordering: Ordering, text: str, value: object
) -> None:
    assert ordering.of_text(text) == ordering.of_json(raw(value)) is not None


def test_every_list_has_an_id_of_its_own() -> None:
    places = [(Scope(w, e), t, s, x, p) for w in "ab" for e in "ab" for t in "ab" for s in "ab"
              for x in "ab" for p in "ab"]  # fmt: skip
    assert len({list_id(*place) for place in places}) == len(places)
    assert list_id(Scope("a", "b"), "cd", "e", "f", "g") != list_id(
        Scope("a", "b"), "c", "de", "f", "g"
    )
    assert (
        str(list_id(Scope("acme", "production"), "1", "draft", "en-US", "title"))
        == "1ac405d7-f78c-50b2-4404-c8ef25a3e023"
    )


def raw_text(text: str) -> Raw:
    return Raw(text.encode())
