"""Numbers as decimal text: what the cell stands for, not how a double writes it."""

from __future__ import annotations

import re
from decimal import Decimal

_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_DOUBLE_DIGITS = 17
_LARGEST, _SMALLEST = 21, -7
"""Powers of ten beyond which digits are written with an exponent, as JavaScript does."""


def decimal_text(stored: str) -> str | None:
    """``5`` for ``5.0``, ``0.1`` for ``0.10000000000000001``. None for what is no number.

    An integer keeps its digits. So does what has more of them than a double needs: it was not
    written from one.
    """
    stored = stored.strip()
    if _INTEGER.fullmatch(stored):
        return ("-" if stored[0] == "-" else "") + (stored.lstrip("-0") or "0")
    if not _NUMBER.fullmatch(stored):
        return None
    number = Decimal(stored)
    shortest = Decimal(repr(float(number)))
    if shortest.is_finite() and len(number.as_tuple().digits) <= _DOUBLE_DIGITS:
        number = shortest
    return _plain(number)


def _plain(number: Decimal) -> str:
    digits = "".join(map(str, number.as_tuple().digits)).lstrip("0")
    if digits and not _SMALLEST <= number.adjusted() < _LARGEST:
        head, tail = digits[0], digits[1:].rstrip("0")
        return f"{'-' * number.is_signed()}{head}{'.' * bool(tail)}{tail}e{number.adjusted():+}"
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
