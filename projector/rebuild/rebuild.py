"""Replays the log into a new read model beside the live one, proves it, and switches to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import asyncpg
from msgspec import Struct

from projector.checkpoint import Checkpoint
from projector.log import Halted, Log
from projector.process import connect_model
from projector.rebuild.build import Build, BuildSettings, drop
from projector.rebuild.differences import differences
from projector.rebuild.switch import NEW_FOR_LIVE, follow, switch
from projector.rebuild.work import Tell, Work, at_work
from projector.writer import Writer
from read_side.schema import DISCARDED, LIVE, NEXT, SHAPE
from write_side.postgres.connection import Connection
from write_side.store.mapper import EventMapper
from write_side.verification.claim_check import Difference

SWITCH = 30.0
"""Seconds for a switch. The live projector waits for it, so it must not itself wait for a database
that has fallen silent."""
CLOSE = 1_000
"""Events behind the live read model from which on the rest is done within the switch."""
_LIVE = "SELECT * FROM checkpoint"
_SNAPSHOT = "SELECT position FROM checkpoint"


class Differs(Exception):
    """What the log comes to is not what is served: for a person to decide. Nothing was switched."""

    def __init__(self, found: list[Difference], reason: str) -> None:
        super().__init__(reason)
        self.found = found


class Rebuilt(Struct, frozen=True):
    """``not_compared``: why the live read model was not, or None where it was."""

    position: int
    found: list[Difference]
    not_compared: str | None


async def rebuild(settings: BuildSettings, *, accept_differences: bool, tell: Tell) -> Rebuilt:
    """Switch to a read model made anew from position 0; readers and writers go on meanwhile.

    The one before is kept for ``rollback``. Raises Differs, Halted, AtWork, and what PostgreSQL
    does; the live read model is untouched then, and what was begun is dropped by the next rebuild.
    """
    async with (
        at_work(settings.read_model_url, "rebuild", tell) as work,
        connections(settings, NEXT) as (store, model),
    ):
        await drop(model, DISCARDED)
        log = Log(store, EventMapper())
        live = await Live.look(settings, log)
        writer, checkpoint = await Build(settings, NEXT, store, model, work).make(live.through)
        found, checkpoint = await compare(settings, live, log, writer, checkpoint, work)
        _decide(live, found, accept_differences)
        checkpoint = await put_in_place(store, model, log, writer, checkpoint, work, NEW_FOR_LIVE)
        await drop(model, DISCARDED)
        return Rebuilt(checkpoint.position, found, live.not_comparable)


class Live(Struct, frozen=True):
    """What is served at the beginning: how far a new read model is built, before it follows."""

    through: int
    not_comparable: str | None = None
    is_empty: bool = False

    @classmethod
    async def look(cls, settings: BuildSettings, log: Log) -> Live:
        async with snapshot(settings.read_model_url) as connection:
            row = await connection.fetchrow(_LIVE)
        assert row is not None
        if row["position"] == 0:
            return cls(await log.head(), "it is empty", is_empty=True)
        if row["shape"] != SHAPE:
            return cls(await log.head(), "it has another shape")
        try:
            await log.check(Checkpoint.of(row))
        except Halted as restored:
            return cls(await log.head(), str(restored))
        return cls(row["position"])


async def compare(
    settings: BuildSettings,
    live: Live,
    log: Log,
    writer: Writer,
    checkpoint: Checkpoint,
    work: Work,
) -> tuple[list[Difference], Checkpoint]:
    """At the position where a snapshot of the live one stands, for as long as that takes."""
    if live.not_comparable is not None:
        return [], checkpoint
    # Most of what came meanwhile, before there is a snapshot that vacuum must respect.
    through = min(await log.head(), await _position(settings))
    work.begin("follow", through - checkpoint.position)
    checkpoint = await follow(log, writer, checkpoint, through, work.go_on)
    work.begin("compare")
    async with snapshot(settings.read_model_url) as connection:
        through = await connection.fetchval(_SNAPSHOT)
        checkpoint = await follow(log, writer, checkpoint, through)
        found = await differences(connection, writer.connection)
    return found, checkpoint


def _decide(live: Live, found: list[Difference], accept: bool) -> None:
    if accept or live.is_empty:
        return
    advice = "look into it, then accept it with --accept-differences"
    if live.not_comparable is not None:
        reason = f"the live read model cannot be compared ({live.not_comparable}): {advice}"
        raise Differs([], reason)
    if found:
        raise Differs(found, f"{len(found)} rows are not as they are served: {advice}")


async def put_in_place(
    store: Connection,
    model: Connection,
    log: Log,
    writer: Writer,
    checkpoint: Checkpoint,
    work: Work,
    renamings: Sequence[tuple[str, str]],
) -> Checkpoint:
    """Follow the log until little is left, then switch. Raises Halted, Fenced."""
    is_close = False
    while not is_close:
        head = await log.head()
        work.begin("follow", head - checkpoint.position)
        checkpoint = await follow(log, writer, checkpoint, head, work.go_on)
        is_close = await log.head() - checkpoint.position <= CLOSE
    work.begin("switch")
    with ended_after(SWITCH, model, store):
        return await switch(model, log, writer, checkpoint, renamings)


@contextmanager
def ended_after(seconds: float, *connections: Connection) -> Iterator[None]:
    """The connections, and with them all that is done over them, end where it takes longer."""

    def end() -> None:
        for connection in connections:
            connection.terminate()

    ending = asyncio.get_running_loop().call_later(seconds, end)
    try:
        yield
    finally:
        ending.cancel()


async def _position(settings: BuildSettings) -> int:
    async with snapshot(settings.read_model_url) as connection:
        return int(await connection.fetchval(_SNAPSHOT))


@asynccontextmanager
async def snapshot(url: str) -> AsyncIterator[Connection]:
    """The live read model as it stands now, for as long as it is looked at."""
    connection = await connect_model(url, LIVE, patience=None)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            # Idle while the other one follows, but not for ever: vacuum waits for it.
            await connection.execute("SET LOCAL idle_in_transaction_session_timeout = '10min'")
            yield connection
    finally:
        connection.terminate()


@asynccontextmanager
async def connections(
    settings: BuildSettings, schema: str
) -> AsyncIterator[tuple[Connection, Connection]]:
    """To the event store, and to the database of the read models, its search_path this schema."""
    store = await asyncpg.connect(settings.event_store_url, timeout=20)
    try:
        model = await connect_model(settings.read_model_url, schema, patience=None)
        try:
            yield store, model
        finally:
            model.terminate()
    finally:
        store.terminate()
