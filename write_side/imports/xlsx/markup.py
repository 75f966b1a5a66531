"""XML from strangers as elements, of which only those are kept that are wanted.

defusedxml refuses document types and entities. Depth and size are bounded here, while parsing, for
openpyxl takes elements as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import XMLParserType

from defusedxml.ElementTree import DefusedXMLParser

from write_side.imports.files import FileRefused

_DEPTH = 64
_ELEMENTS = 250_000
"""As many as a row or a list of styles may be made of."""
_TOKEN_BYTES = 1024**2
"""Of an element's name and attributes, say. The parser begins anew with it at every chunk."""
_TEXT = 2 * 32_767 * len("_xHHHH_")
"""Twice what a cell may hold, were it all escapes."""

Take = Callable[[Element], None]


def parse(chunks: Iterable[bytes], wanted: frozenset[str], take: Take | None = None) -> Element:
    """The root, with those elements inside that are named so, whole; others have been forgotten.

    With ``take`` it is handed each of them instead, at its end. Raises FileRefused, ValueError
    (DefusedXmlException among them), ParseError and whatever ``take`` does.
    """
    parser = _Parser(target=_Wanted(wanted, take), forbid_dtd=True)
    fed = 0
    for chunk in chunks:
        parser.feed(chunk)
        fed += len(chunk)
        if fed - parser.parser.CurrentByteIndex > _TOKEN_BYTES:
            raise ValueError("an element or a comment has no end")
    root: Element = parser.close()
    return root


class _Parser(DefusedXMLParser):
    parser: XMLParserType


class _Wanted(TreeBuilder):
    def __init__(self, wanted: frozenset[str], take: Take | None) -> None:
        super().__init__()
        self._wanted, self._take = wanted, take
        self._open: list[Element] = []
        self._within = self._elements = self._length = 0

    def start(self, tag: str, attributes: dict[str, str], /) -> Element:
        element = super().start(tag, attributes)
        self._open.append(element)
        self._length = 0
        if self._within or tag in self._wanted:
            self._within += 1
            self._elements += 1
        if len(self._open) > _DEPTH or self._elements > _ELEMENTS:
            raise ValueError("has too many elements, or too deep ones")
        return element

    def data(self, text: str, /) -> None:
        super().data(text)
        self._length += len(text)
        if self._length > _TEXT:
            raise FileRefused("has more text in one cell than a spreadsheet holds: shorten it")

    def end(self, tag: str, /) -> Element:
        element = super().end(tag)
        self._open.pop()
        self._within -= self._within > 0
        if self._within == 0:
            self._ended(element)
        return element

    def _ended(self, element: Element) -> None:
        if element.tag in self._wanted:
            if self._take is None:
                return
            self._take(element)
            self._elements = 0
        if self._open:
            del self._open[-1][-1]
