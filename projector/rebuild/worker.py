"""A process that replays ranges of the log for a rebuild.

Its standard input has a Job and then Ranges, its standard output Messages, one JSON line each. It
ends with its input, so it does not outlive the rebuild.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys

import msgspec
import structlog
from msgspec import Struct

from projector.log import Log
from projector.process import collect_less, connected_model
from projector.rebuild.replay import Replay, ReplayResult
from read_side.schema import Workspaces
from write_side.postgres.connection import connected
from write_side.store.log_reader import StreamRange
from write_side.waiting import cancel_all


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
    """The worker has ended with an error."""

    kind: str
    reason: str


Message = Read | Failed | ReplayResult
encode = msgspec.json.Encoder().encode


async def main() -> None:
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
        _send(Failed(type(error).__name__, str(error)))


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
    sys.stdout.buffer.write(encode(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    os.nice(5)  # processes that serve requests have priority
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    collect_less()
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        asyncio.run(main())
