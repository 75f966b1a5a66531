"""XML from strangers: no document type, no entities, no depth; read part by part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn, Protocol
from xml.parsers import expat

from write_side.imports.files import FileRefused
from write_side.imports.xlsx.archive import DAMAGED

_DEPTH = 64
_TOKEN_BYTES = 1024**2
"""Of an element's name and attributes, say. The parser begins anew with it at every chunk."""
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


class Handler(Protocol):
    """What is told of a document, in its order. A name has its namespace and a space before it,
    but for those of spreadsheets themselves and for attributes without any."""

    def start(self, name: str, attributes: dict[str, str], /) -> None: ...
    def text(self, text: str, /) -> None: ...
    def end(self, name: str, /) -> None: ...


def parse(chunks: Iterable[bytes], handler: Handler) -> None:
    """Raises FileRefused, and whatever the handler does."""
    parser = expat.ParserCreate(namespace_separator=" ")
    depth = fed = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEPTH:
            raise FileRefused(DAMAGED)
        handler.start(name.removeprefix(f"{MAIN} "), attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        handler.end(name.removeprefix(f"{MAIN} "))

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = handler.text
    parser.StartDoctypeDeclHandler = _forbidden
    parser.EntityDeclHandler = _forbidden
    parser.buffer_text = True
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)
            fed += len(chunk)
            if fed - parser.CurrentByteIndex > _TOKEN_BYTES:
                raise FileRefused(DAMAGED)
        parser.Parse(b"", True)
    except expat.ExpatError:
        raise FileRefused(DAMAGED) from None


def _forbidden(*_: object) -> NoReturn:
    raise FileRefused("declares entities or a document type, which no spreadsheet does")


def elements(chunks: Iterable[bytes], *names: str) -> list[tuple[str, str, dict[str, str]]]:
    """The parent's name, the name and the attributes of each element so named."""
    listing = _Listing(frozenset(names))
    parse(chunks, listing)
    return listing.found


class _Listing:
    def __init__(self, names: frozenset[str]) -> None:
        self.found: list[tuple[str, str, dict[str, str]]] = []
        self._names = names
        self._path = [""]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in self._names:
            self.found.append((self._path[-1], name, attributes))
        self._path.append(name)

    def text(self, _: str) -> None:
        pass

    def end(self, _: str) -> None:
        self._path.pop()
