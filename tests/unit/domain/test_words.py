"""Word segmentation in all scripts, and searches for words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.time_limits import at_most
from write_side.domain import words as module
from write_side.domain.words import (
    LONGEST_TEXT,
    LONGEST_WORD,
    SearchWords,
    dictionary,
    lexeme_prefix,
    search_area,
    search_words,
    without_markup,
    words,
)

TEXTS = [
    ("en-US", "The quick, brown FOX's 3.14 e-mail", "the quick brown fox s 3 14 e mail"),
    ("de-DE", "Straße ÄPFEL", "straße äpfel"),
    ("fr-FR", "L'été à Orléans", "l été à orléans"),
    ("fr-FR", "L'e\u0301te\u0301", "l été"),
    ("hi-IN", "हिन्दी में समाचार", "हिन्दी में समाचार"),
    ("ar-EG", "كِتَابٌ مدرســة", "كتاب مدرسة"),
    ("he-IL", "שָׁלוֹם", "שלום"),
    ("fa-IR", "می\u200cخواهم", "میخواهم"),
    ("ko-KR", "서울에서 만나요", "서울에서 만나요"),
    ("th-TH", "ไทย", "ไท ทย ย"),
    ("ja-JP", "東京都のiPhone", "東京 京都 都の の iphone"),
    ("ja-JP", "ｶﾀｶﾅ", "カタ タカ カナ ナ"),
    ("zh-CN", "京", "京"),
    ("zh-CN", "北京2026年", "北京 京 2026 年"),
    ("km-KH", "ខ្មែរ", "ខ្ ្ម មែ ែរ រ"),
    ("tr-TR", "IŞIK İzmir", "ışık izmir"),
    ("en-US", "ISIK İzmir", "isik izmir"),
    ("el-GR", "ΟΔΟΣ", "οδος"),
    ("ru-RU", "Ёлка", "ёлка"),
    ("en-US", "ﬁne x² Ⅷ ①", "fine x2 viii 1"),
    ("hi-IN", "२०२६ ٣٤ ๑๒", "2026 34 12"),
    ("en-US", "❤️ 👩‍👩‍👧 1️⃣ 👍🏽", "1"),
    ("en-US", "snake_case a\u00adb a\u200bb", "snake case ab ab"),
    ("en-US", "\x00 \ud800 !?", ""),
]


@pytest.mark.parametrize(("language", "text", "expected"), TEXTS)
def test_words_of_a_text(language: str, text: str, expected: str) -> None:
    assert words(text, language) == expected.split()


SEARCHES = [
    ("lord of the ri", ("lord", "of", "the"), ("ri",)),
    ("tide tide", ("tide",), ("tide",)),
    ("東京都", ("東京", "京都"), ()),
    ("東京 都", ("東京",), ("都",)),
    ("tower 東京", ("tower", "東京"), ()),
    ("東京 tower", ("東京",), ("tower",)),
    ("iphone手機", ("iphone", "手機"), ()),
    ("", (), ()),
    ("?!", (), ()),
]


@pytest.mark.parametrize(("text", "whole", "beginnings"), SEARCHES)
def test_words_of_a_search(text: str, whole: tuple[str, ...], beginnings: tuple[str, ...]) -> None:
    assert search_words(text, "en-US") == SearchWords(whole, beginnings)


@given(st.text(max_size=200))
def test_every_text_is_found_by_itself(text: str) -> None:
    there = words(text, "en-US")
    wanted = search_words(text, "en-US")
    assert set(wanted.whole) <= set(there)
    assert all(any(one.startswith(first) for one in there) for first in wanted.beginnings)


@given(st.text(alphabet="東京都大学ไทย", min_size=1, max_size=20), st.data())
def test_any_part_of_a_text_without_spaces_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    part = text[start : data.draw(st.integers(start + 1, len(text)))]
    there, wanted = words(text, "ja-JP"), search_words(part, "ja-JP")
    assert set(wanted.whole) <= set(there)
    assert all(any(one.startswith(first) for one in there) for first in wanted.beginnings)


@given(st.text(max_size=100), st.sampled_from(["en-US", "tr-TR"]))
def test_no_word_has_a_character_with_a_meaning_in_queries(text: str, language: str) -> None:
    for word in words(text, language):
        assert word
        assert not set(word) & set("'\\:#&|!()<>*\" \t\n")


HUGE = [
    "word " * 2_000_000,
    "x" * 10_000_000,
    "東" * 10_000_000,
    "\ufdfa" * 10_000_000,
    "\u0301\u0323" * 5_000_000,
]


@pytest.mark.parametrize("text", HUGE, ids=lambda text: text[:1])
def test_only_the_beginning_of_a_huge_text_is_read(text: str) -> None:
    with at_most(2):
        found = words(text, "en-US")
    assert sum(map(len, found)) <= 2 * LONGEST_TEXT
    assert max(map(len, found)) <= LONGEST_WORD


MARKUP = [
    ("<p>Half<b>way</b> home</p><p>Next</p>", "Halfway home Next"),
    ("a<br/>b<hr>c", "a b c"),
    ("<a href='https://x.test/secret'>link</a>", "link"),
    ("caf&eacute; &amp; tea", "café & tea"),
    ("&#233;t&#0000233; &#99999999;", "été \ufffd"),
    (f"a&#{'9' * 5000};b &#{'0' * 5000}65", "a\ufffdb \ufffd"),
    ("x<script>alert('no')</script>y<style>p{}</style>z<!-- no -->", "x y z"),
    ("<script>never closed", ""),
    ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
    ("plain", "plain"),
]


@pytest.mark.parametrize(("text", "expected"), MARKUP)
def test_markup_is_removed(text: str, expected: str) -> None:
    assert without_markup(text).split() == expected.split()


@pytest.mark.parametrize(
    "part",
    [
        "<",
        "<script ",
        "<!--",
        "<a ",
        "<b",
        "</",
        "&",
        "&#",
        "&#9",
        "&amp",
        "<p>",
        "<i></i>",
        "<<b>",
    ],
)
def test_markup_is_removed_in_linear_time(part: str) -> None:
    with at_most(2):
        without_markup(part * 1_000_000)


@given(st.text("<>/!-;&#x0129abscript \"'\n\\", max_size=200), st.sampled_from("<&#0 a"))
def test_any_markup_can_be_removed(text: str, repeated: str) -> None:
    without_markup(text.replace(repeated, repeated * 5_000, 1))


def test_characters_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHARACTERS_KEPT", 100)
    text = "".join(map(chr, range(0x4E00, 0x9FFF)))
    assert len(module.words(text, "zh-CN")) == len(text)
    assert len(module._CHARACTERS) <= 100


def test_a_language_has_a_stemmer_of_postgresql_or_none() -> None:
    assert [dictionary(code) for code in ("en-US", "de-AT", "nb-NO", "hi-IN", "")] == [
        "english",
        "german",
        "norwegian",
        "hindi",
        None,
    ]
    assert dictionary("ja-JP") is dictionary("pl-PL") is None


def test_each_area_and_block_has_a_prefix_of_its_own() -> None:
    areas = [
        search_area(*place)
        for place in (
            ("acme", "production", "t", "en-US", ""),
            ("acme", "production", "t", "en-US", "fr-FR"),
            ("acme", "production", "t", "fr-FR", ""),
            ("acme", "production", "u", "en-US", ""),
            ("acme", "staging", "t", "en-US", ""),
            ("other", "production", "t", "en-US", ""),
        )
    ]
    prefixes = {lexeme_prefix(area, block) for area in areas for block in (0, 8192)}
    assert len(prefixes) == 12
    assert {len(prefix) for prefix in prefixes} == {8}
