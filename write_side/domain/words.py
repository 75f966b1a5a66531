"""The words of a text, as full-text search compares them (ADR 45).

PostgreSQL's own parser divides Hindi at its vowel signs and keeps a Japanese sentence as one word.
Here a word is a run of letters, digits and marks. Scripts that are written without spaces become
overlapping pairs of characters, so that any part of a text is found.
"""

from __future__ import annotations

import html
import re
import unicodedata
from base64 import urlsafe_b64encode
from functools import lru_cache
from hashlib import sha256

from msgspec import Struct

from write_side.domain.text import normalized

LONGEST_TEXT = 100_000
"""Characters of a text that are read; the rest is not found."""
LONGEST_WORD = 240
"""Characters of a word: less than 1,000 bytes."""
BLOCK = 8_192
"""Positions in a block of entries that share their lexemes, as on level 2 of ``entry_count``."""

_DICTIONARIES = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""The stemmers of PostgreSQL 15, which later versions have too."""
_DOTLESS = frozenset({"az", "tr"})
"""Languages in which I is the capital of ı."""

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"  # Han
    "\u3041-\u30ff\u31f0-\u31ff\U0001b000-\U0001b16f"  # kana
)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_PARTS = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")

_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style|template)\b.*?(?:</\1\s*>|\Z)", re.I | re.S)
_INLINE = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|label|mark|q|s|samp|small|span"
    r"|strike|strong|sub|sup|time|tt|u|var|wbr)(?:\s[^<>]*|/)?>",
    re.IGNORECASE,
)
TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
# ``html.unescape`` raises ValueError for more digits than Python converts.
_ENDLESS_REFERENCE = re.compile(r"&#[0-9]{100,};?")


CHARACTERS_KEPT = 50_000
"""All of Unicode would take 86 MB in each process."""


class _Characters(dict[int, str | None]):
    """What becomes of each character: part of a word, a space, or None: removed. For
    ``str.translate``; filled as characters appear."""

    def __missing__(self, code: int) -> str | None:
        if len(self) >= CHARACTERS_KEPT:
            self.clear()
        self[code] = found = _replacement(chr(code))
        return found


def _replacement(character: str) -> str | None:
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category in ("Cf", "Me") or _is_optional(character):
        return None
    return character if category[0] in "LNM" else " "


def _is_optional(character: str) -> bool:
    """Signs that the same word has or has not: vowel signs of Arabic and Hebrew, Arabic's
    lengthening sign, variation selectors of emoji."""
    code = ord(character)
    return (
        0x0591 <= code <= 0x05C7
        or 0x064B <= code <= 0x065F
        or code in (0x0640, 0x0670)
        or 0xFE00 <= code <= 0xFE0F
        or 0xE0100 <= code <= 0xE01EF
    )


_CHARACTERS = _Characters()


class SearchWords(Struct, frozen=True):
    """The words of a search: all must be found, those of ``beginnings`` as the beginning of a
    word."""

    whole: tuple[str, ...]
    beginnings: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return self.whole + self.beginnings


def words(text: str, language: str) -> list[str]:
    """The words in order, with repetitions, in lower case and normalized (NFKC). ``language``: a
    code such as tr-TR, by which capitals become small letters.

    A run of characters of a script without spaces becomes its overlapping pairs, and its last
    character alone, so that each character begins a word.
    """
    text = _normalized(text[:LONGEST_TEXT], language)
    if text.isascii() or not _IS_UNSPACED.search(text):
        return [word[:LONGEST_WORD] for word in text.split()]
    found: list[str] = []
    for word in text.split():
        for part in _PARTS.findall(word):
            if _IS_UNSPACED.match(part):
                found += map(str.__add__, part, part[1:])
                found.append(part[-1])
            else:
                found.append(part[:LONGEST_WORD])
    return found


def search_words(text: str, language: str) -> SearchWords:
    """The words that ``words`` has for the texts that are to be found."""
    whole: dict[str, None] = {}
    beginnings: dict[str, None] = {}
    last = ""
    for word in _normalized(text, language).split():
        for part in _PARTS.findall(word):
            if last:
                whole[last] = None
            last = ""
            if not _IS_UNSPACED.match(part):
                last = part[:LONGEST_WORD]
            elif len(part) == 1:
                beginnings[part] = None
            else:
                whole.update(dict.fromkeys(map(str.__add__, part, part[1:])))
    if last:
        beginnings[last] = None
    return SearchWords(tuple(whole), tuple(beginnings))


def _normalized(text: str, language: str) -> str:
    """The text with its words in lower case and spaces between them."""
    if not text.isascii():
        # A few characters become many.
        text = normalized("NFKC", text)[:LONGEST_TEXT]
        # Python's lower case of it has a separate dot, which the words of a search do not have.
        text = text.replace("İ", "i")
    if language.partition("-")[0] in _DOTLESS:
        text = text.replace("I", "ı")
    return text.lower().translate(_CHARACTERS)


def without_markup(text: str) -> str:
    """Rich text as words are read from it, in linear time: an inline element does not divide a
    word, others do."""
    text = text[: 2 * LONGEST_TEXT]
    if "<" in text:
        text = TAG.sub(" ", _INLINE.sub("", _HIDDEN.sub(" ", text)))
    if "&#" in text:
        text = _ENDLESS_REFERENCE.sub("\ufffd", text)
    return html.unescape(text) if "&" in text else text


def dictionary(code: str) -> str | None:
    """The language of PostgreSQL's stemmer for a language or locale; None if there is none."""
    return _DICTIONARIES.get(code.partition("-")[0])


@lru_cache(maxsize=4096)
def lexeme_prefix(area: str, block: int) -> str:
    """The beginning of the lexemes of a block's texts: one area never reads those of another.
    ``search.sql`` computes the same."""
    digest = sha256(f"{area}{block}".encode()).digest()
    return urlsafe_b64encode(digest[:6]).decode()


def search_area(workspace: str, environment: str, type_id: str, language: str, locale: str) -> str:
    """``locale``: "" for the texts in the entries' original ``language``."""
    return f"{workspace}/{environment}/{type_id}/{language}/{locale}/"
