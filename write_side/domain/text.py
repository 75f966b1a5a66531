"""The JSON and text that the log can store: all Unicode except NUL, nested up to a fixed depth."""

from __future__ import annotations

import re
import unicodedata
from array import array
from itertools import accumulate
from typing import Literal

import msgspec
from msgspec import Raw

from write_side.domain.refusals import InvalidText

MAX_DEPTH = 256
"""The depth of arrays and objects in a document. PostgreSQL, msgspec and the standard library read
JSON recursively; the first of them fails at a far greater depth."""

MOST_COMPOSED = 2_000
"""The longest name that is compared in NFC: four characters for each of a slug's 500."""
MOST_MARKS = 30
"""Combining characters in a row that a normalized text keeps, as in Unicode's stream-safe text
format (UAX #15, 13). No language needs as many."""

# The last five are not combining characters, but are decomposed into them.
_MARKS = "".join(filter(unicodedata.combining, map(chr, range(0x300, 0x20000)))) + (
    "\u0f73\u0f75\u0f81\uff9e\uff9f"
)
_RUN = re.compile(f"([{_MARKS}]{{{MOST_MARKS}}})[{_MARKS}]+")
# Of a class, characters beyond U+FFFF are compared one by one, which takes ten times as long.
_POSSIBLE = re.sub("[\U00010000-\U0010ffff]+", "\U00010000-\U0010ffff", _MARKS)
_POSSIBLE_RUN = re.compile(f"[{_POSSIBLE}]{{{MOST_MARKS + 1}}}")
_LONE = re.compile("[\ud800-\udfff]")
_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
# From the first escape on, so that an escaped backslash never begins another one.
_STORABLE = re.compile(
    rb"(?:[^\\]*+\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?!u0000|u[dD][89a-fA-F]).))*+[^\\]*+",
    re.DOTALL,
)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""A bracket as a signed byte: one level up or down."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))


class NotJSON(ValueError):
    """The bytes are not one JSON document in UTF-8."""


def check_text(text: str, what: str) -> None:
    """Raises InvalidText if PostgreSQL cannot store the text; ``what`` names it in the refusal."""
    reason = unstorable(text)
    if reason is not None:
        raise InvalidText(f"{what} {reason}")


def unstorable(text: str) -> str | None:
    """Why PostgreSQL cannot store the text; None if it can."""
    if "\x00" in text:
        return "contains a NUL character (U+0000), which cannot be stored; remove it"
    if not text.isascii() and _LONE.search(text):
        return "contains half of a surrogate pair, which is not a character; remove it"
    return None


def normalized(form: Literal["NFC", "NFKC"], text: str) -> str:
    """The text in a normal form of Unicode. Python takes quadratic time for combining characters in
    a row, so those after the first ``MOST_MARKS`` are removed."""
    if _POSSIBLE_RUN.search(text):
        text = _RUN.sub(r"\1", text)
    return unicodedata.normalize(form, text)


def composed(name: str) -> str:
    """The name in NFC: programs on macOS may decompose accents. A text that is too long to be a
    name is unchanged."""
    return name if name.isascii() or len(name) > MOST_COMPOSED else normalized("NFC", name)


def minified(document: bytes) -> bytes:
    """The document without white space between its tokens, its numbers and strings untouched.

    Raises NotJSON if it is not JSON in UTF-8, and InvalidText if it is JSON that the log cannot
    store: an escaped NUL, an unpaired surrogate, or nesting deeper than MAX_DEPTH.
    """
    try:
        document.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJSON(f"not UTF-8 at byte {error.start}") from None
    _check_depth(document)
    _check_escapes(document)
    try:
        return bytes(msgspec.json.format(msgspec.json.decode(document, type=Raw), indent=-1))
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotJSON(reason_not_json(error)) from None


def reason_not_json(error: Exception) -> str:
    """Why msgspec cannot read a document; if it just ends, what to do."""
    if str(error) == "Input data was truncated":
        return "it ends too early; close its strings, arrays and objects"
    return str(error)


def without_strings(document: bytes) -> bytes:
    """JSON without its strings; a string that never ends extends to the end. For text that is not
    JSON, this holds as far as a parser reads it.

    A regular expression would look at each byte, which takes ten times as long.
    """
    if b"\\" in document:
        # Each escape begins with a backslash; without escapes, a quote begins or ends a string.
        document = document.replace(rb"\\", b"").replace(rb"\"", b"")
    return b"".join(document.split(b'"')[::2])


def _check_escapes(document: bytes) -> None:
    if not _SUSPECT.search(document):
        return
    storable = _STORABLE.match(document)
    assert storable is not None
    rest = document[storable.end() :]
    if rest.startswith(b"\\u0000"):
        raise InvalidText(
            "The JSON contains a NUL character (\\u0000), which cannot be stored; remove it"
        )
    if rest.startswith(b"\\u"):
        raise InvalidText(
            "The JSON contains half of a surrogate pair (\\ud800 to \\udfff), "
            "which is not a character; remove it"
        )


def _check_depth(document: bytes) -> None:
    if document.count(b"[") + document.count(b"{") <= MAX_DEPTH:
        return
    # In C throughout: a document may have hundreds of thousands of brackets.
    steps = array("b", without_strings(document).translate(_STEPS, _NO_BRACKETS))
    if max(accumulate(steps), default=0) > MAX_DEPTH:
        raise InvalidText(f"The JSON is nested deeper than {MAX_DEPTH} levels; flatten it")
