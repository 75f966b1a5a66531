"""The processes that replay ranges of the log for a rebuild.

The standard input of each has a Job and then Ranges, its standard output Messages, one JSON line
each. It ends with its input, so it does not outlive the rebuild.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec
import structlog
from msgspec import Struct

from projector.checkpoint import CheckpointConflict
from projector.log import Halted, Log
from projector.process import collect_less, connected_model
from projector.projection import Inconsistent
from projector.rebuild.replay import Replay, ReplayResult
from read_side.schema import Workspaces
from write_side.domain.refusals import ExplainedError
from write_side.postgres.connection import connected
from write_side.store.log_reader import StreamRange
from write_side.waiting import cancel_all

LONGEST_LINE = 256 * 1024 * 1024
_COMMAND = (sys.executable, "-P", "-m", "projector.rebuild.worker")


class Job(Struct, frozen=True):
    """Sent over a pipe, because a command line is visible to all users of the machine."""

    event_store_url: str
    read_model_url: str
    workspaces: Workspaces
    schema: str
    epoch: int
    through: int
    page_bytes: int


class Read(Struct, frozen=True, tag=True):
    """A number of events have been read."""

    events: int


class Failed(Struct, frozen=True, tag=True):
    """The worker has ended with an error. ``kinds``: the names of the error's class and of its base
    classes."""

    kinds: list[str]
    reason: str


Message = Read | Failed | ReplayResult
_encode = msgspec.json.Encoder().encode
_message = msgspec.json.Decoder(Message).decode


class WorkerDied(ExplainedError):
    """A worker process ended before its work was done."""


async def replay_in_workers(
    size: int, job: Job, ranges: Sequence[StreamRange], read: Callable[[int], None]
) -> list[ReplayResult]:
    """Replays all ranges in ``size`` processes; a free process takes the next. ``read`` gets the
    numbers of events read.

    Raises Halted, Inconsistent, WorkerDied, CheckpointConflict.
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


@contextlib.asynccontextmanager
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
    _request(process, job)
    return process


def _request(process: Process, request: Job | StreamRange) -> None:
    assert process.stdin is not None
    process.stdin.write(_encode(request) + b"\n")


async def _replay_waiting(
    process: Process,
    waiting: list[StreamRange],
    found: list[ReplayResult],
    read: Callable[[int], None],
) -> None:
    while waiting:
        _request(process, waiting.pop())
        found.append(await _result(process, read))


async def _result(process: Process, read: Callable[[int], None]) -> ReplayResult:
    assert process.stdout is not None
    while line := await process.stdout.readline():
        match _message(line):
            case Read(events):
                read(events)
            case Failed(kinds, reason):
                for known in (Halted, Inconsistent, CheckpointConflict):
                    if known.__name__ in kinds:
                        raise known(reason)
                raise WorkerDied(f"{kinds[0]}: {reason}")
            case ReplayResult() as replayed:
                return replayed
    raise WorkerDied(f"a worker process ended with status {await process.wait()}")


async def main() -> None:
    """What a worker process does."""
    lines = await _standard_input()
    requests: asyncio.Queue[bytes] = asyncio.Queue()
    working = asyncio.create_task(_work(requests))
    reading = asyncio.create_task(_read(lines, requests))
    await asyncio.wait({working, reading}, return_when=asyncio.FIRST_COMPLETED)
    await cancel_all(working, reading)


async def _standard_input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


async def _read(lines: asyncio.StreamReader, requests: asyncio.Queue[bytes]) -> None:
    while line := await lines.readline():
        requests.put_nowait(line)


async def _work(requests: asyncio.Queue[bytes]) -> None:
    try:
        job = msgspec.json.decode(await requests.get(), type=Job)
        await _replay(job, requests)
    except Exception as error:
        _send(Failed([kind.__name__ for kind in type(error).__mro__], str(error)))


async def _replay(job: Job, requests: asyncio.Queue[bytes]) -> None:
    async with (
        connected(job.event_store_url, timeout=20) as store,
        connected_model(job.read_model_url, job.schema) as model,
    ):
        log = Log(store, job.workspaces)
        replay = Replay(log, model, job.epoch, job.through, job.page_bytes)
        while True:
            streams = msgspec.json.decode(await requests.get(), type=StreamRange)
            _send(await replay.replay(streams, lambda events: _send(Read(events))))


def _send(message: Message) -> None:
    sys.stdout.buffer.write(_encode(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    os.nice(5)  # processes that serve requests have priority
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    collect_less()
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        asyncio.run(main())
