"""A transaction that sends its statements together (ADR 51), or on Citus one by one (ADR 59)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import lru_cache
from typing import Any

import asyncpg

from projector.checkpoint import (
    Checkpoint,
    CheckpointConflict,
    announce,
    committed_everywhere,
)
from read_side.engine import is_distributed
from read_side.notices import Notice
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

_COMMENT = re.compile(r"^ *--.*\n", re.MULTILINE)
_PARAMETER = re.compile(r"\$(\d+)")


class WriteTransaction:
    """Sends what is added as one statement. A statement is a transaction of its own, so BEGIN and
    COMMIT are sent only if there must be others.

    The parts of a statement see the rows as they were before it, and their order is undefined.
    So an added statement must not read or write rows that an earlier one writes.

    On Citus, each part is a statement of its own, because Citus would send the parts one by one,
    and each result back.
    """

    def __init__(self, connection: Connection, stack: AsyncExitStack, distributed: bool) -> None:
        self._connection = connection
        self._stack = stack
        self._added: dict[str, Sequence[Any]] = {}
        self._has_begun = False
        self._is_distributed = distributed
        self.notice: Notice | None = None
        """To be announced after the commit."""

    async def add(self, name: str, parameters: Sequence[Any]) -> None:
        """Adds the projector's statement of this name, unless it has no parameters."""
        if not parameters:
            return
        if name in self._added:
            await self.flush()
        self._added[name] = parameters
        if self._is_distributed:
            await self.flush()

    async def flush(self) -> Connection:
        """Sends what was added, and begins a transaction if none has begun. Returns the connection,
        for what has to be sent by itself."""
        if not self._has_begun:
            await self._stack.enter_async_context(self._connection.transaction())
            self._has_begun = True
        await self.send()
        return self._connection

    async def move_checkpoint(self, new: Checkpoint, notice: Notice) -> None:
        """Compare-and-set from ``after`` and the epoch of the notice, which is sent to the readers
        of the live read model. If another process has moved the checkpoint, nothing is written,
        and the transaction ends with CheckpointConflict."""
        event = (new.position, new.stream, new.version, new.at)
        moved = [*event, notice.after, notice.epoch]
        if self._is_distributed:
            await self.add("move_checkpoint_silently", moved)
            self.notice = notice
        else:
            await self.add("move_checkpoint", [*moved, notice.encoded()])

    async def send(self) -> None:
        """Sends what was added. Raises CheckpointConflict."""
        if not self._added:
            return
        added, self._added = self._added, {}
        parameters = [value for values in added.values() for value in values]
        try:
            await self._connection.execute(combined(tuple(added)), *parameters)
        except asyncpg.NotNullViolationError as error:
            # Citus does not name the table, but then the statement is sent by itself.
            if error.table_name == "checkpoint" or "move_checkpoint_silently" in added:
                raise CheckpointConflict from error
            raise


@asynccontextmanager
async def write_transaction(connection: Connection) -> AsyncIterator[WriteTransaction]:
    """Commits if no error is raised. Within a transaction, it is a savepoint; on Citus a part of
    the transaction, which then has to announce the checkpoint."""
    distributed = await is_distributed(connection)
    is_part = connection.is_in_transaction()
    async with AsyncExitStack() as stack:
        if distributed:
            await stack.enter_async_context(committed_everywhere(connection))
        transaction = WriteTransaction(connection, stack, distributed)
        if is_part:
            await transaction.flush()
        yield transaction
        await transaction.send()
    if transaction.notice is not None and not is_part:
        await announce(connection, transaction.notice)


@lru_cache(512)
def combined(names: tuple[str, ...]) -> str:
    """The statements as one: the last with the others as its CTEs. Its parameters are those of each
    in turn."""
    parts: list[str] = []
    count = 0
    for name in names:
        sql = _COMMENT.sub("", statement("projector", name))
        parts.append(_renumbered(sql, count))
        count += max(int(number) for number in _PARAMETER.findall(sql))
    *others, main = parts
    if not others:
        return main
    ctes = [f"{name} AS (\n{sql})" for name, sql in zip(names, others, strict=False)]
    return f"WITH {', '.join(ctes)}\n{main}"


def _renumbered(sql: str, by: int) -> str:
    return _PARAMETER.sub(lambda found: f"${int(found[1]) + by}", sql)
