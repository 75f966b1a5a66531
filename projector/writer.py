"""Writes a batch: its rows and the checkpoint in one transaction, with set-based statements, which
are sent together."""

from __future__ import annotations

from typing import Any

import asyncpg
import msgspec

from projector.checkpoint import Checkpoint, hold_checkpoint
from projector.entry_rows import (
    ENTRY_COLUMNS,
    entry_rows,
    locale_rows,
    put_entries,
    put_locales,
)
from projector.entry_search import EntrySearch
from projector.entry_values import ValuesOfTypes, copy_values, mark_incomplete, put_values
from projector.history import notice
from projector.projection import Inconsistent, RecordedEvent, beginning_of, project
from projector.rows import (
    Rows,
    columns,
    count_changes,
    locale_changes,
    type_rows,
)
from projector.stored_rows import fit_in_memory, load_rows
from projector.write_transaction import WriteTransaction, write_transaction
from write_side.domain.content_type import ContentType
from write_side.domain.entry import projected_bytes
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

COPY_FROM = 64
"""The number of new rows from which COPY, which is sent by itself, costs less than a part of the
statement."""

WRITTEN_BYTES = 16 * 1024 * 1024
"""Bytes of entries that a transaction writes at most, unless a single entry is larger. Until it
commits, no other write becomes visible."""


class Writer:
    """Projects batches into the read model that the connection's search_path names.

    It caches content types between batches; after a failure, create a new one. ``words_can_wait``:
    whether the words of long texts may be postponed.
    """

    def __init__(self, connection: Connection, epoch: int, *, words_can_wait: bool = False) -> None:
        self.connection = connection
        self.epoch = epoch
        self._types: dict[str, ContentType] = {}
        self.search = EntrySearch(connection, can_wait=words_can_wait)
        self._values = ValuesOfTypes()

    async def write(self, batch: list[RecordedEvent], checkpoint: Checkpoint) -> Checkpoint:
        """Writes rows and checkpoint, or neither; returns the new checkpoint.

        Projects only the beginning of the batch if the rows that the whole batch builds on are too
        large for memory, or those that it writes are too large for one transaction. Raises
        CheckpointConflict, Inconsistent.
        """
        if batch[0].position != checkpoint.position + 1:
            raise Inconsistent(
                f"a batch from position {batch[0].position} does not follow {checkpoint.position}"
            )
        try:
            batch = await fit_in_memory(self.connection, batch)
            before, after = await self._project(batch)
            sizes = {i: projected_bytes(state.entry) for i, state in after.entries.items() if state}
            short = beginning_of(batch, sizes, WRITTEN_BYTES)
            if len(short) < len(batch):
                batch, after = short, project(short, before)
            moved = Checkpoint.after(batch[-1])

            async def transact() -> None:
                async with write_transaction(self.connection) as transaction:
                    await self._write_rows(transaction, before, after)
                    place = (self.epoch, checkpoint.position, moved.position)
                    await transaction.move_checkpoint(moved, notice(*place, before, after))

            await self.search.carry_out(transact)
        except (
            Inconsistent,
            asyncpg.IntegrityConstraintViolationError,
            asyncpg.InternalServerError,  # of Citus, for a violation by COPY
        ):
            # If another process has moved or replaced the read model, there is no error.
            await hold_checkpoint(self.connection, self.epoch, checkpoint.position)
            raise
        self._cache_types(after)
        return moved

    async def write_part(self, batch: list[RecordedEvent]) -> None:
        """Writes the rows of events that are not contiguous in the log; the checkpoint does not
        change.

        Their streams must be complete from the beginning, in this part and the parts before it.
        Raises CheckpointConflict, Inconsistent.
        """
        before, after = await self._project(batch)
        async with write_transaction(self.connection) as transaction:
            await hold_checkpoint(await transaction.flush(), self.epoch)
            await self._write_rows(transaction, before, after)
        self._cache_types(after)

    async def _project(self, batch: list[RecordedEvent]) -> tuple[Rows, Rows]:
        """The rows before and after the batch."""
        before = await load_rows(self.connection, batch, self._types)
        return before, project(batch, before)

    async def _write_rows(self, transaction: WriteTransaction, before: Rows, after: Rows) -> None:
        types = {i: row for i, row in {**before.types, **after.types}.items() if row is not None}
        await _write_counts(transaction, before, after)
        await _drop_entries(transaction, before, after)
        await _write_types(transaction, before, after)
        copied = await self._put_entries(transaction, before, after, types)
        await put_values(transaction, before, after, types, self._values, copied)
        await self.search.write(transaction, before, after, types)
        for table, names, rows in after.added_rows():
            if len(rows) < COPY_FROM:
                await transaction.add(f"put_{table}s", columns(rows))
            else:
                connection = await transaction.flush()
                await connection.copy_records_to_table(table, records=rows, columns=names)
        await _write_others(transaction, after)

    def _cache_types(self, after: Rows) -> None:
        for type_id, row in after.types.items():
            if row is None:
                self._types.pop(type_id, None)
            else:
                self._types[type_id] = row

    async def _put_entries(
        self,
        transaction: WriteTransaction,
        before: Rows,
        after: Rows,
        types: dict[str, ContentType],
    ) -> set[str]:
        """Returns the ids of the new entries that were copied, with their values."""
        living = {i: state for i, state in after.entries.items() if state is not None}
        known = before.entries
        new = [state for i, state in living.items() if known.get(i) is None]
        changed = [state for i, state in living.items() if known.get(i) is not None]
        new_rows = entry_rows(new, types)
        is_copied = len(new) >= COPY_FROM
        if is_copied:
            # COPY costs half as much as a set-based insert, and sends rows while they are rendered.
            connection = await transaction.flush()
            await connection.copy_records_to_table("entry", records=new_rows, columns=ENTRY_COLUMNS)
            await copy_values(connection, new, types, self._values)
        else:
            await put_entries(transaction, new_rows, are_new=True)
        await put_entries(transaction, entry_rows(changed, types, known))
        entries = (state.entry for state in living.values())
        await put_locales(transaction, locale_rows(entries, types, known))
        return {state.entry.id for state in new} if is_copied else set()


async def _write_counts(transaction: WriteTransaction, before: Rows, after: Rows) -> None:
    """In a fixed order, so that a rebuild and a projector cannot deadlock."""
    of_entries = sorted(count_changes(before, after).items())
    of_locales = sorted(locale_changes(before, after).items())
    for name, changes in (("counts", of_entries), ("locale_counts", of_locales)):
        falls = columns((*key, n) for key, n in changes if n < 0)
        await transaction.add(f"drop_{name}", falls)
        await transaction.add(f"lower_{name}", falls)
        rises = columns((*key, n) for key, n in changes if n > 0)
        await transaction.add(f"raise_{name}", rises)


async def _drop_entries(transaction: WriteTransaction, before: Rows, after: Rows) -> None:
    """Removes deleted entries, and the locales into which entries are no longer translated."""
    gone: list[tuple[str, str, str]] = []
    locales: list[tuple[str, str, str, str]] = []
    for entry_id, state in after.entries.items():
        known = before.entries.get(entry_id)
        if known is None:
            continue
        place = (known.entry.workspace, known.entry.environment)
        removed = set(known.entry.translations)
        if state is None:
            gone.append((*place, entry_id))
        else:
            removed -= state.entry.translations.keys()
        locales.extend((*place, locale, entry_id) for locale in removed)
    await transaction.add("drop_entries", columns(gone))
    await transaction.add("drop_locales", columns(locales))


async def _write_types(transaction: WriteTransaction, before: Rows, after: Rows) -> None:
    """First removes those that are gone, because a new one may have the same slug."""
    if not after.types:
        return
    connection = await transaction.flush()
    removed = [
        (known.workspace, known.id)
        for type_id, known in before.types.items()
        if known is not None and type_id in after.types and after.types[type_id] is None
    ]
    if removed:
        await connection.execute(statement("projector", "drop_types"), *columns(removed))
    changed = [row for row in after.types.values() if row is not None]
    await transaction.add("put_types", columns(type_rows(changed)))
    revised = [(row.workspace, i) for i, row in after.types.items() if row and before.types.get(i)]
    if revised:
        await transaction.add("mark_stale", columns(revised))
        await mark_incomplete(connection, before, after)


async def _write_others(transaction: WriteTransaction, after: Rows) -> None:
    await _put_each(transaction, "put_workspaces", after.workspaces.values())
    await _put_each(transaction, "put_imports", after.imports.values())
    await _put_each(transaction, "put_past_types", after.past_types)
    await _put_each(transaction, "put_media", [row for row in after.media.values() if row])
    for key in [key for key, row in after.media.items() if row is None]:
        await transaction.add("drop_media", key)
    await _put_each(transaction, "put_webhooks", [row for row in after.webhooks.values() if row])
    for key in [key for key, row in after.webhooks.items() if row is None]:
        await transaction.add("drop_webhooks", key)


async def _put_each(transaction: WriteTransaction, name: str, rows: Any) -> None:
    """Writes rows of which a batch has few. Their Structs have the order of the statement's
    columns."""
    values = [msgspec.structs.astuple(row) for row in rows]
    if len(values) > 1:
        await (await transaction.flush()).executemany(statement("projector", name), values)
    else:
        await transaction.add(name, values[0] if values else ())
