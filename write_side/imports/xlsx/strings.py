"""The texts of a workbook's cells.

openpyxl takes some escapes out of shared strings and leaves others in, and refuses a file for a
font that it does not know.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

from openpyxl.xml.constants import SHEET_MAIN_NS

from write_side.imports.files import FileRefused, Limits
from write_side.imports.xlsx.archive import Archive
from write_side.imports.xstring import unescaped

_ITEM = f"{{{SHEET_MAIN_NS}}}si"
_TEXT = f"{{{SHEET_MAIN_NS}}}t"
_RUN = f"{{{SHEET_MAIN_NS}}}r/{_TEXT}"


def text_of(string: Element) -> str:
    """Runs of rich text are joined, and the readings of Asian texts left out."""
    texts = (text for path in (_TEXT, _RUN) for text in string.iterfind(path))
    return unescaped("".join(text.text or "" for text in texts))


def strings_at(indexes: set[int], archive: Archive, part: str, limits: Limits) -> dict[int, str]:
    """The shared ones that one sheet has: a workbook may have many more.

    Raises FileRefused where they are too much text, and KeyError where there is none.
    """
    found: dict[int, str] = {}
    count = 0
    room = limits.text_bytes

    def take(item: Element) -> None:
        nonlocal count, room
        if count in indexes:
            found[count] = text_of(item)
            room -= len(found[count])
            if room < 0:
                raise FileRefused("holds too much text: split it into several files")
        count += 1

    archive.elements(part, frozenset([_ITEM]), take)
    if len(found) < len(indexes):
        raise KeyError("a string that there is not")
    return found
