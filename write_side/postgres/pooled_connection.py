"""A connection through a pooler, whose statements are still planned only once for each session.

A pooler gives each transaction any session, and asyncpg's cache expects its own. Here, a statement
has the same name in every session and for every client, made of its text and its types. A session
that does not have it yet refuses it, and then prepares it (ADR 57).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

import asyncpg

from write_side.postgres.copying_connection import CopyingConnection

if TYPE_CHECKING:
    from asyncpg.prepared_stmt import PreparedStatement

MOST = 100
"""Statements that a connection prepares, as many as asyncpg keeps; others are planned each time."""
_PREPARED = "SELECT FROM pg_prepared_statements WHERE name = $1"


class _Named(NamedTuple):
    name: str
    statement: PreparedStatement[asyncpg.Record]


class PooledConnection(CopyingConnection):
    """Only ``fetch`` outside a transaction uses prepared statements: within one, a session without
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
