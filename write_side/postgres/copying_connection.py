"""A connection whose COPY ends if the server does not read its data, or if the connection is lost.

asyncpg's own COPY waits for such a server without a limit, and does not notice a lost connection.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import asyncpg

from write_side.waiting import raise_if_cancelled

if TYPE_CHECKING:
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection


class CopyingConnection(_Connection):
    """``patience``: the time limit in seconds of a COPY that is called without ``timeout``; None
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
