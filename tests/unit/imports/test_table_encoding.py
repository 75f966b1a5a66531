"""Tables encoded to be sent between processes."""

from __future__ import annotations

import msgspec
import pytest

from write_side.imports.table import CHUNK_CELLS, CellError, Row, Table, decode_table, encode_table


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (1, 1), (70, 500), (2_000, 12)])
def test_a_table_is_encoded_in_limited_pieces_without_change(rows: int, columns: int) -> None:
    table = Table(
        name="wide.xlsx",
        headings=tuple(f"H{n}" for n in range(columns)),
        rows=tuple(Row(2 + n, ("x",) * columns) for n in range(rows)),
        texts=tuple((n, m) for n in range(rows) for m in range(columns)),
        cell_errors=(CellError(2, 0, "is an error"),),
    )
    found = encode_table(table)
    assert decode_table(found) == table
    assert len(msgspec.msgpack.encode(found.table)) < 10_000
    for piece in found.rows:
        decoded = msgspec.msgpack.decode(piece, type=list[Row])
        assert sum(len(row.cells) for row in decoded) <= CHUNK_CELLS
    assert all(len(msgspec.msgpack.decode(piece)) <= CHUNK_CELLS for piece in found.texts)
