"""What the projector does in the background, one short transaction after another."""

from __future__ import annotations

from projector import indexing, rerendering
from projector.checkpoint import hold
from projector.write_transaction import write_transaction
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement


async def update_chunk(connection: Connection, epoch: int) -> bool:
    """Brings one chunk of entries up to date with the newest version of their type; first those
    that queries wait for. Returns whether there may be more. Raises CheckpointConflict."""
    async with write_transaction(connection) as transaction:
        # Holding the checkpoint prevents this projector's batches and a switch meanwhile.
        await hold(await transaction.connection(), epoch)
        for name, update in (
            ("incomplete_type", indexing.fill),
            ("stale_type", rerendering.rerender),
        ):
            outdated = await connection.fetchrow(statement("projector", name))
            if outdated is not None:
                await update(connection, transaction, outdated)
                return True
        return False
