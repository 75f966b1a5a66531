"""The projector process: one life after another, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time

import asyncpg
import structlog
from msgspec import Struct

from projector.follower import Follower
from projector.log import Halted, Log
from projector.presence import Presence
from read_side.schema import LIVE
from write_side.domain.identity import new_id
from write_side.postgres.connection import Connection
from write_side.store.conflicts import passes
from write_side.store.mapper import EventMapper

# Seconds.
LOOK_AGAIN = 5
CONNECTING = 10.0
PATIENCE = 10.0
MOST_PATIENCE = 160.0
LONG_LIFE = 300.0
SHORTEST_PAUSE = 0.05
_log = structlog.get_logger("projector")


class ProjectorSettings(Struct, frozen=True):
    event_store_url: str
    read_model_url: str


async def run(settings: ProjectorSettings) -> None:
    """Project until SIGTERM or SIGINT. Stopping in the middle of anything loses nothing."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    working = asyncio.create_task(live(settings))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working


class _NextLife:
    """How it begins: after which pause, and how many seconds a statement may take in it.

    A statement that is not answered in time tells of a server that is gone without a word, or of
    one that is slow. So that the slow one is done some time, it is given twice as long.
    """

    def __init__(self) -> None:
        self.pause = SHORTEST_PAUSE
        self.patience = PATIENCE

    def after(self, error: Exception | None, lasted: float) -> None:
        self.pause = SHORTEST_PAUSE if lasted > 10 else min(self.pause * 2, 1.0)
        if lasted > LONG_LIFE:
            self.patience = PATIENCE
        elif isinstance(error, TimeoutError):
            self.patience = min(self.patience * 2, MOST_PATIENCE)


async def live(settings: ProjectorSettings) -> None:
    """Begin again after whatever passes; stay halted, and say so, at what does not."""
    projector_id = f"{socket.gethostname()}/{os.getpid()}/{new_id()[-6:]}"
    following = _NextLife()
    while True:
        began, fault = time.monotonic(), None
        try:
            await _one_life(settings, projector_id, following.patience)
        except Exception as error:
            if not passes(error):
                raise
            _log.warning("begins again", fault=repr(error))
            fault = error
        following.after(fault, time.monotonic() - began)
        await asyncio.sleep(following.pause)


async def _one_life(settings: ProjectorSettings, projector_id: str, patience: float) -> None:
    async with contextlib.AsyncExitStack() as stack:
        try:
            store = await asyncpg.connect(
                settings.event_store_url, timeout=CONNECTING, command_timeout=patience
            )
            stack.push_async_callback(_close, store)
            model = await connect_model(settings.read_model_url, patience=patience)
            stack.push_async_callback(_close, model)
        except TimeoutError as error:
            raise ConnectionError("a database does not answer") from error
        presence = Presence(model, projector_id)
        try:
            await _follow(store, model, presence)
        except asyncio.CancelledError:
            await _leave(presence)
            raise


async def _follow(store: Connection, model: Connection, presence: Presence) -> None:
    try:
        await Follower(store, model, Log(store, EventMapper()), presence).run()
    except Halted as halt:
        _log.error("halted", reason=str(halt))
        await _stay_halted(presence, str(halt))
    except Exception as error:
        if passes(error):
            raise
        _log.error("halted", exc_info=error)
        await _stay_halted(presence, f"unexpected fault: {type(error).__name__}; the log has it")


async def connect_model(
    url: str, schema: str = LIVE, patience: float | None = PATIENCE
) -> Connection:
    """A connection that writes a read model. A statement may take ``patience`` seconds.

    It does not wait for the disk at each commit: rows and checkpoint are one transaction, so what
    a crash of PostgreSQL takes is projected again from the log.
    """
    return await asyncpg.connect(
        url,
        timeout=CONNECTING,
        command_timeout=patience,
        server_settings={
            "search_path": schema,
            "synchronous_commit": "off",
            # What an installation sets for its applications is not for building an index.
            "statement_timeout": "0",
            "application_name": "contentlog projector",
        },
    )


async def _stay_halted(presence: Presence, reason: str) -> None:
    """Keep saying why, then look again: a person may have mended it."""
    for _ in range(LOOK_AGAIN):
        await presence.halt(reason)
        await asyncio.sleep(1)


async def _leave(presence: Presence) -> None:
    with contextlib.suppress(Exception):
        async with asyncio.timeout(1):
            await presence.leave()


async def _close(connection: Connection) -> None:
    """Politely if it answers at once: closing lets go of the session's lock."""
    try:
        async with asyncio.timeout(1):
            await connection.close()
    except Exception:
        connection.terminate()
