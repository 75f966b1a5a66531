"""The words of long texts that a batch has postponed (``entry_search``), found on a connection of
their own while batches are written (ADR 45)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import structlog

from projector.checkpoint import CheckpointConflict, check_epoch
from projector.entry_search import EntrySearch, search_rows
from projector.stored_rows import entry_state, load_types
from projector.write_transaction import write_transaction
from write_side.postgres.connection import Connection, is_transient
from write_side.postgres.statements import statement
from write_side.waiting import is_cancelled

Environment: TypeAlias = tuple[str, str]
"""A workspace and one of its environments."""

ROWS = 20
"""Texts in one transaction, unless their entries have more than BYTES."""
BYTES = 100_000
"""Bytes of entries after which a transaction finds the words of no further one."""
RETRY = 1.0
"""Seconds after a transient fault."""
PAUSE = 0.1
"""Seconds until the next attempt, if batches are changing all texts that were looked at."""
LOCK = 0x636C_6F67_0008
"""Shared while words are written; a switch of the read model waits for them."""
# A process that is paused meanwhile must not hold texts for long.
_HOLD = f"""
SELECT set_config('idle_in_transaction_session_timeout', '10s', true),
       pg_advisory_xact_lock_shared({LOCK})"""
_log = structlog.get_logger("projector")


class PostponedWords:
    """Finds the words in a task. ``connect`` opens its connection, which ends when no text is
    without words."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._place: Environment = ("", "")

    async def resume(self, connection: Connection, epoch: int) -> None:
        """Begins to find words if a text has none. Raises what ended the last attempt, unless that
        was transient."""
        if self._task is not None:
            if not self._task.done():
                return
            ended, self._task = self._task, None
            ended.result()
        if await connection.fetchrow(statement("projector", "after_unread"), "", "") is not None:
            self._task = asyncio.create_task(self._find_all(epoch))

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            if self._connection is not None:
                self._connection.terminate()  # a rollback would wait for a silent server
            await asyncio.wait([self._task])

    async def _find_all(self, epoch: int) -> None:
        try:
            connection = self._connection = await self._connect()
            try:
                search = EntrySearch(connection)
                while place := await find_words(connection, epoch, search, self._place):
                    self._place = place
            finally:
                connection.terminate()
        except CheckpointConflict:
            pass  # the next epoch begins again
        except Exception as error:
            if is_cancelled():
                return
            if not is_transient(error):
                raise
            _log.warning("words are found later", fault=repr(error))
            await asyncio.sleep(RETRY)


async def find_words(
    connection: Connection, epoch: int, search: EntrySearch, after: Environment
) -> Environment | None:
    """Finds the words of the oldest texts without words in the next environment after this one:
    environments take turns. Returns the environment, or None if every text has words.

    Raises CheckpointConflict if the read model is in another epoch.
    """
    place = await connection.fetchrow(statement("projector", "after_unread"), *after)
    if place is None:
        return None

    async def transact() -> bool:
        async with write_transaction(connection) as transaction:
            await transaction.flush()
            await connection.execute(_HOLD)
            await check_epoch(connection, epoch)
            held = await connection.fetch(statement("projector", "hold_unread"), *place, ROWS)
            if not held:
                return False
            # Read after they are locked, so no batch has changed these texts since.
            positions = sorted({row["position"] for row in held})
            records = await connection.fetch(
                statement("projector", "next_unread"), *place, positions, BYTES
            )
            states = [entry_state(record) for record in records]
            wanted = {(state.entry.workspace, state.entry.content_type_id) for state in states}
            types = await load_types(connection, wanted)
            places = {tuple(row) for row in held}
            rows = search_rows(states, types)
            postponed = (row for row in rows if (row.state.position, row.locale) in places)
            await search.put(transaction, "replace_search", postponed, types)
            return True

    if not await search.carry_out(transact):
        await asyncio.sleep(PAUSE)
    return (place["workspace"], place["environment"])
