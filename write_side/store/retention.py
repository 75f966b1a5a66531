"""Deletes what has expired: command keys, uploads, results of imports, and staged events.

Every append leaves a row, so that sending it again is harmless. The row is valid for 24 hours
(write_side.command_lifetime, which the append checks); when it is twice as old, any process may
delete it. Imports keep theirs. Uploads expire after write_side.upload_lifetime, imports over HTTP
that have ended a week after they were accepted, staged events after an hour, because their process
died during the append.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from write_side.store.recorder import Recorder
from write_side.waiting import cancel

INTERVAL = 3600.0
BATCH = 5_000
# SKIP LOCKED skips rows that another process is deleting.
_DELETE_COMMANDS = """
WITH deleted AS (
    DELETE FROM write_side.command WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM write_side.command
        WHERE at < now() - 2 * write_side.command_lifetime() AND key NOT LIKE 'import/%'
        LIMIT $1 FOR UPDATE SKIP LOCKED))
    RETURNING 1
)
SELECT count(*) FROM deleted"""
_DELETE_UPLOADS = "DELETE FROM write_side.upload WHERE at < now() - write_side.upload_lifetime()"
_DELETE_JOBS = """
DELETE FROM write_side.import_job WHERE at < now() - interval '7 days' AND document IS NULL"""
_DELETE_STAGED = "DELETE FROM write_side.staged_event WHERE at < now() - interval '1 hour'"
_DELETE_SECRETS = "DELETE FROM write_side.webhook_secret WHERE expires_at <= clock_timestamp()"
_log = structlog.get_logger("write_side.retention")


async def delete_commands(recorder: Recorder, batch: int = BATCH) -> int:
    """Deletes the expired commands, in small transactions that no append waits for. Returns their
    number."""
    deleted = 0
    while True:
        [row] = await recorder.fetch(_DELETE_COMMANDS, batch)
        count = int(row["count"])
        deleted += count
        if count < batch:
            return deleted


async def delete_leftovers(recorder: Recorder) -> None:
    """Deletes the expired uploads, results of imports, staged events and webhook secrets."""
    for statement in (_DELETE_UPLOADS, _DELETE_JOBS, _DELETE_STAGED, _DELETE_SECRETS):
        await recorder.fetch(statement)


@asynccontextmanager
async def retention(recorder: Recorder) -> AsyncIterator[None]:
    """Deletes leftovers now, and everything expired once an hour."""
    task = asyncio.create_task(_repeat(recorder), name="retention")
    try:
        yield
    finally:
        await cancel(task)


async def _repeat(recorder: Recorder) -> None:
    # The previous process may have been killed by its leftovers, such as an upload too large for
    # it.
    await _delete_expired(recorder, commands=False)
    # At random, so that processes started together do not collide.
    await asyncio.sleep(random.uniform(0, INTERVAL))  # noqa: S311
    while True:
        await _delete_expired(recorder)
        await asyncio.sleep(INTERVAL)


async def _delete_expired(recorder: Recorder, *, commands: bool = True) -> None:
    try:
        if commands:
            _log.info("expired commands deleted", commands=await delete_commands(recorder))
        await delete_leftovers(recorder)
    except Exception as error:
        _log.warning("expired rows could not be deleted", fault=repr(error))
