"""The projector process: one session after another, until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import time
from collections.abc import AsyncIterator
from functools import partial

import asyncpg
import structlog
from msgspec import Struct

from projector.checkpoint import DURABLE_COMMITS
from projector.follower import Follower, Heartbeat
from projector.log import Halted
from projector.postponed_words import PostponedWords
from read_side.engine import is_distributed
from read_side.schema import LIVE, Workspaces
from write_side.domain.identity import new_id
from write_side.domain.refusals import for_read_model
from write_side.postgres.connection import (
    MIGRATE,
    NOT_MIGRATED,
    Connection,
    connect,
    is_transient,
)
from write_side.postgres.faults import FaultLog
from write_side.process_state import ProcessState
from write_side.waiting import raise_if_cancelled

# Seconds.
RETRY_HALTED = 5
CONNECTING = 10.0
PATIENCE = 10.0
MOST_PATIENCE = 160.0
LONG_SESSION = 300.0
CLOSING = 1.0
SHORTEST_PAUSE = 0.05
COLLECT_AFTER = 20_000
"""New objects until a garbage collection."""
ONE_CONNECTION_TO_EACH_WORKER = {
    "citus.multi_shard_modify_mode": "sequential",
    "citus.max_adaptive_executor_pool_size": "1",
}
"""On Citus, all that a transaction changes on a worker is then committed there at once (ADR 59).
PostgreSQL ignores settings of extensions that it does not have."""
_log = structlog.get_logger("projector")


class ProjectorSettings(Struct, frozen=True):
    """``option``: see ``for_read_model``."""

    event_store_url: str
    read_model_url: str
    workspaces: Workspaces = None
    option: str = ""


async def run(settings: ProjectorSettings, state: ProcessState) -> None:
    """Projects until it is cancelled. It may be stopped at any point without loss."""
    collect_less()
    await run_sessions(settings, state)


def collect_less() -> None:
    """Spends less time on garbage collections, in which no write becomes visible.

    They skip what exists now, which takes 20 to 30 ms to visit, and begin after more new objects
    than by default: a batch has thousands, without cycles.
    """
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


class Backoff:
    """The pause before the next session, and how many seconds its statements may take.

    A statement times out if the server is gone or slow. The timeout is doubled each time, so that a
    slow server can finish it eventually.
    """

    def __init__(self) -> None:
        self.pause = SHORTEST_PAUSE
        self.patience = PATIENCE

    def after(self, error: Exception | None, lasted: float) -> None:
        """To be called after a session that ended with the error and lasted this many seconds."""
        self.pause = SHORTEST_PAUSE if lasted > 10 else min(self.pause * 2, 1.0)
        if lasted > LONG_SESSION:
            self.patience = PATIENCE
        elif isinstance(error, TimeoutError):
            self.patience = min(self.patience * 2, MOST_PATIENCE)


async def run_sessions(settings: ProjectorSettings, state: ProcessState | None = None) -> None:
    """Begins again after transient faults; after others, stays halted and reports the reason."""
    projector_id = f"{socket.gethostname()}/{os.getpid()}/{new_id()[-6:]}"
    backoff, state = Backoff(), state or ProcessState()
    faults = FaultLog(_log, "begins again")
    while True:
        began, fault = time.monotonic(), None
        try:
            await _session(settings, projector_id, backoff.patience, state)
        except Exception as error:
            raise_if_cancelled(error)
            if not is_transient(error):
                raise
            faults.add(error)
            fault = error
        backoff.after(fault, time.monotonic() - began)
        await asyncio.sleep(backoff.pause)


async def _session(
    settings: ProjectorSettings, projector_id: str, patience: float, state: ProcessState
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        try:
            store = await connect_store(settings.event_store_url, patience=patience)
            stack.push_async_callback(_close, store)
            model = await connect_model(settings.read_model_url, patience=patience)
            stack.push_async_callback(_close, model)
        except TimeoutError as error:
            raise ConnectionError("a database does not respond") from error
        heartbeat = Heartbeat(model, projector_id, state)
        words = PostponedWords(partial(connect_model, settings.read_model_url, patience=patience))
        stack.push_async_callback(words.stop)
        follower = Follower(store, model, heartbeat, words, settings.workspaces)
        work = _follow(follower, heartbeat, settings.option)
        following = asyncio.create_task(work, name="projector")
        try:
            await asyncio.shield(following)
        except asyncio.CancelledError:
            while not following.done():
                # A second cancellation ends a rollback to which the server does not respond.
                following.cancel()
                await asyncio.wait([following], timeout=CLOSING)
            # If a rollback failed, its error has replaced the cancellation.
            await asyncio.gather(following, return_exceptions=True)
            with contextlib.suppress(Exception):
                async with asyncio.timeout(CLOSING):
                    await heartbeat.remove()
            raise


async def _follow(follower: Follower, heartbeat: Heartbeat, option: str) -> None:
    try:
        await follower.run()
    except Halted as halt:
        reason = for_read_model(str(halt), option)
        _log.error("halted", reason=reason)
    except Exception as error:
        if is_transient(error):
            raise
        # A migration also grants the privileges that a restored log lacks.
        if isinstance(error, (*NOT_MIGRATED, asyncpg.InsufficientPrivilegeError)):
            reason = for_read_model(MIGRATE, option)
            _log.error("halted", reason=reason, fault=repr(error))
        elif isinstance(error, asyncpg.DiskFullError):
            reason = f"a disk of PostgreSQL is full: free or add space ({error.args[0]})"
            _log.error("halted", reason=reason)
        else:
            _log.error("halted", exc_info=error)
            reason = f"unexpected error: {type(error).__name__}; see the log of the projector"
    # Then try again, because the cause may have been fixed.
    for _ in range(RETRY_HALTED):
        await heartbeat.halt(reason)
        await asyncio.sleep(1)


async def connect_store(url: str, patience: float | None = PATIENCE) -> Connection:
    """A connection that reads the log. A statement may take ``patience`` seconds.

    Its statements are planned once. Left to itself, PostgreSQL would plan each read again, because
    it expects a batch of unknown size to be large; that costs more than reading a few events.
    """
    return await connect(
        url,
        timeout=CONNECTING,
        command_timeout=patience,
        server_settings={"plan_cache_mode": "force_generic_plan"},
    )


async def connect_model(
    url: str, schema: str = LIVE, patience: float | None = PATIENCE
) -> Connection:
    """A connection that writes a read model. A statement may take ``patience`` seconds.

    Commits do not wait for the disk. Rows and checkpoint are one transaction, so rows that are lost
    in a crash of PostgreSQL are projected again from the log. But a coordinator that lost a commit
    would stay behind its workers, whose part of it is on their disks.
    """
    connection = await connect(
        url,
        timeout=CONNECTING,
        command_timeout=patience,
        server_settings={
            "search_path": schema,
            "synchronous_commit": "off",
            # A limit that is set for applications is too short for building an index.
            "statement_timeout": "0",
            "application_name": "contentlog projector",
            **ONE_CONNECTION_TO_EACH_WORKER,
        },
    )
    try:
        if await is_distributed(connection):
            await connection.execute(DURABLE_COMMITS)
    except BaseException:
        connection.terminate()
        raise
    return connection


@contextlib.asynccontextmanager
async def connected_model(url: str, schema: str = LIVE) -> AsyncIterator[Connection]:
    """A connection of ``connect_model`` without a statement timeout, terminated on exit."""
    connection = await connect_model(url, schema, patience=None)
    try:
        yield connection
    finally:
        connection.terminate()


async def _close(connection: Connection) -> None:
    """Closes it if it responds at once, which releases the session's lock."""
    try:
        async with asyncio.timeout(CLOSING):
            await connection.close()
    except Exception:
        connection.terminate()
