"""Tables as bytes, to send between processes and to store.

Rows are encoded in chunks: decoding a million cells at once takes a tenth of a second, during which
no other thread of the process runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from write_side.imports.table import Row, Table

CHUNK_CELLS = 10_000
"""A few milliseconds of work."""

_rows = msgspec.msgpack.Decoder(list[Row])
_texts = msgspec.msgpack.Decoder(list[tuple[int, int]])


class EncodedTable(Struct, frozen=True):
    """``table`` is without its rows and texts."""

    table: Table
    rows: tuple[bytes, ...]
    texts: tuple[bytes, ...]


def encode_table(table: Table) -> EncodedTable:
    """Best called in a thread, like ``decode_table``."""
    chunk_rows = max(1, CHUNK_CELLS // max(1, len(table.headings)))
    return EncodedTable(
        table=replace(table, rows=(), texts=()),
        rows=tuple(_chunks(table.rows, chunk_rows)),
        texts=tuple(_chunks(table.texts, CHUNK_CELLS)),
    )


def decode_table(encoded: EncodedTable) -> Table:
    """Raises msgspec.DecodeError."""
    return replace(
        encoded.table,
        rows=tuple(row for chunk in encoded.rows for row in _rows.decode(chunk)),
        texts=tuple(text for chunk in encoded.texts for text in _texts.decode(chunk)),
    )


def _chunks(items: Sequence[Any], size: int) -> Iterator[bytes]:
    for first in range(0, len(items), size):
        yield msgspec.msgpack.encode(items[first : first + size])
