"""What the projector does in the background, one short transaction after another."""

from __future__ import annotations

from projector.indexing import fill_chunk
from projector.rerendering import rerender_chunk
from write_side.postgres.connection import Connection


async def update_chunk(connection: Connection, epoch: int) -> bool:
    """Brings one chunk of entries up to date with the newest version of their type; first those
    that queries wait for. Returns whether there may be more. Raises CheckpointConflict."""
    return await fill_chunk(connection, epoch) or await rerender_chunk(connection, epoch)
