"""Bounds the values of a JSON body before anything is decoded.

A few kilobytes of gzip hold millions of empty objects. Decoding those takes seconds, in which no
other request is answered; counting them takes milliseconds.
"""

from __future__ import annotations

import re

from api.errors import BadRequest

MAX_VALUES = 100_000
"""Values in a body, keys not counted: a body of 2 MB may have one for each 20 bytes."""
_STRUCTURE = b",[{"
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
# Strings are skipped, and the search ends at the first value too many.
_TOO_MANY = re.compile(
    rb'(?:[^",\[{]*+(?:%b[^",\[{]*+)*+[,\[{]){%d}+' % (_STRING, MAX_VALUES), re.DOTALL
)


def check_values(document: bytes) -> None:
    """Raises BadRequest. Text that is not JSON passes, or is refused for its commas."""
    # Each value but the first follows one of these, which texts may contain as well.
    if len(document) - len(document.translate(None, _STRUCTURE)) < MAX_VALUES:
        return
    if _TOO_MANY.match(document):
        raise BadRequest(
            f"The JSON of the request has more than {MAX_VALUES:,} values: "
            "send less at once, or long lists as text"
        )
