"""A projector that runs during a test, a log projected on demand, and the resulting read model."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from projector.background import update_chunk
from projector.checkpoint import begin_epoch
from projector.log import BATCH, Log
from projector.process import ProjectorSettings, connect_model, run_sessions
from projector.writer import Writer
from read_side.checkpoint import fetch_checkpoint
from read_side.schema import Workspaces
from read_side.status import ReadModelStatus, read_status
from tests.databases import owner_of
from tests.engines import Citus, engine
from write_side.postgres.connection import Connection

SECONDS = 60.0
_TABLES = """
SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
WHERE nspname = 'read_model' AND relkind IN ('r', 'p') AND NOT relispartition
  AND relname <> 'checkpoint' ORDER BY 1"""
_BEHIND = """
SELECT EXISTS (SELECT 1 FROM read_model.rendering) OR EXISTS (SELECT 1 FROM read_model.indexing)"""
_WAITS = """
SELECT count(*) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND datname = current_database()"""
_WAITS_OF_NODES = "SELECT count(*) FROM citus_lock_waits"
_HEAD = "SELECT position FROM write_side.head"


async def until(holds: Callable[[], Awaitable[object]], seconds: float = SECONDS) -> None:
    """Wait until ``holds`` returns true; fail after a time limit."""
    pause = 0.005
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(pause)
            pause = min(1.2 * pause, 0.02)  # polling takes processor time that others need


@asynccontextmanager
async def connected(url: str, **settings: str) -> AsyncIterator[Connection]:
    """A connection as the owner, who may change what contentlog may not."""
    connection = await asyncpg.connect(owner_of(url), server_settings=settings)
    try:
        yield connection
    finally:
        await connection.close()


async def blocked(connection: Connection) -> bool:
    """Whether anything in the database waits for a lock."""
    if isinstance(engine(), Citus) and await connection.fetchval(_WAITS_OF_NODES):
        return True
    return bool(await connection.fetchval(_WAITS))


@asynccontextmanager
async def in_background(work: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Run the work as a task in the test's event loop until the block ends."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def projecting(
    store_url: str, model_url: str | None = None, workspaces: Workspaces = None
) -> AsyncIterator[None]:
    """Run a projector until the block ends."""
    async with in_background(
        run_sessions(ProjectorSettings(store_url, model_url or store_url, workspaces))
    ):
        yield


async def checkpoint_of(model_url: str) -> int:
    async with connected(model_url) as connection:
        return (await fetch_checkpoint(connection)).position


async def head_of(store_url: str) -> int:
    async with connected(store_url) as connection:
        return int(await connection.fetchval(_HEAD))


async def caught_up(store_url: str, model_url: str | None = None, seconds: float = SECONDS) -> int:
    """Wait until the read model has everything now in the log; return the position of the log."""
    async with connected(model_url or store_url) as connection:
        if model_url in (None, store_url):
            head = int(await connection.fetchval(_HEAD))
        else:
            head = await head_of(store_url)

        async def passed() -> bool:
            return (await fetch_checkpoint(connection)).position >= head

        await until(passed, seconds)
        return head


async def rendered(model_url: str) -> None:
    """Wait until all entries are rendered with the newest version of their type."""
    async with connected(model_url) as connection:

        async def none_left() -> bool:
            return not await connection.fetchval(_BEHIND)

        await until(none_left)


async def status_of(model_url: str) -> ReadModelStatus:
    async with connected(model_url) as connection:
        return await read_status(connection)


async def until_halted(model_url: str, saying: str) -> None:
    """Wait until a projector reports that it has halted, with this text in its reason."""

    async with connected(model_url) as connection:

        async def halted() -> bool:
            status = await read_status(connection)
            return any(saying in (projector.halted or "") for projector in status.projectors)

        await until(halted)


async def project_all(
    store_url: str,
    model_url: str,
    limits: Iterable[int] = (BATCH,),
    renderings: int = sys.maxsize,
    workspaces: Workspaces = None,
) -> None:
    """Project the log from the checkpoint in batches of these sizes, used in turn; then render at
    most ``renderings`` chunks of entries."""
    sizes = list(limits)
    async with connected(store_url) as store:
        model = await connect_model(model_url)
        try:
            epoch, checkpoint = await begin_epoch(model, workspaces)
            log, writer = Log(store, workspaces), Writer(model, epoch)
            while True:
                sizes.append(sizes.pop(0))
                batch = await log.read(checkpoint.position, sizes[-1])
                if not batch:
                    break
                checkpoint = await writer.write(batch, checkpoint)
            while renderings and await update_chunk(model, epoch, writer.search):
                renderings -= 1
        finally:
            await model.close()


async def dump(model_url: str) -> dict[str, list[str]]:
    """Every column of every row of the read model, except when it was written."""
    async with connected(model_url, search_path="read_model") as connection:
        tables = [row["relname"] for row in await connection.fetch(_TABLES)]
        return {table: await _rows(connection, table) for table in tables}


async def _rows(connection: Connection, table: str) -> list[str]:
    rows: list[Any] = await connection.fetch(f"SELECT t::text FROM {table} t ORDER BY 1")  # noqa: S608
    return [row[0] for row in rows]
