"""Which JSON and text the log can store."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.time_limits import at_most
from write_side.domain.refusals import InvalidText
from write_side.domain.text import MAX_DEPTH, MOST_MARKS, NotJSON, check_text, minified, normalized

SCALARS = st.characters(exclude_characters="\x00", exclude_categories=["Cs"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(SCALARS, max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(SCALARS, max_size=4), inner, max_size=4),
    max_leaves=6,
)  # fmt: skip

MINIFIED = {
    ' { "a" : [ 1 , 2 ] ,\r\n\t"b" : null } \n': '{"a":[1,2],"b":null}',
    '" a  b "': '" a  b "',
    '{"a b": " , : [ { "}': '{"a b":" , : [ { "}',
    "[1.0,1.10,-0,1E5,1e+05,0.1e-7]": "[1.0,1.10,-0,1E5,1e+05,0.1e-7]",
    "123456789012345678901234567890": "123456789012345678901234567890",
    "9" * 5000: "9" * 5000,
    "1e5000": "1e5000",
    '"\\u00e9 \\/ \\" \\\\ é"': '"\\u00e9 \\/ \\" \\\\ é"',
    '{"a":1,"a":2}': '{"a":1,"a":2}',
    '{"z":1,"a":2}': '{"z":1,"a":2}',
    '"\\ud83d\\ude00"': '"\\ud83d\\ude00"',
    '"\\uD83D\\uDE00\\ud83d\\ude00"': '"\\uD83D\\uDE00\\ud83d\\ude00"',
    '"\\\\u0000"': '"\\\\u0000"',
    '"\\\\\\\\u0000"': '"\\\\\\\\u0000"',
    '"\\\\ud800"': '"\\\\ud800"',
    '"\\u00010"': '"\\u00010"',
    '"\x7f\u2028\ufffe\uffff"': '"\x7f\u2028\ufffe\uffff"',
    "true": "true",
    "{}": "{}",
}

NOT_JSON = [
    b"",
    b" ",
    b"{",
    b"[",
    b"]",
    b'"a',
    b'"\\',
    b'"\\u',
    b"nul",
    b"True",
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"01",
    b"-01",
    b"1.",
    b".5",
    b"+1",
    b"1e",
    b"0x10",
    b"1_000",
    b"[1,]",
    b'{"a":1,}',
    b"{a:1}",
    b"{1:2}",
    b"'a'",
    b'{"a"}',
    b"1 2",
    b"{}{}",
    b"/* c */ 1",
    b'"\\q"',
    b'"\\u12g4"',
    b'"a\nb"',
    b'"\x00"',
    b"1\x00",
    b"\x0c1",
    b"title=Hello&slug=hello",
    b"<html>",
]
NOT_UTF8 = [b'"\xff"', b'"\xc3"', b'"\xed\xa0\x80"', b'"\xc0\x80"', b'"\xf4\x90\x80\x80"']
HALVES = [
    '"\\ud800"',
    '"\\udc00"',
    '"\\uDBFF"',
    '"a\\ud83d b"',
    '"\\ud83d\\ud83d\\ude00"',
    '"\\ude00\\ud83d"',
    '"\\ud83d\\u0041"',
    '"\\ud83d\\\\ude00"',
    '"\\\\\\ud83d"',
    '{"\\udfff":1}',
    '["\\udc00",' + "9" * 5000 + "]",
]
NULS = ['"\\u0000"', '"a\\u0000b"', '{"\\u0000":1}', '"\\\\\\u0000"', '"\\ud83d\\ude00\\u0000"']


@pytest.mark.parametrize(("sent", "stored"), MINIFIED.items())
def test_white_space_is_removed_and_everything_else_is_unchanged(sent: str, stored: str) -> None:
    assert minified(sent.encode()).decode() == stored


@settings(max_examples=50)
@given(JSON, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_any_json_means_the_same_when_minified(value: Any, indent: Any, ascii_only: bool) -> None:
    sent = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    stored = minified(sent.encode())
    assert stored.decode() == json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"))


@given(st.text(SCALARS, min_size=1))
def test_every_unicode_scalar_is_kept(text: str) -> None:
    document = json.dumps(text, ensure_ascii=False).encode()
    assert minified(document) == document
    check_text(text, "The title")


def test_the_edges_of_unicode_are_kept() -> None:
    scalars = "\x01\x1f\x7f\x80\u07ff\u0800\ud7ff\ue000\ufeff\ufffd\uffff\U00010000\U0010ffff"
    for ascii_only in (True, False):
        document = json.dumps(scalars, ensure_ascii=ascii_only).encode()
        assert minified(document) == document
    check_text(scalars, "The title")


@pytest.mark.parametrize("document", NOT_JSON)
def test_invalid_json_is_refused(document: bytes) -> None:
    with pytest.raises(NotJSON):
        minified(document)


def test_a_byte_order_mark_is_not_json() -> None:
    with pytest.raises(NotJSON):
        minified(b"\xef\xbb\xbf{}")


@pytest.mark.parametrize("document", NOT_UTF8)
def test_invalid_utf_8_is_refused_with_the_place(document: bytes) -> None:
    with pytest.raises(NotJSON, match="not UTF-8 at byte 1"):
        minified(document)


@pytest.mark.parametrize("document", HALVES)
def test_an_unpaired_surrogate_is_refused(document: str) -> None:
    with pytest.raises(InvalidText, match=r"half of a surrogate pair .* remove it"):
        minified(document.encode())


@pytest.mark.parametrize("document", NULS)
def test_an_escaped_nul_is_refused(document: str) -> None:
    with pytest.raises(InvalidText, match=r"NUL character \(\\u0000\), .* remove it"):
        minified(document.encode())


@pytest.mark.parametrize("text", ["a\x00", "\x00"])
def test_text_with_a_nul_is_refused(text: str) -> None:
    with pytest.raises(InvalidText, match=r"^The title contains a NUL .* remove it$"):
        check_text(text, "The title")


@pytest.mark.parametrize("text", ["\ud800", "a\udc00b", "\ude00\ud83d"])
def test_text_with_an_unpaired_surrogate_is_refused(text: str) -> None:
    with pytest.raises(InvalidText, match=r"^The slug contains half .* remove it$"):
        check_text(text, "The slug")


def deep(levels: int, opening: str = "[", closing: str = "]") -> bytes:
    return (opening * levels + "0" + closing * levels).encode()


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_json_nests_to_the_limit_and_no_level_deeper(opening: str, closing: str) -> None:
    each = opening.count("[") + opening.count("{")
    limit = deep(MAX_DEPTH // each, opening, closing)
    assert minified(limit) == limit
    with pytest.raises(InvalidText, match=f"nested deeper than {MAX_DEPTH} levels"):
        minified(b"[" + limit + b"]")


def test_brackets_side_by_side_or_in_strings_are_not_nesting() -> None:
    for document in (
        b"[" + b"[]," * 2000 + b"{}]",
        b'["' + b"[{" * 2000 + b'"]',
        b'["\\"' + b"[" * 2000 + b'\\\\"]',
    ):
        assert minified(document) == document


def test_nesting_is_detected_after_strings_with_quotes() -> None:
    with pytest.raises(InvalidText, match="nested deeper"):
        minified(b'["\\\\","\\"",' + deep(MAX_DEPTH) + b"]")


def test_a_string_of_a_megabyte_is_kept() -> None:
    document = json.dumps({"a": "é\\\n" * 250_000}, separators=(",", ":")).encode()
    assert minified(document) == document


@pytest.mark.parametrize(
    "document",
    [
        b"[" * 300 + b'"' + b'\\"' * 200_000,
        b"[" * 300 + b'"' * 200_001,
        b'"' + b"\\\\" * 200_000 + b"\\u0000",
        b'"' + b"\\ud83d\\ude00" * 50_000 + b"\\ud83d",
        b"[" * 400_000,
    ],
)
def test_no_hostile_document_takes_long(document: bytes) -> None:
    with at_most(0.5), pytest.raises((NotJSON, InvalidText)):
        minified(document)


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
@given(text=st.text())
def test_a_text_is_normalized_as_unicode_does(form: Any, text: str) -> None:
    assert normalized(form, text) == unicodedata.normalize(form, text)


def test_a_character_keeps_as_many_marks_as_a_language_may_need() -> None:
    marks = "\u0301\u0323" * 15
    assert len(marks) == MOST_MARKS
    assert normalized("NFC", f"q{marks}\u0301x") == unicodedata.normalize("NFC", f"q{marks}x")


def test_no_combining_character_evades_the_limit() -> None:
    decomposed = (unicodedata.normalize("NFKD", c) for c in map(chr, range(sys.maxunicode + 1)))
    for one in decomposed:
        if unicodedata.combining(one[0]):
            text = normalized("NFKC", "q" + one * 1_000)
            assert len(text) <= 1 + MOST_MARKS * len(one)


@pytest.mark.parametrize("marks", ["\u0301" * 1000 + "\u0323" * 1000, "\u0f73", "\uff9e\u0301"])
@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_combining_characters_in_a_row_take_linear_time(form: Any, marks: str) -> None:
    with at_most(1):
        normalized(form, "q" + marks * (100_000 // len(marks)))


def test_ordinary_text_is_searched_for_combining_characters_in_little_time() -> None:
    text = "日本語テキスト" * 100_000
    with at_most(0.12):  # A single expression takes 0.24.
        for _ in range(3):
            normalized("NFKC", text)
