"""The check that no event is missing between two positions."""

from __future__ import annotations

import pytest

from projector.log import BATCH_BYTES, Gap, Halted, check_contiguous, fits


@pytest.mark.parametrize(
    ("after", "ends", "count"), [(0, (1, 1), 1), (0, (1, 7), 7), (41, (42, 2041), 2000)]
)
def test_a_contiguous_batch_is_accepted(after: int, ends: tuple[int, int], count: int) -> None:
    check_contiguous(after, *ends, count)


@pytest.mark.parametrize(
    ("after", "ends", "count"),
    [
        pytest.param(0, (2, 2), 1, id="the first is missing"),
        pytest.param(0, (1, 3), 2, id="one in between is missing"),
        pytest.param(5, (5, 7), 3, id="one came again"),
        pytest.param(5, (6, 7), 3, id="one is there twice"),
    ],
)
def test_any_other_batch_halts_with_what_was_found(
    after: int, ends: tuple[int, int], count: int
) -> None:
    with pytest.raises(Gap, match=f"after position {after} has {count} events? from {ends[0]} to"):
        check_contiguous(after, *ends, count)


def test_a_gap_halts_the_projector() -> None:
    assert issubclass(Gap, Halted)


@pytest.mark.parametrize(("character", "length"), [("x", 1), ("\U0001f98a", 4)])
def test_a_batch_that_its_bytes_may_have_cut_short_does_not_exhaust_the_log(
    character: str, length: int
) -> None:
    assert not fits([{"state": character * (BATCH_BYTES // length)}])
    assert fits([{"state": character * 1_000}])
