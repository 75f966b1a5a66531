"""A projector that takes one step per call. Its state is kept between calls."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import asyncpg

from projector.background import update_chunk
from projector.checkpoint import Checkpoint, begin_epoch
from projector.log import Log
from projector.process import connect_model
from projector.writer import Writer
from write_side.postgres.connection import Connection


class StepwiseProjector:
    """Continues until it is fenced off or closed, also after a switch."""

    def __init__(
        self, store: Connection, model: Connection, epoch: int, checkpoint: Checkpoint
    ) -> None:
        self._connections = (store, model)
        self._log = Log(store)
        self._writer = Writer(model, epoch)
        self._checkpoint = checkpoint

    @classmethod
    async def begin(cls, url: str) -> StepwiseProjector:
        store, model = await asyncpg.connect(url), await connect_model(url)
        return cls(store, model, *await begin_epoch(model))

    async def project(self, limits: Sequence[int], renderings: int) -> None:
        """Projects the whole log, in batches with these limits in turn. Entries that wait to be
        rendered again are rendered after every ``n`` chunks. Raises CheckpointConflict."""
        for limit in itertools.cycle(limits):
            batch = await self._log.read(self._checkpoint.position, limit)
            if not batch:
                return
            self._checkpoint = await self._writer.write(batch, self._checkpoint)
            for _ in range(renderings):
                writer = self._writer
                await update_chunk(writer.connection, writer.epoch, writer.search)

    def close(self) -> None:
        for connection in self._connections:
            connection.terminate()
