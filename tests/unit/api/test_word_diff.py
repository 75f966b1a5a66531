"""Texts are compared word by word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.dashboard import word_diff as module
from api.dashboard.word_diff import CONTEXT, LONGEST, Span, excerpt, word_diff

TEXTS = st.text(alphabet="ab .\n", max_size=60) | st.text(max_size=40)


def both(spans: list[Span]) -> tuple[str, str]:
    """Rebuilds both texts from their diff."""
    before = "".join(span.text for span in spans if span.kind != "added")
    return before, "".join(span.text for span in spans if span.kind != "removed")


@given(TEXTS, TEXTS)
def test_spans_make_up_both_texts(before: str, after: str) -> None:
    assert both(word_diff(before, after)) == (before, after)


@given(TEXTS)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert all(span.kind == "same" for span in word_diff(text, text))


def test_changed_words_stand_between_unchanged_ones() -> None:
    assert word_diff("The pub is a walk. Bring a coat.", "The pub is a long walk. Bring two.") == [
        Span("same", "The pub is a "),
        Span("added", "long "),
        Span("same", "walk. Bring "),
        Span("removed", "a coat"),
        Span("added", "two"),
        Span("same", "."),
    ]


@pytest.mark.parametrize("unit", ["a ", "a b "])
def test_texts_with_nothing_in_common_are_one_replacement(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_STEPS", 100)
    before, after = unit * 2_000, "x " + unit.replace("a", "c") * 2_000
    spans = word_diff(before, after)
    assert both(spans) == (before, after)
    assert [span.kind for span in spans if span.kind != "same"] == ["removed", "added"]


def test_an_excerpt_omits_text_far_from_a_change() -> None:
    middle = "word " * 200
    first, removed, added, last = excerpt(
        word_diff(f"{middle}one {middle}", f"{middle}two {middle}")
    )
    assert (removed.text, added.text) == ("one", "two")
    assert first.text.startswith(" … ")
    assert len(first.text) == CONTEXT + 3
    assert last.text.endswith(" … ")
    [long] = excerpt([Span("added", "x" * 5_000)])
    assert len(long.text) == LONGEST + 1
