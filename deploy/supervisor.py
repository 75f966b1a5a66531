"""Child processes that their parent keeps running and ends with itself.

The children are in separate sessions, so Ctrl-C in a terminal reaches only the parent, which then
stops them. If it is killed, the kernel kills them too (deploy.parent_death).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import click

from deploy.failures import explained
from deploy.parent_death import end_with
from deploy.stopping import STOPPING

SHORTEST_PAUSE = 0.1  # seconds before a child is started again; doubles with every early end
LONGEST_PAUSE = 5.0
LONG_LIFE = 10.0  # seconds after which the pause is short again
GRACE = 10.0  # seconds between SIGTERM and SIGKILL

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Child:
    """A command to keep running, or a function that runs in a copy of the parent: then all children
    are functions. Their output goes where the parent's goes."""

    name: str
    work: tuple[str, ...] | Callable[[], None]


def contentlog(*arguments: str) -> tuple[str, ...]:
    """The command for `contentlog ARGUMENTS`, of the same installation."""
    script = Path(sys.executable).with_name("contentlog")
    if script.exists():
        return (str(script), *arguments)
    # -P: a folder "deploy" in the working directory must not be imported instead of ours.
    return (sys.executable, "-P", "-m", "deploy.cli", *arguments)


async def supervise(
    children: Sequence[Child],
    started: Callable[[], Awaitable[None]] | None = None,
    ended: Callable[[Child], None] | None = None,
) -> None:
    """Keeps the children running until SIGINT or SIGTERM, then ends them.

    A child that ends with any status is started again after a growing pause. Ending the children
    takes at most GRACE. `started` runs meanwhile and is cancelled at a signal; its exceptions end
    the children and are raised here. `ended` is called with each child that has ended, before it is
    started again. Call it from the main thread: signals are caught there, and the children end with
    it.
    """
    stop = asyncio.Event()
    for number in STOPPING:  # until the event loop is closed
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    keepers = [asyncio.create_task(_keep(child, stop, ended)) for child in children]
    for keeper in keepers:
        keeper.add_done_callback(lambda _: stop.set())
    try:
        if started is not None:
            await _until(stop, started())
        await stop.wait()
    finally:
        stop.set()
        await asyncio.gather(*keepers)


async def _keep(child: Child, stop: asyncio.Event, ended: Callable[[Child], None] | None) -> None:
    clock, pause = asyncio.get_running_loop().time, SHORTEST_PAUSE
    while not stop.is_set():
        began = clock()
        end = await _run(child, stop)
        if ended is not None:
            ended(child)
        if clock() - began >= LONG_LIFE:
            pause = SHORTEST_PAUSE
        if not stop.is_set():
            log.warning("%s %s; starting it again in %.1f s", child.name, end, pause)
            await _until(stop, asyncio.sleep(pause))
        pause = min(pause * 2, LONGEST_PAUSE)


async def _run(child: Child, stop: asyncio.Event) -> str:
    """Runs the child until it ends or is to stop. Returns how it ended."""
    try:
        process = await _start(child)
    except OSError as error:
        return f"could not be started ({error.strerror})"
    try:
        await _until(stop, process.wait())
    finally:
        await _end(process)
    return f"(process {process.pid}) ended with status {process.returncode}"


async def _start(child: Child) -> Process | ForkedProcess:
    """Raises OSError."""
    if callable(child.work):
        return ForkedProcess(child.name, child.work)
    return await asyncio.create_subprocess_exec(
        *bound_to_parent(child.work), stdin=DEVNULL, start_new_session=True
    )


def bound_to_parent(command: tuple[str, ...]) -> tuple[str, ...]:
    script = str(Path(__file__).with_name("parent_death.py"))
    return (sys.executable, "-I", "-S", script, str(os.getpid()), *command)


async def _end(process: Process | ForkedProcess) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(GRACE):
            await process.wait()
    except TimeoutError:
        log.warning("process %s did not end within %.0f s and is killed", process.pid, GRACE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _until(stop: asyncio.Event, work: Awaitable[object]) -> None:
    """Awaits the work, and cancels it at the stop."""
    working, stopping = asyncio.ensure_future(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        if not working.done():
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working
    if not working.cancelled():
        working.result()


class ForkedProcess:
    """A function in a copy of this process (ADR 61), as the part of asyncio's Process that is used
    here.

    The two share the memory that neither writes. This process must have no other threads: what they
    do would stop half-way in the copy. It may run an event loop, which the copy leaves behind.
    """

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        """Raises OSError."""
        for handler in logging.root.handlers:
            handler.flush()  # otherwise both would write the lines that wait
        parent = os.getpid()
        self._process = get_context("fork").Process(
            target=_run_copy, args=(parent, work), name=name, daemon=True
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


def _run_copy(parent: int, work: Callable[[], None]) -> None:
    signal.set_wakeup_fd(-1)  # it wakes the parent's event loop
    for number in STOPPING:
        signal.signal(number, signal.default_int_handler)
    os.setsid()
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
