"""The worker processes of a rebuild."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from projector.log import Halted
from projector.rebuild.replay import ReplayResult
from projector.rebuild.worker import Failed, Job, Message, Read, encode
from write_side.domain.refusals import ExplainedError
from write_side.store.log_reader import StreamRange
from write_side.waiting import cancel_all

LONGEST_LINE = 256 * 1024 * 1024
_message = msgspec.json.Decoder(Message).decode
_COMMAND = (sys.executable, "-P", "-m", "projector.rebuild.worker")


class WorkerDied(ExplainedError):
    """A worker process ended before its work was done."""


async def replay_in_workers(
    size: int, job: Job, ranges: Sequence[StreamRange], read: Callable[[int], None]
) -> list[ReplayResult]:
    """Replays all ranges in ``size`` processes; a free process takes the next. ``read`` gets the
    numbers of events read.

    Raises Halted, WorkerDied.
    """
    waiting = list(reversed(ranges))
    found: list[ReplayResult] = []
    async with _workers(size, job) as processes:
        working = [
            asyncio.create_task(_replay_waiting(process, waiting, found, read))
            for process in processes
        ]
        try:
            await asyncio.gather(*working)
        finally:
            await cancel_all(*working)
    return found


@asynccontextmanager
async def _workers(size: int, job: Job) -> AsyncIterator[list[Process]]:
    """Worker processes, which are killed at the end."""
    processes: list[Process] = []
    try:
        for _ in range(size):
            processes.append(await _start(job))  # noqa: PERF401 - a comprehension would lose them
        yield processes
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
        for process in processes:
            await process.wait()


async def _start(job: Job) -> Process:
    """In a separate session, so that Ctrl-C in a terminal reaches only the parent."""
    process = await asyncio.create_subprocess_exec(
        *_COMMAND, stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE, start_new_session=True
    )
    _send(process, job)
    return process


def _send(process: Process, request: Job | StreamRange) -> None:
    assert process.stdin is not None
    process.stdin.write(encode(request) + b"\n")


async def _replay_waiting(
    process: Process,
    waiting: list[StreamRange],
    found: list[ReplayResult],
    read: Callable[[int], None],
) -> None:
    while waiting:
        _send(process, waiting.pop())
        found.append(await _result(process, read))


async def _result(process: Process, read: Callable[[int], None]) -> ReplayResult:
    assert process.stdout is not None
    while line := await process.stdout.readline():
        match _message(line):
            case Read(events):
                read(events)
            case Failed(kind, reason):
                raise Halted(reason) if kind == Halted.__name__ else WorkerDied(f"{kind}: {reason}")
            case ReplayResult() as replayed:
                return replayed
    raise WorkerDied(f"a worker process ended with status {await process.wait()}")
