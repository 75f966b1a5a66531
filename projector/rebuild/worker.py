"""A process that replays ranges of the log: told what to do on standard input, a line each.

Its lines are messages of ``projector.rebuild.messages``. It ends when its input does, so it never
outlives who started it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from contextlib import AsyncExitStack

import asyncpg

from projector.process import connect_model
from projector.rebuild.messages import Failed, Job, Message, Read, encode, job, range_of
from projector.rebuild.replay import Replay


async def main() -> None:
    lines = await _standard_input()
    asked: asyncio.Queue[bytes] = asyncio.Queue()
    working = asyncio.create_task(_work(asked))
    reading = asyncio.create_task(_read(lines, asked))
    await asyncio.wait({working, reading}, return_when=asyncio.FIRST_COMPLETED)
    for task in (working, reading):
        task.cancel()
    await asyncio.gather(working, reading, return_exceptions=True)


async def _standard_input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


async def _read(lines: asyncio.StreamReader, asked: asyncio.Queue[bytes]) -> None:
    while line := await lines.readline():
        asked.put_nowait(line)


async def _work(asked: asyncio.Queue[bytes]) -> None:
    try:
        await _replay(job(await asked.get()), asked)
    except Exception as error:
        _say(Failed(type(error).__name__, str(error)))


async def _replay(told: Job, asked: asyncio.Queue[bytes]) -> None:
    async with AsyncExitStack() as stack:
        store = await asyncpg.connect(told.event_store_url, timeout=20)
        stack.callback(store.terminate)
        model = await connect_model(told.read_model_url, told.schema, patience=None)
        stack.callback(model.terminate)
        replay = Replay(store, model, told.epoch, told.through, told.page_bytes)
        while True:
            streams = range_of(await asked.get())
            _say(await replay.replay(streams, lambda events: _say(Read(events))))


def _say(message: Message) -> None:
    sys.stdout.buffer.write(encode(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    os.nice(5)  # those who serve readers come first
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        asyncio.run(main())
