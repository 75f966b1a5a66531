"""What a cell holds, as text (ECMA-376 part 1, 18.3.1.4 and 18.18.11)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from write_side.imports.files import Epoch, FileRefused
from write_side.imports.xlsx.archive import DAMAGED
from write_side.imports.xlsx.formats import Kind
from write_side.imports.xlsx.numerals import decimal_text
from write_side.imports.xlsx.serials import clock_time, is_below_a_day, iso_date_time, iso_with_time
from write_side.imports.xstring import unescaped

INDEX = re.compile("[0-9]{1,9}")

Cell = str | int
"""A text, or the index of a shared string."""


def cell_of(
    cell_type: str, found: Mapping[str, str], kind: Kind | None, epoch: Epoch
) -> tuple[Cell, str | None]:
    """The cell, and why it is no data, by the texts of its elements ``v``, ``f`` and ``t``.

    Raises FileRefused where it is none that the format allows.
    """
    value = found.get("v", "")
    # A formula whose value is an empty text has an empty element to say so.
    if "f" in found and not value and not (cell_type == "str" and "v" in found):
        return f"={found['f']}", "holds a formula without a value: save the file in a spreadsheet"
    if cell_type == "e" and value:
        return value, f"holds the error {value[:20]}"
    return _cell(
        cell_type, found.get("t", "") if cell_type == "inlineStr" else value, kind, epoch
    ), None


def _cell(cell_type: str, value: str, kind: Kind | None, epoch: Epoch) -> Cell:
    match cell_type, value.strip():
        case (("inlineStr" | "str"), _):
            return unescaped(value)
        case _, "":
            return ""
        case "s", index if INDEX.fullmatch(index):
            return int(index)
        case "b", "0":
            return "false"
        case "b", "1":
            return "true"
        case "d", text:
            return text
        case "n", number:
            return _number(number, kind, epoch)
    raise FileRefused(DAMAGED)


def _number(stored: str, kind: Kind | None, epoch: Epoch) -> str:
    number = decimal_text(stored)
    if number is None:
        raise FileRefused(DAMAGED)
    match kind:
        case "date":
            return iso_date_time(stored, epoch) or number
        case "duration":
            return clock_time(stored) or number
        case "time" if is_below_a_day(stored):
            return clock_time(stored) or number
        case "time" | "datetime":
            return iso_with_time(stored, epoch) or number
    return number
