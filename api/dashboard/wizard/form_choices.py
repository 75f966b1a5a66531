"""What the wizard's forms offer: content types, languages, and how to read a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.templates import language_options
from read_side.content_types import content_types
from read_side.lookups import languages
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.locales import supported_locales
from write_side.imports.table import DELIMITERS, ENCODINGS, Choice

SelectOptions = Sequence[tuple[str, str]]

_DETECT = ("", "Detect automatically")
# A form would not send a tab character back unchanged.
_TAB = "tab"
_DELIMITERS = {",": "comma", ";": "semicolon", _TAB: "Tab", "|": "vertical bar"}
_DELIMITER_OPTIONS = [
    (one, name if one == _TAB else f"{one}  ({name})") for one, name in _DELIMITERS.items()
]
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


class FormChoices(Struct, frozen=True):
    """SelectOptions of selects: pairs of value and text."""

    types: SelectOptions
    used_languages: SelectOptions
    other_languages: SelectOptions
    encodings: SelectOptions
    delimiters: SelectOptions


async def form_choices(request: DashboardRequest) -> FormChoices:
    types = await content_types(*request.read_model)
    used = dict.fromkeys([BASE_LANGUAGE, *await languages(*request.read_model)])
    return FormChoices(
        types=[(one.slug, one.name) for one in types],
        used_languages=language_options(used),
        other_languages=[pair for pair in _all_languages() if pair[0] not in used],
        encodings=[_DETECT, *((code, _ENCODINGS.get(code, code)) for code in ENCODINGS)],
        delimiters=[_DETECT, *_DELIMITER_OPTIONS],
    )


def reading_choice(form: Mapping[str, str]) -> Choice:
    """How to read the file; unknown values mean detection."""
    encoding, delimiter = form.get("encoding", ""), form.get("delimiter", "")
    return Choice(
        sheet=form.get("sheet", "").strip() or None,
        encoding=encoding if encoding in ENCODINGS else None,
        delimiter=next((one for one in DELIMITERS if form_delimiter(one) == delimiter), None),
    )


def form_delimiter(delimiter: str | None) -> str:
    """A delimiter as a form sends it."""
    return _TAB if delimiter == "\t" else delimiter or ""


def delimiter_name(delimiter: str | None) -> str:
    return _DELIMITERS[form_delimiter(delimiter)] if delimiter else ""


@cache
def _all_languages() -> SelectOptions:
    return language_options(sorted(supported_locales()))
