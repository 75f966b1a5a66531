"""Fills, in the background, the paths that a change of a content type has made incomplete.

Newest entries first, as they are rendered again. Entries that change meanwhile keep their rows up
to date themselves: a chunk replaces the rows that they have at these paths.
"""

from __future__ import annotations

from typing import Any

from projector import rerendering
from projector.entry_search import EntrySearch
from projector.entry_values import TypeValues, add_values
from projector.rows import EntryState, columns
from projector.stored_rows import entry_state, type_row
from projector.write_transaction import WriteTransaction
from write_side.domain.entry_keys import SEARCH
from write_side.postgres.connection import Connection


async def fill(connection: Connection, transaction: WriteTransaction, incomplete: Any) -> None:
    """Brings the rows of the type's next chunk of entries up to date. ``incomplete``: a row of
    ``incomplete_type``."""
    type_ = type_row(incomplete)
    rows = await rerendering.next_entries(connection, type_, incomplete["seen"])
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
