"""Writes a batch: its rows and the checkpoint in one transaction, set-wise."""

from __future__ import annotations

from typing import Any

import asyncpg
import msgspec

from projector.checkpoint import Checkpoint, hold, move
from projector.columns import (
    ENTRY_COLUMNS,
    Renderers,
    columns,
    entry_rows,
    locale_rows,
    past_slug_rows,
    portions,
)
from projector.known import affordable, known_rows
from projector.partitions import Partitions
from projector.projection import Inconsistent, Recorded, project
from projector.rows import EntryState, Rows, TypeRow, count_changes
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

COPY_FROM = 32
"""From so many new entries on, COPY is worth its two extra round trips."""


class Writer:
    """Projects batches into the read model that the connection's search_path names.

    It keeps content types between batches; after a failure it must be made anew.
    """

    def __init__(self, connection: Connection, epoch: int) -> None:
        self.connection = connection
        self.epoch = epoch
        self._types: dict[str, TypeRow] = {}
        self._renderers = Renderers()
        self._partitions = Partitions(connection)

    async def write(self, batch: list[Recorded], checkpoint: Checkpoint) -> Checkpoint:
        """Rows and checkpoint, or neither; returns where the checkpoint stands then.

        Projects the beginning of the batch alone where what the whole builds on is too large to be
        held in memory. Raises Fenced.
        """
        if batch[0].position != checkpoint.position + 1:
            raise Inconsistent(
                f"a batch from {batch[0].position} on does not follow {checkpoint.position}"
            )
        try:
            return await self._write(batch, checkpoint)
        except (Inconsistent, asyncpg.IntegrityConstraintViolationError):
            # What another wrote or switched to may stand further already: then nothing is wrong.
            await hold(self.connection, self.epoch)
            raise

    async def _write(self, batch: list[Recorded], checkpoint: Checkpoint) -> Checkpoint:
        batch = await affordable(self.connection, batch)
        before = await known_rows(self.connection, batch, self._types)
        after = project(batch, before)
        await self._partitions.ensure(after.entries.values())
        last = batch[-1]
        moved = Checkpoint(last.position, last.stream, last.version, last.event.at)
        async with self.connection.transaction():
            await self.write_rows(before, after)
            await move(self.connection, self.epoch, checkpoint, moved)
        self._remember(after)
        return moved

    async def write_part(self, batch: list[Recorded]) -> None:
        """Rows of events that are not one stretch of the log; the checkpoint stays. Raises Fenced.

        Their streams must be whole from their beginning, in this part and those before it.
        """
        before = await known_rows(self.connection, batch, self._types)
        after = project(batch, before)
        async with self.connection.transaction():
            await hold(self.connection, self.epoch)
            await self.write_rows(before, after)
        self._remember(after)

    async def write_rows(self, before: Rows, after: Rows) -> None:
        """The rows alone, within the caller's transaction. What goes makes room for what comes."""
        types = {**before.types, **after.types}
        await self._drop_entries(before, after)
        await self._write_types(before, after)
        await self._put_entries(
            before, after, {i: row for i, row in types.items() if row is not None}
        )
        await self._add_counts(before, after)
        await self._execute("put_past_slugs", columns(past_slug_rows(after.past_slugs)))
        await self._write_others(after)

    def _remember(self, after: Rows) -> None:
        for type_id, row in after.types.items():
            if row is None:
                self._types.pop(type_id, None)
            else:
                self._types[type_id] = row

    async def _drop_entries(self, before: Rows, after: Rows) -> None:
        """Entries that are deleted, and the locales that entries are no longer translated into."""
        gone: list[EntryState] = []
        locales: list[tuple[str, str, str, str]] = []
        for entry_id, state in after.entries.items():
            known = before.entries.get(entry_id)
            if known is None:
                continue
            left = set(known.entry.translations)
            if state is None:
                gone.append(known)
            else:
                left -= state.entry.translations.keys()
            locales.extend(
                (known.entry.workspace, known.entry.environment, locale, entry_id)
                for locale in left
            )
        await self._execute("drop_entries", columns([_key(state) for state in gone]))
        await self._execute("drop_locales", columns(locales))

    async def _put_entries(self, before: Rows, after: Rows, types: dict[str, TypeRow]) -> None:
        living = {i: state for i, state in after.entries.items() if state is not None}
        new = [state for i, state in living.items() if before.entries.get(i) is None]
        if len(new) < COPY_FROM:
            new = []
        if new:
            # COPY costs half of what a set-wise upsert does, and sends rows as they are rendered.
            await self.connection.copy_records_to_table(
                "entry", records=entry_rows(new, types, self._renderers), columns=ENTRY_COLUMNS
            )
        copied = {state.entry.id for state in new}
        others = (state for i, state in living.items() if i not in copied)
        for parameters in portions(entry_rows(others, types, self._renderers)):
            await self._execute("put_entries", parameters)
        entries = (state.entry for state in living.values())
        for parameters in portions(locale_rows(entries, types, self._renderers)):
            await self._execute("put_locales", parameters)

    async def _add_counts(self, before: Rows, after: Rows) -> None:
        changes = count_changes(before, after)
        # One order for all, in case a rebuild and a projector ever write the same table.
        rows = [(*key, n) for key, n in sorted(changes.items())]
        await self._execute("put_counts", columns(rows))

    async def _write_types(self, before: Rows, after: Rows) -> None:
        removed = [type_id for type_id, row in after.types.items() if row is None]
        if removed:
            await self.connection.execute(statement("projector", "drop_types"), removed)
        rows = [_type_row(row) for row in after.types.values() if row is not None]
        await self._execute("put_types", columns(rows))
        revised = [i for i, row in after.types.items() if row and before.types.get(i)]
        if revised:
            await self.connection.execute(statement("projector", "mark_stale"), revised)

    async def _write_others(self, after: Rows) -> None:
        for workspace in after.workspaces.values():
            plan = msgspec.json.encode(workspace.plan).decode()
            await self.connection.execute(
                statement("projector", "put_workspaces"),
                workspace.slug,
                workspace.name,
                plan,
                workspace.environments,
                workspace.created_at,
            )
        await self._put_each("put_keys", after.keys.values())
        await self._put_each("put_imports", after.imports.values())
        await self._put_each("put_past_types", after.past_types)
        await self._put_each("put_media", [row for row in after.media.values() if row])
        for key in [key for key, row in after.media.items() if row is None]:
            await self.connection.execute(statement("projector", "drop_media"), *key)

    async def _put_each(self, name: str, rows: Any) -> None:
        """Rows of which a batch has few: their Structs are in the statement's order."""
        values = [msgspec.structs.astuple(row) for row in rows]
        if values:
            await self.connection.executemany(statement("projector", name), values)

    async def _execute(self, name: str, columns: list[list[Any]]) -> None:
        if columns:
            await self.connection.execute(statement("projector", name), *columns)


def _key(state: EntryState) -> tuple[str, str, str]:
    return (state.entry.workspace, state.entry.environment, state.entry.id)


def _type_row(row: TypeRow) -> tuple[Any, ...]:
    return (
        row.id,
        row.workspace,
        row.environment,
        row.slug,
        row.name,
        msgspec.json.encode(row.fields).decode(),
        msgspec.json.encode(row.stages).decode(),
        row.version,
        row.created_at,
        row.updated_at,
    )
