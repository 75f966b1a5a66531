"""Signals that stop a process, and work that they stop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

STOPPING = (signal.SIGINT, signal.SIGTERM)
BLOCKED = 1.0
"""Seconds."""


def run_stoppable(work: Coroutine[Any, Any, T]) -> T:
    """Like ``asyncio.run``, but SIGTERM also does what Ctrl-C does: it cancels the work, and then
    KeyboardInterrupt is raised. A second SIGTERM raises KeyboardInterrupt at once.

    Without this, SIGTERM would raise it wherever the program is, and code that ignores errors, such
    as ``__del__``, would lose it.
    """
    return asyncio.run(_stoppable(work))


@contextmanager
def uninterrupted_end() -> Iterator[ExitStack]:
    """A stack for cleanup that signals cannot interrupt, if the last callback added to it is
    ``ignore_stops``, which runs first. At the end, the earlier handlers are restored."""
    handlers = {number: signal.getsignal(number) for number in STOPPING}
    with ExitStack() as stack:
        stack.callback(_set_handlers, handlers)
        yield stack


def ignore_stops() -> None:
    _set_handlers(dict.fromkeys(STOPPING, signal.SIG_IGN))


def _set_handlers(handlers: Mapping[signal.Signals, Any]) -> None:
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            signal.signal(number, handler)


async def _stoppable(work: Coroutine[Any, Any, T]) -> T:
    if threading.current_thread() is not threading.main_thread():  # others receive no signals
        return await work
    loop, working = asyncio.get_running_loop(), asyncio.current_task()
    assert working is not None
    is_stopped = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_stopped
        if is_stopped:
            raise KeyboardInterrupt
        is_stopped = True
        signal.setitimer(signal.ITIMER_REAL, BLOCKED)
        loop.call_soon_threadsafe(cancel)  # also wakes the loop

    def cancel() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        working.cancel()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGALRM)}
    try:
        result = await work
    except asyncio.CancelledError:
        if not is_stopped:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
    if is_stopped:
        raise KeyboardInterrupt
    return result
