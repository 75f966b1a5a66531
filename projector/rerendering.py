"""Renders, in the background, the entries that were rendered under an older content type.

A change of a type is visible at once, because until then readers render such rows themselves. Only
rendered columns change here, never stored values.
"""

from __future__ import annotations

from typing import Any

from projector.entry_rows import Renderers, entry_rows, locale_rows, put_entries, put_locales
from projector.stored_rows import entry_state, type_row
from projector.write_transaction import WriteTransaction
from write_side.domain.content_type import ContentType
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

CHUNK = 500
CHUNK_BYTES = 16 * 1024 * 1024


async def rerender(connection: Connection, transaction: WriteTransaction, stale: Any) -> None:
    """Renders the next chunk of the type's entries under its newest version. ``stale``: a row of
    ``stale_type``."""
    type_ = type_row(stale)
    rows = await next_entries(connection, type_, stale["seen"])
    if not rows:
        await transaction.add("end_rendering", [type_.workspace, type_.id])
        return
    states = [entry_state(row) for row in rows]
    types, renderers = {type_.id: type_}, Renderers()
    await put_entries(transaction, entry_rows(states, types, renderers))
    await put_locales(transaction, locale_rows((s.entry for s in states), types, renderers))
    await transaction.add("move_rendering", [type_.workspace, type_.id, states[-1].position])


async def next_entries(connection: Connection, type_: ContentType, seen: int | None) -> list[Any]:
    """The next chunk of the type's entries after the position ``seen``, newest first."""
    of_type = (type_.workspace, type_.environment, type_.id)
    return await connection.fetch(
        statement("projector", "next_entries"), *of_type, seen, CHUNK, CHUNK_BYTES
    )
