"""Slugs derived from titles (behaviour.md, "Slugs")."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from write_side.domain.identity import check_entry_slug, slug_from
from write_side.domain.refusals import InvalidText

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
    "x² ½ Ⅷ": "x²-½-ⅷ",
    "🎉 party 🎉": "--party--",
    "e\u0301te\u0301": "été",
    "दिन": "दिन",
    "दान": "दान",
    "กิน กัน": "กิน-กัน",
    "\u0301e \u0301": "-e--",
    "❤\ufe0f love": "---love",
    "İstanbul": "i\u0307stanbul",
    "I\u0307\u0323": "ị\u0307",
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
def test_a_slug_contains_only_words_and_hyphens(title: str) -> None:
    for word in slug_from(title).split("-"):
        kinds = [unicodedata.category(character)[0] for character in word]
        assert set(kinds) <= set("LNM")
        assert kinds[:1] != ["M"]


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_nothing_is_collapsed_or_trimmed(title: str) -> None:
    lowered = unicodedata.normalize("NFC", unicodedata.normalize("NFC", title).lower())
    assert len(slug_from(title)) == len(lowered)


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_a_slug_is_in_nfc(title: str) -> None:
    slug = slug_from(title)
    assert unicodedata.normalize("NFC", slug) == slug


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_a_slug_of_a_slug_is_itself(title: str) -> None:
    once = slug_from(title)
    assert slug_from(once) == once


@pytest.mark.parametrize("letter", ["a", "ä"])
def test_a_derived_slug_is_cut_at_500_characters(letter: str) -> None:
    assert slug_from(letter * 501) == letter * 500


def test_only_the_beginning_of_a_long_title_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def category(character: str) -> str:
        read.append(character)
        return "Ll"

    monkeypatch.setattr(unicodedata, "category", category)
    assert slug_from("ä" * 1_000_000) == "ä" * 500
    assert len(read) <= 4_000


@pytest.mark.parametrize("slug", ["", ".", "..", "a" * 501])
def test_a_slug_that_no_url_can_name_is_refused(slug: str) -> None:
    with pytest.raises(InvalidText, match="The slug"):
        check_entry_slug(slug)


@pytest.mark.parametrize("slug", ["...", "a" * 500, "a/b", " "])
def test_other_slugs_are_kept_as_given(slug: str) -> None:
    check_entry_slug(slug)
