"""Connection classes: COPY that cannot hang, and prepared statements through a pooler."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

import asyncpg

from write_side.waiting import raise_if_cancelled

if TYPE_CHECKING:
    from asyncpg.prepared_stmt import PreparedStatement

    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

MOST = 100
"""Statements that a connection prepares, as many as asyncpg keeps; others are planned each time."""
_PREPARED = "SELECT FROM pg_prepared_statements WHERE name = $1"


class CopyingConnection(_Connection):
    """A connection whose COPY ends if the server does not read its data, or if the connection is
    lost. asyncpg's own waits for such a server without a limit, and does not notice a lost
    connection.

    ``patience``: the time limit in seconds of a COPY that is called without ``timeout``; None
    means no limit."""

    __slots__ = ("patience",)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.patience: float | None = None

    async def copy_records_to_table(
        self, table_name: str, *, timeout: float | None = None, **options: Any
    ) -> str:
        """Raises ConnectionDoesNotExistError, TimeoutError."""
        limit = self.patience if timeout is None else timeout
        copying = asyncio.create_task(
            super().copy_records_to_table(table_name, timeout=limit, **options)
        )

        def end(_connection: object) -> None:
            copying.cancel()

        self.add_termination_listener(end)
        try:
            async with asyncio.timeout(limit):
                return await copying
        except (Exception, asyncio.CancelledError) as error:
            # When asyncpg tries to abort a COPY on a lost connection, another error results.
            if self.is_closed():
                raise_if_cancelled(error)
                lost = "connection was lost during a COPY"
                raise asyncpg.ConnectionDoesNotExistError(lost) from error
            raise
        finally:
            self.remove_termination_listener(end)


class _Named(NamedTuple):
    name: str
    statement: PreparedStatement[asyncpg.Record]


class PooledConnection(CopyingConnection):
    """A connection through a pooler, whose statements are still planned only once for each session.

    A pooler gives each transaction any session, and asyncpg's cache expects its own. Here, a
    statement has the same name in every session and for every client, made of its text and its
    types. A session that does not have it yet refuses it, and then prepares it (ADR 57).

    Only ``fetch`` outside a transaction uses prepared statements: within one, a session without
    the statement would end the transaction."""

    __slots__ = ("_named",)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._named: dict[str, _Named] = {}

    async def fetch(  # type: ignore[override]  # asyncpg has overloads for classes of records
        self, query: str, *args: Any, timeout: float | None = None, **options: Any
    ) -> list[asyncpg.Record]:
        if options or self.is_in_transaction():
            return await super().fetch(query, *args, timeout=timeout, **options)
        named = self._named.get(query)
        if named is None:
            if len(self._named) == MOST:
                return await super().fetch(query, *args, timeout=timeout)
            return await self._first(query, args, timeout)
        try:
            return await named.statement.fetch(*args, timeout=timeout)
        except asyncpg.InvalidSQLStatementNameError:
            return await self._again(query, args, timeout)
        except asyncpg.InvalidCachedStatementError:
            # A table has changed since the session prepared it.
            del self._named[query]
            return await super().fetch(query, *args, timeout=timeout)

    async def _first(
        self, query: str, args: tuple[Any, ...], timeout: float | None
    ) -> list[asyncpg.Record]:
        """asyncpg learns the types of a statement only by preparing it under its name."""
        async with self.transaction():
            name = await self._name(query, timeout)
            if await self.fetch(_PREPARED, name, timeout=timeout):
                await self.execute(f"DEALLOCATE {name}", timeout=timeout)
            statement = await self.prepare(query, name=name, timeout=timeout)
            records = await statement.fetch(*args, timeout=timeout)
        self._named[query] = _Named(name, statement)
        return records

    async def _again(
        self, query: str, args: tuple[Any, ...], timeout: float | None
    ) -> list[asyncpg.Record]:
        """The transaction may have got another session than the one that refused it."""
        named = self._named[query]
        async with self.transaction():
            if await self._name(query, timeout) == named.name:
                if not await self.fetch(_PREPARED, named.name, timeout=timeout):
                    await self.execute(f"PREPARE {named.name} AS {query}", timeout=timeout)
                return await named.statement.fetch(*args, timeout=timeout)
        return await self._first(query, args, timeout)

    async def _name(self, query: str, timeout: float | None) -> str:
        """The name includes the types, because a client that executes a statement by its name does
        not ask for them, and would misread rows after a change of a table."""
        unnamed = await self.prepare(query, name="", timeout=timeout)
        parameters = [one.oid for one in unnamed.get_parameters()]
        columns = [(one.name, one.type.oid) for one in unnamed.get_attributes()]
        text = repr((query, parameters, columns))
        return f"contentlog_{hashlib.sha256(text.encode()).hexdigest()[:32]}"
