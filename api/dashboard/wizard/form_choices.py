"""The choices in the wizard's forms: content types, languages, and how to read a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import get_args

from msgspec import Struct

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.templates import language_options
from read_side.content_types import content_types
from read_side.lookups import languages
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.locales import supported_locales
from write_side.imports.encodings import ENCODINGS
from write_side.imports.preview import one_line
from write_side.imports.request import Repeats
from write_side.imports.table import DELIMITERS, Choice, column_letters

SelectOptions = Sequence[tuple[str, str]]

_DETECT = ("", "Detect automatically")


REPEATS = (
    ("", "Choose…"),
    ("skip", "Skip the later rows"),
    ("update", "Later rows update the entry of the first"),
    ("suffix", "Give later rows a slug with a suffix: -2, -3"),
)


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
        encodings=[_DETECT, *ENCODINGS.items()],
        delimiters=[_DETECT, *((name, name.capitalize()) for name in DELIMITERS)],
    )


def reading_choice(form: Mapping[str, str]) -> Choice:
    """How to read the file; unknown values mean detection."""
    encoding = form.get("encoding", "")
    return Choice(
        sheet=form.get("sheet", "").strip() or None,
        encoding=encoding if encoding in ENCODINGS else None,
        delimiter=DELIMITERS.get(form.get("delimiter", "")),
    )


def repeats_choice(form: Mapping[str, str], columns: int) -> tuple[Repeats | None, int | None]:
    """What to do with rows that repeat a slug, and the column that slugs are derived from. Unknown
    values count as not chosen."""
    repeats, key = form.get("repeats"), form.get("key", "")
    return (
        next((one for one in get_args(Repeats) if one == repeats), None),
        int(key) if key in map(str, range(columns)) else None,
    )


def key_columns(headings: Sequence[str]) -> SelectOptions:
    """The columns that slugs can be derived from."""
    named = [one_line(heading) or "no heading" for heading in headings]
    columns = [(str(n), f"Column {column_letters(n)}, {name}") for n, name in enumerate(named)]
    return [("", "Title"), *columns]


@cache
def _all_languages() -> SelectOptions:
    return language_options(supported_locales())
