"""Tables on their way between processes, in pieces.

A million cells take a tenth of a second and more to be decoded at once, and meanwhile no other
thread of the process runs, whichever does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from write_side.imports.files import Row, Table

CELLS = 10_000
"""Of a piece: a few milliseconds."""

_rows = msgspec.msgpack.Decoder(list[Row])
_texts = msgspec.msgpack.Decoder(list[tuple[int, int]])


class Packed(Struct, frozen=True):
    """``table`` is without its rows and texts, of which there may be many."""

    table: Table
    rows: tuple[bytes, ...]
    texts: tuple[bytes, ...]


def packed(table: Table) -> Packed:
    """Best called in a thread, as ``unpacked`` is."""
    at_once = max(1, CELLS // max(1, len(table.headings)))
    return Packed(
        table=replace(table, rows=(), texts=()),
        rows=tuple(_pieces(table.rows, at_once)),
        texts=tuple(_pieces(table.texts, CELLS)),
    )


def unpacked(found: Packed) -> Table:
    """Raises msgspec.DecodeError."""
    return replace(
        found.table,
        rows=tuple(row for piece in found.rows for row in _rows.decode(piece)),
        texts=tuple(text for piece in found.texts for text in _texts.decode(piece)),
    )


def _pieces(items: Sequence[Any], at_once: int) -> Iterator[bytes]:
    for first in range(0, len(items), at_once):
        yield msgspec.msgpack.encode(items[first : first + at_once])
