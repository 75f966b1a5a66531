"""What the wizard's forms offer: content types, languages, and ways to read a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct

from api.dashboard.names import named
from api.dashboard.visit import Visit
from read_side.content_types import content_types
from read_side.lookups import languages
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.locales import supported_locales
from write_side.imports.files import DELIMITERS, ENCODINGS, Choice

Pairs = Sequence[tuple[str, str]]

_FOUND_OUT = ("", "Found out from the file")
_DELIMITERS = {",": "comma", ";": "semicolon", "tab": "Tab", "|": "vertical bar"}
_ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "cp1252": "Windows-1252, Western European",
    "iso8859-15": "ISO 8859-15, Western European",
    "mac-roman": "Mac Roman",
    "cp437": "DOS 437, US",
    "cp850": "DOS 850, Western European",
    "cp1250": "Windows-1250, Central European",
    "cp1251": "Windows-1251, Cyrillic",
    "cp1253": "Windows-1253, Greek",
    "cp1254": "Windows-1254, Turkish",
    "cp1255": "Windows-1255, Hebrew",
    "cp1256": "Windows-1256, Arabic",
    "cp1257": "Windows-1257, Baltic",
    "koi8-r": "KOI8-R, Cyrillic",
    "shift_jis": "Shift JIS, Japanese",
    "euc-jp": "EUC-JP, Japanese",
    "gb18030": "GB 18030, Chinese",
    "big5": "Big5, Chinese",
    "euc-kr": "EUC-KR, Korean",
}


class Choices(Struct, frozen=True):
    """Pairs of a value and what people see."""

    types: Pairs
    used_languages: Pairs
    other_languages: Pairs
    encodings: Pairs
    delimiters: Pairs

    def knows_type(self, slug: str) -> bool:
        return any(slug == known for known, _ in self.types)


async def choices(visit: Visit) -> Choices:
    pool, scope = visit.service.read_model, visit.scope
    types = await content_types(pool, scope.workspace, scope.environment)
    spoken = await languages(pool, scope.workspace, scope.environment)
    used = dict.fromkeys([BASE_LANGUAGE, *spoken])
    return Choices(
        types=[(one.slug, one.name) for one in types],
        used_languages=[(code, named(code)) for code in used],
        other_languages=[pair for pair in _all_languages() if pair[0] not in used],
        encodings=[_FOUND_OUT, *((code, _ENCODINGS.get(code, code)) for code in ENCODINGS)],
        delimiters=[_FOUND_OUT, *((_sent(one), _named(one)) for one in DELIMITERS)],
    )


@cache
def _all_languages() -> Pairs:
    return [(code, named(code)) for code in sorted(supported_locales())]


def reading_of(form: Mapping[str, str]) -> Choice:
    """How the file shall be read; what nobody offered is found out."""
    encoding, delimiter = form.get("encoding", ""), form.get("delimiter", "")
    return Choice(
        sheet=form.get("sheet", "").strip() or None,
        encoding=encoding if encoding in ENCODINGS else None,
        delimiter=next((one for one in DELIMITERS if _sent(one) == delimiter), None),
    )


def sent_delimiter(delimiter: str | None) -> str:
    return _sent(delimiter) if delimiter else ""


def separator(delimiter: str | None) -> str:
    """In words."""
    return _DELIMITERS[_sent(delimiter)] if delimiter else ""


def _sent(delimiter: str) -> str:
    """A tab would not come back from a form as it is."""
    return "tab" if delimiter == "\t" else delimiter


def _named(delimiter: str) -> str:
    name = _DELIMITERS[_sent(delimiter)]
    return name if delimiter == "\t" else f"{delimiter}  ({name})"
