"""Brings entries up to date with a change of their content type, in the background.

Entries that were rendered under an older type are rendered again. A change of a type is visible at
once, because until then readers render such rows themselves. Only rendered columns change here,
never stored values.

Paths that the change has made incomplete are filled. Entries that change meanwhile keep their rows
up to date themselves: a chunk replaces the rows that they have at these paths.
"""

from __future__ import annotations

from typing import Any

from projector.checkpoint import hold
from projector.entry_rows import Renderers, entry_rows, locale_rows, put_entries, put_locales
from projector.entry_search import EntrySearch
from projector.entry_values import TypeValues, add_values
from projector.rows import EntryState, columns
from projector.stored_rows import entry_state, type_row
from projector.write_transaction import WriteTransaction, write_transaction
from write_side.domain.content_type import ContentType
from write_side.domain.entry_keys import SEARCH
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement


async def update_chunk(connection: Connection, epoch: int) -> bool:
    """Brings one chunk of entries up to date with the newest version of their type; first those
    that queries wait for. Returns whether there may be more. Raises CheckpointConflict."""
    async with write_transaction(connection) as transaction:
        # Holding the checkpoint prevents this projector's batches and a switch meanwhile.
        await hold(await transaction.connection(), epoch)
        for name, update in (
            ("incomplete_type", fill),
            ("stale_type", rerender),
        ):
            outdated = await connection.fetchrow(statement("projector", name))
            if outdated is not None:
                await update(connection, transaction, outdated)
                return True
        return False


CHUNK = 500
CHUNK_BYTES = 16 * 1024 * 1024


async def rerender(connection: Connection, transaction: WriteTransaction, stale: Any) -> None:
    """Renders the next chunk of the type's entries under its newest version. ``stale``: a row of
    ``stale_type``."""
    type_ = type_row(stale)
    rows = await _next_entries(connection, type_, stale["seen"])
    if not rows:
        await transaction.add("end_rendering", [type_.workspace, type_.id])
        return
    states = [entry_state(row) for row in rows]
    types, renderers = {type_.id: type_}, Renderers()
    await put_entries(transaction, entry_rows(states, types, renderers))
    await put_locales(transaction, locale_rows((s.entry for s in states), types, renderers))
    await transaction.add("move_rendering", [type_.workspace, type_.id, states[-1].position])


async def _next_entries(connection: Connection, type_: ContentType, seen: int | None) -> list[Any]:
    """The next chunk of the type's entries after the position ``seen``, newest first."""
    of_type = (type_.workspace, type_.environment, type_.id)
    return await connection.fetch(
        statement("projector", "next_entries"), *of_type, seen, CHUNK, CHUNK_BYTES
    )


async def fill(connection: Connection, transaction: WriteTransaction, incomplete: Any) -> None:
    """Brings the rows of the type's next chunk of entries up to date. ``incomplete``: a row of
    ``incomplete_type``."""
    type_ = type_row(incomplete)
    rows = await _next_entries(connection, type_, incomplete["seen"])
    if not rows:
        await transaction.add("end_indexing", [type_.workspace, type_.id])
        return
    states = [entry_state(row) for row in rows]
    await _replace(transaction, TypeValues(type_), states, incomplete["paths"])
    if SEARCH in incomplete["paths"]:
        await EntrySearch(connection).replace(transaction, states, {type_.id: type_})
    await transaction.add("move_indexing", [type_.workspace, type_.id, states[-1].position])


async def _replace(
    transaction: WriteTransaction, values: TypeValues, states: list[EntryState], paths: list[str]
) -> None:
    gone = [
        (state.entry.workspace, state.entry.environment, state.position, list_)
        for state in states
        for list_ in values.lists(state.entry, paths)
    ]
    await transaction.add("drop_lists", columns(gone))
    added = [row for state in states for row in values.at(state, paths)]
    await add_values(transaction, added)
