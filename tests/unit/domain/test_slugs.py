"""Slugs from titles (behaviour.md, 'Slugs')."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from write_side.domain.identity import slug_from

CASES = {
    "Hello, World!": "hello--world-",
    "hello": "hello",
    "  Trimmed?  ": "--trimmed---",
    "a--b__c": "a--b--c",
    "2026-01-31": "2026-01-31",
    "Été à Orléans": "été-à-orléans",
    "ÄÖÜ ẞ": "äöü-ß",
    "Привет, мир": "привет--мир",
    "日本語 タイトル": "日本語-タイトル",
    "٣ أيام": "٣-أيام",
    "١٢٣": "١٢٣",
    "x² ½ Ⅷ": "x-----",
    "🎉 party 🎉": "--party--",
    "e\u0301": "e-",
    "İstanbul": "i-stanbul",
    "ΣΊΣΥΦΟΣ": "σίσυφος",
    "ǅ": "ǆ",
    "a\tb\nc\u00a0d": "a-b-c-d",
    "!!!": "---",
    "": "",
    "\U0001d400\U0001d7d8": "\U0001d400\U0001d7d8",
}


@pytest.mark.parametrize(("title", "slug"), CASES.items())
def test_a_slug_is_the_title_in_lower_case_with_hyphens(title: str, slug: str) -> None:
    assert slug_from(title) == slug


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_a_slug_holds_letters_digits_and_hyphens_only(title: str) -> None:
    kinds = {unicodedata.category(character) for character in slug_from(title).replace("-", "")}
    assert all(kind[0] == "L" or kind == "Nd" for kind in kinds)


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_nothing_is_collapsed_or_trimmed(title: str) -> None:
    assert len(slug_from(title)) == len(title.lower())


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_a_slug_of_a_slug_is_itself(title: str) -> None:
    once = slug_from(title)
    assert slug_from(once) == once
