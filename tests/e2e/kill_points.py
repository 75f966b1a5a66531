"""Runs work in forked processes that ``kill -9`` themselves at a chosen point of their
communication with PostgreSQL.

The parent has already imported everything, so that many forks are cheap. A killed process leaves
nothing behind but the database.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Literal

import asyncpg
from asyncpg.transaction import Transaction

from projector.write_transaction import WriteTransaction

Point = Literal["before", "after"]
Work = Callable[[], Coroutine[Any, Any, object]]


def run(work: Work, prepare: Callable[[], None]) -> bool:
    """Returns true if the work finished, and false if it was killed. Any other outcome is an
    error."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            prepare()
            asyncio.run(work())
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, "it failed in another way"
    return True


def at_commit(point: Point, after_call: tuple[object, str] | None = None) -> Callable[[], None]:
    """Kills the process right before or right after its first commit. If ``after_call`` names a
    function of a module or class, only transactions that called it count. A statement that the
    projector sends without BEGIN is also a transaction."""

    def prepare() -> None:
        commit = Transaction._Transaction__commit  # type: ignore[attr-defined]
        send = WriteTransaction.send
        is_armed = after_call is None

        async def dying(self: Transaction) -> None:
            await die_at(partial(commit, self))

        async def dying_send(self: WriteTransaction) -> None:
            if self._connection.is_in_transaction() or not self._added:
                await send(self)
            else:
                await die_at(partial(send, self))

        async def die_at(committing: Callable[[], Awaitable[None]]) -> None:
            if not is_armed or point == "after":
                await committing()
            if is_armed:
                die()

        def armed_by(function: Callable[..., Any]) -> Callable[..., Any]:
            async def arm_and_call(*args: Any) -> Any:
                nonlocal is_armed
                is_armed = True
                return await function(*args)

            return arm_and_call

        if after_call is not None:
            setattr(*after_call, armed_by(getattr(*after_call)))
        Transaction._Transaction__commit = dying  # type: ignore[attr-defined]
        WriteTransaction.send = dying_send  # type: ignore[method-assign]

    return prepare


def at_statement(number: int) -> Callable[[], None]:
    """Kills the process right before statement ``number``, which is right after the previous
    one."""

    def prepare() -> None:
        left = number

        def counted(method: Callable[..., Any]) -> Callable[..., Any]:
            async def counting(*args: Any, **options: Any) -> Any:
                nonlocal left
                left -= 1
                if left == 0:
                    die()
                return await method(*args, **options)

            return counting

        for name in ("execute", "fetch", "fetchrow", "fetchval", "copy_records_to_table"):
            setattr(asyncpg.Connection, name, counted(getattr(asyncpg.Connection, name)))

    return prepare


def while_under_way(statement: str, seconds: float) -> Callable[[], None]:
    """Kills the process ``seconds`` after the statement was sent, or right after its response."""

    def prepare() -> None:
        fetch = asyncpg.Connection.fetch

        async def dying(self: Any, query: str, *args: Any, **options: Any) -> Any:
            if statement not in query:
                return await fetch(self, query, *args, **options)
            asyncio.get_running_loop().call_later(seconds, die)
            answer = await fetch(self, query, *args, **options)
            die()
            return answer

        asyncpg.Connection.fetch = dying  # type: ignore[method-assign]

    return prepare


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
