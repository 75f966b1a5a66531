"""Brings a read model that is not live up to date with the log, and switches to it while reads
continue.

Renaming schemas locks no table: a statement that has begun ends on the old read model, and the next
one uses the new one, which is at least as current. A transaction of several statements that meets
the renaming is repeated (read_side.pool). On Citus, reads wait for the renaming (ADR 59).
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import asyncpg

from projector import postponed_words
from projector.checkpoint import (
    DURABLE,
    Checkpoint,
    CheckpointConflict,
    announce,
    committed_everywhere,
)
from projector.log import BATCH, Log, check_complete
from projector.rebuild.progress import Operation
from projector.writer import Writer
from read_side.engine import is_distributed
from read_side.notices import CHANNEL, Notice
from read_side.schema import DISCARDED, LIVE, NEXT, PREVIOUS, Workspaces
from write_side.domain.refusals import ExplainedError
from write_side.postgres.connection import Connection

TO_NEXT = ((PREVIOUS, DISCARDED), (LIVE, PREVIOUS), (NEXT, LIVE))
TO_PREVIOUS = ((LIVE, DISCARDED), (PREVIOUS, LIVE), (DISCARDED, PREVIOUS))
"""Renames, in order; schemas that do not exist are skipped."""

SWITCH_SECONDS = 30.0
"""The live projector waits for a switch, so a switch must not wait for a silent database."""
CLOSE = 1_000
"""The number of events behind the log at which a switch begins; the rest is projected within it."""
LOCK_SECONDS = 0.2
"""The time that the first attempt to lock out readers may take. New reads wait for it."""
MOST_LOCK_SECONDS = 0.8
"""The most that any attempt may take. It is less than PostgreSQL's deadlock_timeout: if a read and
the switch wait for each other's tables, the switch gives up, and no read is ended."""
SWITCH_ATTEMPTS = 200
BETWEEN_ATTEMPTS = 1.0
IDLE_TIMEOUT = "SET LOCAL idle_in_transaction_session_timeout = '30s'"
"""If this process is paused or its machine is gone, the live projector must not wait longer."""

# Every client connects to the coordinator, so its locks are enough; those of the workers' copies of
# the tables would take ten times as long.
_LOCK_HERE = "SELECT set_config('citus.enable_ddl_propagation', $1, true)"
_TIMEOUT = "SELECT set_config('statement_timeout', $1, true)"
# In the order in which most reads lock them: all have the checkpoint last.
_LOCK_TABLES = """
SELECT format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE',
              string_agg(logicalrelid::text, ', ' ORDER BY partmethod, c.oid))
FROM pg_dist_partition JOIN pg_class c ON c.oid = logicalrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY ($1) AND NOT c.relispartition"""
_WAIT_FOR_WORDS = f"SELECT pg_advisory_xact_lock({postponed_words.LOCK})"
# The live projector waits here until the switch is over, and is then fenced off.
_STOP_LIVE = "UPDATE read_model.checkpoint SET epoch = epoch + 1 RETURNING position, epoch"
_TAKE_OVER = "UPDATE checkpoint SET epoch = $2 + 1 WHERE epoch = $1 RETURNING epoch"
_RENAME = """
SELECT format('ALTER SCHEMA %I RENAME TO %I', nspname, $2::text)
FROM pg_namespace WHERE nspname = $1"""
_FOLLOW_NAME = "SET search_path = read_model"
_NOTIFY = "SELECT pg_notify($1, $2)"


class ReadLockTimeout(ExplainedError):
    def __init__(self) -> None:
        super().__init__(
            "reads of the live read model take too long: end those that pg_stat_activity shows "
            "on the coordinator, then try again"
        )


class Candidate:
    """A read model that may become the live one. ``model``'s search_path names its schema."""

    def __init__(
        self,
        store: Connection,
        model: Connection,
        epoch: int,
        checkpoint: Checkpoint,
        workspaces: Workspaces = None,
    ) -> None:
        self._store = store
        self.model = model
        self.log = Log(store, workspaces)
        self.writer = Writer(model, epoch)
        self.checkpoint = checkpoint

    async def follow(self, through: int, projected: Callable[[int], None] = lambda _: None) -> None:
        """Projects up to exactly this position; ``projected`` gets the number of events of each
        batch. Raises Halted, CheckpointConflict."""
        while self.checkpoint.position < through:
            before = self.checkpoint.position
            batch = await self.log.read(before, min(BATCH, through - before))
            if not batch:
                check_complete(before, through)
            self.checkpoint = await self.writer.write(batch, self.checkpoint)
            projected(self.checkpoint.position - before)

    async def go_live(self, renamings: Sequence[tuple[str, str]], operation: Operation) -> None:
        """Follows the log until little is left, then switches. Raises Halted,
        CheckpointConflict, and ReadLockTimeout if reads never end."""
        for attempt in itertools.count():
            await self._come_close(operation)
            operation.begin("switch")
            before = self.checkpoint
            try:
                with terminated_after(SWITCH_SECONDS, self.model, self._store):
                    await self.switch(renamings, attempt)
                return
            except ReadLockTimeout:
                if attempt == SWITCH_ATTEMPTS:
                    raise
            # What was followed within the switch is undone.
            self.checkpoint, self.writer = before, Writer(self.model, self.writer.epoch)
            await asyncio.sleep(BETWEEN_ATTEMPTS)

    async def _come_close(self, operation: Operation) -> None:
        is_close = False
        while not is_close:
            head = await self.log.head()
            operation.begin("follow", head - self.checkpoint.position)
            await self.follow(head, operation.advance)
            is_close = await self.log.head() - self.checkpoint.position <= CLOSE

    async def switch(self, renamings: Sequence[tuple[str, str]], attempt: int = 0) -> None:
        """Makes the candidate the live read model, at least as current as the old one.

        Raises Halted, CheckpointConflict, and ConnectionError if a worker did not confirm the
        commit. The projector then announces the switch, once that worker has committed it.
        """
        distributed = await is_distributed(self.model)
        async with committed_everywhere(self.model), self.model.transaction():
            await self.model.execute(DURABLE)
            await self.model.execute(IDLE_TIMEOUT)
            await self.model.execute(_WAIT_FOR_WORDS)
            if distributed:
                # First: a batch that waits for the checkpoint has locks that this waits for.
                await _lock_out_readers(self.model, {old for old, _ in renamings}, attempt)
            live = await self.model.fetchrow(_STOP_LIVE)
            assert live is not None
            # Not beyond the log's head, because the log may have been restored to an earlier point.
            await self.follow(min(live["position"], await self.log.head()))
            epoch = await self.model.fetchval(_TAKE_OVER, self.writer.epoch, live["epoch"])
            if epoch is None:
                raise CheckpointConflict
            for old, new in renamings:
                rename = await self.model.fetchval(_RENAME, old, new)
                if rename is not None:
                    await self.model.execute(rename)
            position = self.checkpoint.position
            notice = Notice(epoch=epoch, after=position, position=position)
            if not distributed:
                await self.model.execute(_NOTIFY, CHANNEL, notice.encoded())
        if distributed:
            await self.model.execute(_FOLLOW_NAME)
            await announce(self.model, notice)


@contextmanager
def terminated_after(seconds: float, *connections: Connection) -> Iterator[None]:
    """Terminates the connections if the work on them takes longer."""

    def terminate() -> None:
        for connection in connections:
            connection.terminate()

    timer = asyncio.get_running_loop().call_later(seconds, terminate)
    try:
        yield
    finally:
        timer.cancel()


async def _lock_out_readers(connection: Connection, schemas: Iterable[str], attempt: int) -> None:
    """On Citus: reads of the read models in these schemas wait until the transaction has ended, and
    then look up the names of the tables again. PostgreSQL releases locks after Citus has committed
    the workers.

    Raises ReadLockTimeout; the transaction then has to be rolled back.
    """
    seconds = min(LOCK_SECONDS * 2**attempt, MOST_LOCK_SECONDS)
    lock = await connection.fetchval(_LOCK_TABLES, list(schemas))
    await connection.execute(_LOCK_HERE, "off")
    await connection.execute(_TIMEOUT, f"{seconds:.3f}s")
    try:
        await connection.execute(lock)
    except (asyncpg.QueryCanceledError, asyncpg.DeadlockDetectedError) as error:
        raise ReadLockTimeout from error
    await connection.execute(_TIMEOUT, "0")
    await connection.execute(_LOCK_HERE, "on")
