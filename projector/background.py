"""Brings entries up to date with a change of their content type, in the background.

Entries that were rendered under an older type are rendered again. A change of a type is visible at
once, because until then readers render such rows themselves. Only their renderings change
here, never their values.

Paths that the change has made incomplete are filled. Entries that change meanwhile keep their rows
up to date themselves: a chunk replaces the rows that they have at these paths.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from projector.checkpoint import check_epoch, hold_checkpoint
from projector.entry_rows import entry_rows, locale_rows, put_entries, put_locales
from projector.entry_search import EntrySearch, search_rows
from projector.entry_values import TypeValues, add_parts
from projector.rows import EntryState, columns
from projector.stored_rows import entry_state, type_row
from projector.write_transaction import WriteTransaction, write_transaction
from write_side.domain.content_type import ContentType
from write_side.domain.entry_keys import SEARCH
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

CHUNK = 500
"""Entries in one transaction, unless they have more than CHUNK_BYTES."""
CHUNK_BYTES = 16 * 1024 * 1024
WORDS_CHUNK, WORDS_BYTES = 50, 100_000
"""The same if their words are found: those of 16 MB would take a minute."""


class _Chunk(Struct, frozen=True):
    """``paths``: those to be filled; none if the entries are to be rendered."""

    type_: ContentType
    states: list[EntryState]
    paths: list[str]


async def update_chunk(connection: Connection, epoch: int, search: EntrySearch) -> bool:
    """Brings one chunk of entries up to date with the newest version of their type; first those
    that queries wait for. Returns whether there may be more. Raises CheckpointConflict.
    ``search``: with the words that it already knows."""
    # Outside a transaction, because most of the time there is nothing to do.
    table = "indexing"
    row = await connection.fetchrow(statement("projector", "incomplete_type"))
    if row is None:
        table = "rendering"
        row = await connection.fetchrow(statement("projector", "stale_type"))
    if row is None:
        await check_epoch(connection, epoch)
        return False

    async def transact() -> None:
        async with write_transaction(connection) as transaction:
            # Holding the checkpoint prevents this projector's batches and a switch meanwhile.
            await hold_checkpoint(await transaction.flush(), epoch)
            chunk = await _next_chunk(connection, row)
            done = [chunk.type_.workspace, chunk.type_.id]
            if not chunk.states:
                await transaction.add(f"end_{table}", done)
                return
            if table == "indexing":
                await _fill(transaction, chunk, search)
            else:
                await _render(transaction, chunk)
            await transaction.add(f"move_{table}", [*done, chunk.states[-1].position])

    await search.carry_out(transact)
    return True


async def _next_chunk(connection: Connection, outdated: Any) -> _Chunk:
    """The type's next entries, newest first. ``outdated``: a row of ``incomplete_type`` or
    ``stale_type``."""
    type_ = type_row(outdated)
    of_type = (type_.workspace, type_.environment, type_.id)
    paths = outdated.get("paths", [])
    most = (WORDS_CHUNK, WORDS_BYTES) if SEARCH in paths else (CHUNK, CHUNK_BYTES)
    rows = await connection.fetch(
        statement("projector", "next_entries"), *of_type, outdated["seen"], *most
    )
    return _Chunk(type_, [entry_state(row) for row in rows], paths)


async def _render(transaction: WriteTransaction, chunk: _Chunk) -> None:
    types = {chunk.type_.id: chunk.type_}
    await put_entries(transaction, entry_rows(chunk.states, types))
    entries = (state.entry for state in chunk.states)
    await put_locales(transaction, locale_rows(entries, types))


async def _fill(transaction: WriteTransaction, chunk: _Chunk, search: EntrySearch) -> None:
    values = TypeValues(chunk.type_)
    gone = [
        (state.entry.workspace, state.entry.environment, state.position, list_)
        for state in chunk.states
        for list_ in values.lists(state.entry, chunk.paths)
    ]
    await transaction.add("drop_lists", columns(gone))
    added = [row for state in chunk.states for row in values.at(state, chunk.paths)]
    await add_parts(transaction, "put_values", added)
    if SEARCH in chunk.paths:
        types = {chunk.type_.id: chunk.type_}
        rows = search_rows(chunk.states, types)
        await search.put(transaction, "replace_search", rows, types)
