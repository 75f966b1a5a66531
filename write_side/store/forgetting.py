"""Forgets which commands were carried out, when nobody will send them again; and sweeps up.

Every append leaves a row, so that sending it again is harmless. It counts for 24 hours (the append
sees to that); twice as old it is deleted, by whichever process comes by. An import's is kept.
Swept up are uploads of a day ago, and events that were staged by a process that is dead.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import structlog

from write_side.store.recorder import Recorder

EVERY = 3600.0
BATCH = 5_000
# Rows that another process is deleting are left to it.
_FORGET = """
WITH gone AS (
    DELETE FROM write_side.command WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM write_side.command
        WHERE at < now() - interval '48 hours' AND key NOT LIKE 'import/%'
        LIMIT $1 FOR UPDATE SKIP LOCKED))
    RETURNING 1
)
SELECT count(*) FROM gone"""
_SWEEP = (
    "DELETE FROM write_side.upload WHERE at < now() - interval '24 hours'",
    "DELETE FROM write_side.staged_event WHERE at < now() - interval '1 hour'",
)
_log = structlog.get_logger("write_side.forgetting")


async def forget_commands(recorder: Recorder, batch: int = BATCH) -> int:
    """How many were forgotten. In small transactions, which no append waits for."""
    forgotten = 0
    while True:
        [row] = await recorder.fetch(_FORGET, batch)
        count = int(row["count"])
        forgotten += count
        if count < batch:
            return forgotten


async def sweep(recorder: Recorder) -> None:
    """Remove what was left behind on the way to the log."""
    for statement in _SWEEP:
        await recorder.fetch(statement)


@asynccontextmanager
async def forgetting(recorder: Recorder) -> AsyncIterator[None]:
    """Sweep up now, and do all of it each hour, beginning within one, so that processes that start
    together do not meet."""
    task = asyncio.create_task(_each_hour(recorder), name="forgetting")
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _each_hour(recorder: Recorder) -> None:
    # The process before this one may have died of what it left behind.
    await _tried(sweep(recorder))
    await asyncio.sleep(random.uniform(0, EVERY))  # noqa: S311
    while True:
        await _tried(_all(recorder))
        await asyncio.sleep(EVERY)


async def _all(recorder: Recorder) -> None:
    _log.info("commands forgotten", commands=await forget_commands(recorder))
    await sweep(recorder)


async def _tried(work: Awaitable[None]) -> None:
    try:
        await work
    except Exception as error:
        _log.warning("commands are not forgotten", fault=repr(error))
