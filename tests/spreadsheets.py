"""Hypothesis strategies for content types and values of every kind, to be exported and imported.

Values are JSON text as clients may send it: with escapes, keys in any order, and numbers of any
length.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import Raw

from tests.unit.domain.test_text import JSON, SCALARS
from write_side.domain.definition import Field, Option
from write_side.domain.text import minified

NASTY = (
    *("", " ", '"', '""', '"""', "'", "''", "=1+1", "+1", "-1", "@x", "'=x", "\t=1", "\r=1"),
    *("\n", "a\r\nb", "a\rb", "_x0041_", "_x0041_x0042_", "\x01\x1f\x7f\x85", "\ufffe\uffff"),
    *("<r>x</r>", "a,b;c\td", "k;=1", "[]", '["a"]', "null", "true", "007", "1.10", "1e3", "#REF!"),
    *("שלום", "\u202ex", "👩\u200d🚀", " x ", "\u00a0", "\ufeff", "1234567890123456", "２"),
)
OPTIONS = ("news", "how to", " lead", "trail ", " ", "[]", '["a"]', "null", '""', "=1", "true", "1")
# Only a single-select field may have a comma in an option.
ONE_OF = (*OPTIONS, "a, b", ",", '["a","b"]')

texts = st.sampled_from(NASTY) | st.text(SCALARS, max_size=10)
dates = st.sampled_from(
    ["2026-01-31", "2026-01-31T09:30:00Z", "2026-01-31t09:30:00.123456789+02:00", "0001-01-01"]
)
NUMBERS = (
    *("0", "-0", "5", "-5", "0.1", "1.10", "1.0", "1e300", "1E5", "1e+5", "1e-7", "0.00001"),
    *("123456789012345", "1234567890123456", "9007199254740993", "0.30000000000000004", "0e5"),
    *("100000000000000000000000", "-0.0", "1.7976931348623157e308", "5e-324", "1e-400", "9" * 40),
)
numbers = (
    st.sampled_from(NUMBERS)
    | st.integers().map(str)
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda number: json.dumps(number))
)


def escaped(value: Any) -> Raw:
    """Encodes JSON as some clients do, in ASCII only."""
    return Raw(json.dumps(value, separators=(",", ":")).encode())


def plain(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


def written(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Raw]:
    return st.builds(lambda write, value: write(value), st.sampled_from([plain, escaped]), values)


def _verbatim(document: str) -> Raw:
    return Raw(minified(document.encode()))


_ranges = st.builds(
    lambda start, end, turned: {"to": end, "from": start} if turned else {"from": start, "to": end},
    dates,
    dates,
    st.booleans(),
)
_odd_json = st.sampled_from(
    ["null", '""', '"null"', "[]", "{}", "[null]", "1.10", "-1", "1e400", '{"b":1,"a":2,"b":3}',
     '"caf\\u00e9"', '"=1"', "true", '"\\r"', "[1e5,-0]"]
).map(_verbatim)  # fmt: skip
json_values = _odd_json | written(JSON)

SCALAR_FIELDS: dict[str, tuple[Field, st.SearchStrategy[Raw]]] = {
    "text": (Field("body", "Body", "text"), written(texts)),
    "rich_text": (Field("html", "Body", "rich_text"), written(texts)),
    "number": (Field("views", "=Views", "number"), numbers.map(_verbatim)),
    "boolean": (Field("open", "Title", "boolean"), st.booleans().map(plain)),
    "datetime": (Field("goes_live", "Goes live", "datetime"), written(dates)),
    "range": (Field("campaign", "Campaign", "datetime", range=True), written(_ranges)),
    "select": (
        Field("mood", "Mood", "select", options=tuple(Option(one, one) for one in ONE_OF)),
        written(st.sampled_from(ONE_OF)),
    ),
    "selects": (
        Field(
            "moods",
            "Moods",
            "select",
            multiple=True,
            options=tuple(Option(one, one) for one in OPTIONS),
        ),
        written(st.lists(st.sampled_from(OPTIONS), max_size=3)),
    ),
    "media": (Field("cover", "Cover", "media"), st.sampled_from(["hero", "logo"]).map(plain)),
    "medias": (
        Field("gallery", "Gallery", "media", multiple=True),
        st.lists(st.sampled_from(["hero", "logo"]), max_size=3).map(plain),
    ),
    "json": (Field("meta", "Meta", "json"), json_values),
}
"""A field of each kind that refers to no entry, and a strategy for its values."""

_INNER = tuple(field for field, _ in SCALAR_FIELDS.values())
_elements = st.fixed_dictionaries(
    {},
    optional={
        field.slug: st.just(Raw(b"null")) | values for field, values in SCALAR_FIELDS.values()
    },
)
REPEATER = Field("faq", "FAQ", "repeater", fields=_INNER)
repeaters = st.lists(_elements, max_size=3).map(plain)
