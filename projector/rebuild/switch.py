"""Puts another read model in the place of the live one, in one transaction, while readers read.

Renaming schemas locks no table: a read that has begun ends on the old one, the next is on the new
one, which stands at least as far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from projector.checkpoint import Checkpoint, Fenced
from projector.log import BATCH, Log
from projector.writer import Writer
from read_side.checkpoint import CHANNEL
from read_side.schema import DISCARDED, LIVE, NEXT, PREVIOUS
from write_side.postgres.connection import Connection

NEW_FOR_LIVE = ((PREVIOUS, DISCARDED), (LIVE, PREVIOUS), (NEXT, LIVE))
BACK_TO_PREVIOUS = ((LIVE, DISCARDED), (PREVIOUS, LIVE), (DISCARDED, PREVIOUS))
"""Renamings, in order; those of schemas that there are not are left out."""

_DURABLE = "SET LOCAL synchronous_commit = on"
# Whoever waits for us must not wait for ever where we are paused, or our machine is gone.
_IMPATIENT = "SET LOCAL idle_in_transaction_session_timeout = '30s'"
# Whoever projects into the live read model waits here until the end, and is then fenced off.
_STOP_LIVE = "UPDATE read_model.checkpoint SET epoch = epoch + 1 RETURNING position, epoch"
_TAKE_OVER = "UPDATE checkpoint SET epoch = $2 + 1 WHERE epoch = $1 RETURNING position"
_EXISTS = "SELECT to_regnamespace($1) IS NOT NULL"
_RENAME = "SELECT format('ALTER SCHEMA %I RENAME TO %I', $1::text, $2::text)"
_NOTIFY = "SELECT pg_notify($1, $2)"


async def switch(
    model: Connection,
    log: Log,
    writer: Writer,
    checkpoint: Checkpoint,
    renamings: Sequence[tuple[str, str]],
) -> Checkpoint:
    """Make the writer's read model the live one; it is at the position returned, at least as far as
    the live one was. Raises Fenced, Halted."""
    async with model.transaction():
        await model.execute(_DURABLE)
        await model.execute(_IMPATIENT)
        live = await model.fetchrow(_STOP_LIVE)
        assert live is not None
        # Not beyond the log's head, where the log itself was restored to an earlier point.
        through = min(live["position"], await log.head())
        checkpoint = await follow(log, writer, checkpoint, through)
        if await model.fetchrow(_TAKE_OVER, writer.epoch, live["epoch"]) is None:
            raise Fenced
        for old, new in renamings:
            if await model.fetchval(_EXISTS, old):
                await model.execute(await model.fetchval(_RENAME, old, new))
        await model.execute(_NOTIFY, CHANNEL, str(checkpoint.position))
    return checkpoint


async def follow(
    log: Log,
    writer: Writer,
    checkpoint: Checkpoint,
    through: int,
    projected: Callable[[int], None] = lambda _: None,
) -> Checkpoint:
    """Project on, up to exactly this position of the log; ``projected`` is told of so many events.

    Raises Halted, Fenced.
    """
    while checkpoint.position < through:
        batch = await log.read(checkpoint.position, min(BATCH, through - checkpoint.position))
        before = checkpoint.position
        checkpoint = await writer.write(batch, checkpoint)
        projected(checkpoint.position - before)
    return checkpoint
