"""The worker processes of a rebuild."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence

from projector.log import Halted
from projector.rebuild import messages
from projector.rebuild.messages import Failed, Job, Read
from projector.rebuild.replay import Replayed
from write_side.store.streams import Range

LONGEST_LINE = 256 * 1024 * 1024
_COMMAND = (sys.executable, "-P", "-m", "projector.rebuild.worker")


class WorkerDied(Exception):
    """A worker process ended before its work did."""


class Crew:
    """Some processes, for as long as it is entered; none is left after it."""

    def __init__(self, size: int, job: Job) -> None:
        self._size = size
        self._job = job
        self._processes: list[Process] = []

    async def __aenter__(self) -> Crew:
        try:
            for _ in range(self._size):
                self._processes.append(await _start(self._job))
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    async def replay(self, ranges: Sequence[Range], read: Callable[[int], None]) -> list[Replayed]:
        """All the ranges, each by whoever is free next. Raises Halted, WorkerDied."""
        waiting = list(reversed(ranges))
        found: list[Replayed] = []
        working = [
            asyncio.create_task(_work_off(process, waiting, found, read))
            for process in self._processes
        ]
        try:
            await asyncio.gather(*working)
        finally:
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)
        return found

    async def _end(self) -> None:
        for process in self._processes:
            if process.returncode is None:
                process.kill()
        for process in self._processes:
            await process.wait()


async def _start(job: Job) -> Process:
    """In a session of its own: Ctrl-C in a terminal is for the parent to decide on."""
    process = await asyncio.create_subprocess_exec(
        *_COMMAND, stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE, start_new_session=True
    )
    _tell(process, messages.encode(job))
    return process


def _tell(process: Process, line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line + b"\n")


async def _work_off(
    process: Process, waiting: list[Range], found: list[Replayed], read: Callable[[int], None]
) -> None:
    while waiting:
        _tell(process, messages.encode(waiting.pop()))
        found.append(await _answer(process, read))


async def _answer(process: Process, read: Callable[[int], None]) -> Replayed:
    assert process.stdout is not None
    while line := await process.stdout.readline():
        match messages.message(line):
            case Read(events):
                read(events)
            case Failed(kind, reason):
                raise Halted(reason) if kind == Halted.__name__ else WorkerDied(f"{kind}: {reason}")
            case Replayed() as replayed:
                return replayed
    raise WorkerDied(f"a worker process ended with status {await process.wait()}")
