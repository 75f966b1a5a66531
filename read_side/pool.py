"""Connections that read the read model.

A pool of our own, because a read is short: asyncpg's spends as long again on each hand-over (a
session reset, which reads do not need, and a shielded task). Here a connection is taken from a
list and put back; one that fails in any way is thrown away.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import asyncpg

from read_side.refusals import ReadModelUnavailable

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

SIZE = 10
PATIENCE = 10.0
"""Seconds for a read. Far more than any takes: it is for a server that no longer says anything."""
CONNECTING = 5.0
"""Seconds for a connection: its turn, and making it where there is none."""
PASSING = (
    OSError,
    asyncio.TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
)
"""Faults of the moment: lost connections, restarts, what a replica cancels to keep up, an
operator's lock_timeout. The same read may well succeed."""


class Pool:
    """At most ``size`` connections to a PostgreSQL URL, each used by one task at a time.

    Statements are planned once, not for each of their parameters: planning takes several times
    as long as reading a page. The statements are written so that one plan serves all of them
    (LATERAL … LIMIT 1 has each of the page's rows fetched by its key).
    """

    def __init__(self, url: str, size: int = SIZE) -> None:
        self._url = url
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._places = size
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def fetch(self, statement: str, *parameters: Any) -> list[asyncpg.Record]:
        """All rows. Raises what the connection raises."""
        connection = await self._taken()
        try:
            rows = await connection.fetch(statement, *parameters)
        except BaseException as error:
            self._give_back(connection, usable=isinstance(error, asyncpg.PostgresError))
            raise
        self._give_back(connection)
        return rows

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        """A connection for several statements."""
        connection = await self._taken()
        usable = False
        try:
            yield connection
            usable = True
        finally:
            self._give_back(connection, usable=usable)

    def expire(self) -> None:
        """Throw the idle ones away: where one was found dead, the others are too."""
        while self._idle:
            self._let_go(self._idle.pop())

    def close(self) -> None:
        for connection in self._open:
            connection.terminate()

    async def _taken(self) -> Connection:
        # Where none can be made, those who wait for a turn must not become ever more.
        async with asyncio.timeout(CONNECTING):
            return await self._take()

    async def _take(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._let_go(connection)
        if self._places == 0:
            return await self._turn()
        return await self._connect()

    async def _turn(self) -> Connection:
        """Wait until there is a connection, or a place for one."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._next()
            raise
        return await self._take()

    async def _connect(self) -> Connection:
        self._places -= 1
        try:
            connection = await asyncpg.connect(
                self._url,
                timeout=CONNECTING,
                command_timeout=PATIENCE,
                server_settings={"plan_cache_mode": "force_generic_plan"},
            )
        except BaseException:
            self._places += 1
            self._next()
            raise
        self._open.add(connection)
        return connection

    def _give_back(self, connection: Connection, *, usable: bool = True) -> None:
        if usable and not connection.is_closed():
            self._idle.append(connection)
        else:
            self._let_go(connection)
        self._next()

    def _let_go(self, connection: Connection) -> None:
        connection.terminate()
        self._open.discard(connection)
        self._places += 1

    def _next(self) -> None:
        """Wake the one who has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return


@asynccontextmanager
async def open_pool(url: str) -> AsyncIterator[Pool]:
    """A pool whose first connection is made, so that a wrong URL is known at once."""
    pool = Pool(url)
    try:
        async with pool.acquire():
            pass
        yield pool
    finally:
        pool.close()


async def fetch(pool: Pool, statement: str, *parameters: Any) -> list[asyncpg.Record]:
    """Read, once more where the connection was lost. Raises ReadModelUnavailable."""
    try:
        return await pool.fetch(statement, *parameters)
    except PASSING as error:
        if isinstance(error, asyncpg.DataError):
            raise
        pool.expire()
    try:
        return await pool.fetch(statement, *parameters)
    except PASSING as error:
        raise ReadModelUnavailable from error
