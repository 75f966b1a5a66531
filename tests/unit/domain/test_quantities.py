"""Numbers with the word for what they count."""

from __future__ import annotations

import pytest

from write_side.domain.quantities import count


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 entries"), (1, "1 entry"), (2, "2 entries"), (2_000, "2,000 entries")]
)
def test_the_word_agrees_with_the_number(n: int, text: str) -> None:
    assert count(n, "entry", "entries") == text


def test_most_words_only_take_an_s() -> None:
    assert (count(1, "row"), count(2, "row")) == ("1 row", "2 rows")
