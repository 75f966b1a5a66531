"""Child processes kept alive by their parent, and ended with it.

The children are in sessions of their own, so Ctrl-C in a terminal reaches the parent alone and
the parent decides. On Linux they are killed when the parent is killed (see deploy.tether);
elsewhere they outlive a parent that is killed.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SHORTEST_PAUSE = 0.1  # seconds before a child is started again; doubles with every early death
LONGEST_PAUSE = 5.0
LONG_LIFE = 10.0  # seconds after which a death counts as the first
GRACE = 10.0  # seconds between SIGTERM and SIGKILL
STOPPING = (signal.SIGINT, signal.SIGTERM)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Child:
    """A command to keep running. Its output goes where the parent's goes."""

    name: str
    command: tuple[str, ...]


async def supervise(
    children: Sequence[Child],
    started: Callable[[], Awaitable[None]] | None = None,
    ended: Callable[[Child], None] | None = None,
) -> int:
    """Keeps the children running until SIGINT or SIGTERM, then ends them; returns 0.

    A child that ends, with whatever status, is started again after a pause that grows. Ending
    them takes GRACE at most. `started` is awaited beside them, to greet once they answer; it is
    cancelled if we are to stop, and what it raises ends the children and is raised here. `ended`
    is told each that has ended, before it is started again.
    Call it from the main thread: signals are caught there, and the children live with it.
    """
    stop = asyncio.Event()
    with _caught(stop):
        keepers = [asyncio.create_task(_keep(child, stop, ended)) for child in children]
        for keeper in keepers:
            keeper.add_done_callback(lambda _: stop.set())
        try:
            if started is not None:
                await _unless(stop, started())
            await stop.wait()
        finally:
            stop.set()
            await asyncio.gather(*keepers)
    return 0


@contextlib.contextmanager
def _caught(stop: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in STOPPING:
        loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        for number in STOPPING:
            loop.remove_signal_handler(number)


async def _keep(child: Child, stop: asyncio.Event, ended: Callable[[Child], None] | None) -> None:
    clock, pause = asyncio.get_running_loop().time, SHORTEST_PAUSE
    while not stop.is_set():
        began = clock()
        end = await _live(child, stop, ended)
        if clock() - began >= LONG_LIFE:
            pause = SHORTEST_PAUSE
        if not stop.is_set():
            log.warning("%s %s; starting it again in %.1f s", child.name, end, pause)
            await _unless(stop, asyncio.sleep(pause))
        pause = min(pause * 2, LONGEST_PAUSE)


async def _live(child: Child, stop: asyncio.Event, ended: Callable[[Child], None] | None) -> str:
    """One life of the child. Returns how it ended."""
    try:
        process = await asyncio.create_subprocess_exec(
            *_tethered(child.command), stdin=DEVNULL, start_new_session=True
        )
    except OSError as error:
        return f"could not be started ({error.strerror})"
    try:
        await _unless(stop, process.wait())
    finally:
        await _end(process)
    if ended is not None:
        ended(child)
    return f"(process {process.pid}) ended with status {process.returncode}"


def _tethered(command: tuple[str, ...]) -> tuple[str, ...]:
    if sys.platform != "linux":
        return command
    tether = str(Path(__file__).with_name("tether.py"))
    return (sys.executable, "-I", "-S", tether, str(os.getpid()), *command)


async def _end(process: Process) -> None:
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


async def _unless(stop: asyncio.Event, work: Awaitable[object]) -> None:
    """Awaits the work, and cancels it when we are to stop."""
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
