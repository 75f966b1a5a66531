"""The strings that a workbook's cells share: those of one sheet, by their index."""

from __future__ import annotations

from collections.abc import Iterable

from write_side.imports.files import FileRefused, Limits
from write_side.imports.xlsx.archive import DAMAGED
from write_side.imports.xlsx.markup import parse
from write_side.imports.xstring import unescaped

ESCAPE_WIDTH = len("_xHHHH_")


def strings_at(indexes: set[int], chunks: Iterable[bytes], limits: Limits) -> dict[int, str]:
    """Raises FileRefused where there is none at an index, or too much text."""
    reader = _Strings(indexes, limits)
    parse(chunks, reader)
    if len(reader.found) < len(indexes):
        raise FileRefused(DAMAGED)
    return reader.found


class _Strings:
    """Runs of rich text are joined, and the readings of Asian texts left out."""

    def __init__(self, indexes: set[int], limits: Limits) -> None:
        self.found: dict[int, str] = {}
        self._indexes = indexes
        self._room = limits.text_bytes * ESCAPE_WIDTH
        self._index = -1
        self._wanted = self._in_text = self._in_reading = False
        self._pieces: list[str] = []

    def start(self, name: str, _: dict[str, str]) -> None:
        match name:
            case "si":
                self._index += 1
                self._wanted = self._index in self._indexes
            case "t":
                self._in_text = self._wanted and not self._in_reading
            case "rPh":
                self._in_reading = True

    def text(self, text: str) -> None:
        if self._in_text:
            self._pieces.append(text)
            self._room -= len(text)
            if self._room < 0:
                raise FileRefused("holds too much text: split it into several files")

    def end(self, name: str) -> None:
        match name:
            case "si" if self._wanted:
                self.found[self._index] = unescaped("".join(self._pieces))
                self._pieces.clear()
            case "t":
                self._in_text = False
            case "rPh":
                self._in_reading = False
