"""Connections that are lost in the middle of an operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg
import pytest

LOST = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
"""The errors that a caller gets when its connection is lost."""

_METHODS = ("execute", "executemany", "fetch", "fetchrow", "fetchval", "copy_records_to_table")


@contextmanager
def aborting(number: int) -> Iterator[None]:
    """Cuts the connection that is about to send this statement. PostgreSQL rolls back what it had
    begun, as soon as it notices."""
    left = number

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        async def counting(self: Any, *args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                self.terminate()
            return await method(self, *args, **options)

        return counting

    with pytest.MonkeyPatch.context() as patch:
        for name in _METHODS:
            patch.setattr(asyncpg.Connection, name, counted(getattr(asyncpg.Connection, name)))
        yield
