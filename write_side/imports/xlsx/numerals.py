"""Numbers as decimal text: what the cell stands for, not how a double writes it."""

from __future__ import annotations

from decimal import Decimal

from write_side.imports.files import Epoch
from write_side.imports.xlsx.formats import Kind
from write_side.imports.xlsx.serials import clock_time, is_below_a_day, iso_date_time, iso_with_time

_LARGEST, _SMALLEST = 21, -7
"""Powers of ten beyond which digits are written with an exponent, as JavaScript does."""


def decimal_text(number: float) -> str:
    """``5`` for ``5.0``, ``0.1`` for ``0.10000000000000001``. An integer keeps its digits.

    Raises ValueError for what is no number.
    """
    exact = Decimal(repr(number))
    if not exact.is_finite():
        raise ValueError("is beyond what a number can be")
    if isinstance(number, int) or not exact or _SMALLEST <= exact.adjusted() < _LARGEST:
        text = f"{exact:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{exact.normalize():e}"


def number_text(number: float, kind: Kind | None, epoch: Epoch) -> str:
    """A date or a time where it is shown as one, and is one. Not by openpyxl: its ``from_excel``
    takes the days 0 and 60 of 1900 for others, and does not tell dates from times."""
    text = decimal_text(number)
    match kind:
        case "date":
            return iso_date_time(text, epoch) or text
        case "duration":
            return clock_time(text) or text
        case "time" if is_below_a_day(text):
            return clock_time(text) or text
        case "time" | "datetime":
            return iso_with_time(text, epoch) or text
    return text
