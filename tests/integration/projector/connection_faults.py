"""Connections that are lost in the middle of any operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg
import pytest

LOST = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
"""The error that a user of a lost connection gets."""

_METHODS = ("execute", "executemany", "fetch", "fetchrow", "fetchval", "copy_records_to_table")


@contextmanager
def aborting(number: int) -> Iterator[None]:
    """The connection on which this statement is to be sent, of all that are open, is cut instead:
    what it had begun is undone by PostgreSQL, whenever that notices."""
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
