"""Lifetime classes: a read of a moment includes every version that was valid then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from read_side.lifetimes import CLASSES, MILLISECOND, beginnings, class_of

FIRST = datetime(2000, 1, 1, tzinfo=UTC)
times = st.integers(0, 10**13).map(lambda n: FIRST + n * MILLISECOND)
lifetimes = st.integers(0, 41).flatmap(lambda bits: st.integers(1, 2**bits))


@given(times, lifetimes, st.floats(0, 1, exclude_max=True))
def test_a_version_valid_at_a_moment_began_after_the_bound_of_its_class(
    since: datetime, lifetime: int, part: float
) -> None:
    until = since + lifetime * MILLISECOND
    at = since + int(part * lifetime * 1_000) * timedelta(microseconds=1)
    found = class_of(since, until)
    assert found in CLASSES
    assert beginnings(at)[found - 1] < since <= at < until


@given(lifetimes)
def test_of_each_class_most_versions_that_began_after_the_bound_were_still_valid(
    lifetime: int,
) -> None:
    """The longest lifetime of a class is at most twice its shortest."""
    at = FIRST + timedelta(days=365 * 500)
    [*bounds] = beginnings(at)
    bound = bounds[class_of(at - lifetime * MILLISECOND, at) - 1]
    assert at - bound <= 2 * lifetime * MILLISECOND


def test_longer_lifetimes_have_higher_classes() -> None:
    classes = [class_of(FIRST, FIRST + n * MILLISECOND) for n in range(1, 5_000)]
    assert classes == sorted(classes)
    assert sorted(set(classes)) == list(range(1, max(classes) + 1))


def test_moments_at_the_beginning_of_the_calendar_have_bounds() -> None:
    first = datetime.min.replace(tzinfo=UTC)
    assert set(beginnings(first)) == {first}
    assert len(beginnings(first)) == len(CLASSES)
