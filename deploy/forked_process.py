"""A function in a process of its own, which begins as a copy of this one (ADR 61).

The two share the memory that neither writes. This process must have no other threads: what they do
would stop half-way in the copy. It may run an event loop, which the copy leaves behind.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing import get_context

import click

from deploy.failures import explained
from deploy.parent_death import end_with
from deploy.stopping import STOPPING


class ForkedProcess:
    """The part of asyncio's Process that the supervisor uses."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        """Raises OSError."""
        for handler in logging.root.handlers:
            handler.flush()  # otherwise both would write the lines that wait
        parent = os.getpid()
        self._process = get_context("fork").Process(
            target=_run, args=(parent, work), name=name, daemon=True
        )
        # Until the copy has handlers of its own, a signal would be lost.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._process.sentinel, self._end)

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Minus the number of the signal that ended it; None while it runs."""
        return self._process.exitcode

    async def wait(self) -> None:
        await self._ended.wait()

    def terminate(self) -> None:
        self._process.terminate()

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process.sentinel)
        self._process.join()
        self._ended.set()


def _run(parent: int, work: Callable[[], None]) -> None:
    signal.set_wakeup_fd(-1)  # it wakes the parent's event loop
    for number in STOPPING:
        signal.signal(number, signal.default_int_handler)
    os.setsid()
    if sys.platform == "linux":
        end_with(parent)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        with explained():
            work()
    except KeyboardInterrupt:
        sys.exit(1)
    except click.ClickException as failure:
        failure.show()
        sys.exit(failure.exit_code)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    finally:
        logging.shutdown()  # the copy ends without the handlers of atexit
