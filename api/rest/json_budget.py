"""Limits the values of a JSON body before it is decoded.

A few kilobytes of gzip hold millions of empty objects. Decoding those takes seconds and blocks the
event loop; counting them takes milliseconds.
"""

from __future__ import annotations

from api.errors import BadRequest
from write_side.domain.text import without_strings

MAX_VALUES = 100_000
"""Values in a body, without keys: one per 20 bytes of a body of 2 MB."""
_STRUCTURE = b",[{"
_QUOTES = 4 * MAX_VALUES
"""Separators of this many values and as many keys."""


def check_values(document: bytes) -> None:
    """Raises BadRequest. Text that is not JSON passes or is refused because of its commas."""
    # Each value except the first follows one of these, which texts may contain as well.
    if _structure(document) >= MAX_VALUES and _has_too_many(document):
        raise BadRequest(
            f"The JSON of the request has more than {MAX_VALUES:,} values: "
            "send fewer at a time, or long lists as text"
        )


def _has_too_many(document: bytes) -> bool:
    quotes = document.count(b'"') - document.count(rb"\"")
    return quotes > _QUOTES or _structure(without_strings(document)) >= MAX_VALUES


def _structure(document: bytes) -> int:
    return len(document) - len(document.translate(None, _STRUCTURE))
