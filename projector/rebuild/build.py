"""Builds a read model from the log in a separate schema: tables, rows, then indexes."""

from __future__ import annotations

import os
import secrets
from collections import Counter

from msgspec import Struct

from projector.log import Log, check_complete
from projector.rebuild.progress import Operation
from projector.rebuild.replay import Replay, ReplayResult
from projector.rebuild.switch import Candidate
from projector.rebuild.worker import Job, replay_in_workers
from projector.rows import BLOCKS, LocaleKey, columns
from projector.write_transaction import write_transaction
from projector.writer import Writer
from read_side import schema
from read_side.engine import Engine, is_distributed
from read_side.notices import Notice
from read_side.schema import Workspaces
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement
from write_side.store.log_reader import OTHERS, ranges_of_entries

MEMORY = 512 * 1024 * 1024
# A worker holds a page of events several times: decoded, folded, rendered and encoded.
PAGES_IN_MEMORY = 24
LARGEST_PAGE = 4 * 1024 * 1024
_DROP_TABLES = """
SELECT format('DROP TABLE IF EXISTS %I.%I CASCADE', n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
ORDER BY c.relispartition DESC, c.relkind DESC, c.relname"""
_DROP_SCHEMA = "SELECT format('DROP SCHEMA IF EXISTS %I CASCADE', $1::text)"
_CREATE_SCHEMA = "SELECT format('CREATE SCHEMA %I', $1::text)"
_SORT_MEMORY = "SELECT set_config('maintenance_work_mem', $1, false)"


class BuildSettings(Struct, frozen=True, kw_only=True):
    """``engine``: of a read model that is created because there is none. ``memory`` in bytes: half
    of it for the workers together, half for PostgreSQL to sort in."""

    event_store_url: str
    read_model_url: str
    workspaces: Workspaces = None
    engine: Engine = "postgresql"
    workers: int = os.cpu_count() or 1
    memory: int = MEMORY


class Build:
    """One read model that is being built. ``model``'s search_path must name the schema."""

    def __init__(
        self,
        settings: BuildSettings,
        name: str,
        store: Connection,
        model: Connection,
        operation: Operation,
    ) -> None:
        self._settings = settings
        self._name = name
        self._store = store
        self._log = Log(store, settings.workspaces)
        self._model = model
        self._operation = operation
        # The epoch is unique, so a worker that outlived an earlier build is fenced off.
        self.epoch = -1 - secrets.randbelow(2**62)

    async def make(self, through: int) -> Candidate:
        """Builds the read model at exactly this position, with indexes.

        Raises Halted, Inconsistent, WorkerDied, CheckpointConflict.
        """
        await drop_read_model(self._model, self._name)
        await self._model.execute(await self._model.fetchval(_CREATE_SCHEMA, self._name))
        async with self._model.transaction():
            await schema.create_tables(self._model, self.epoch, self._settings.workspaces)
        self._operation.begin("replay", through)
        others = await self._write_others(through)
        replayed = await self._replay_entries(through)
        check_complete(others + sum(part.events for part in replayed), through)
        await self._index()
        await self._write_counts(replayed)
        checkpoint = await self._log.checkpoint_at(through)
        async with write_transaction(self._model) as transaction:
            notice = Notice(epoch=self.epoch, after=0, position=through)
            await transaction.move_checkpoint(checkpoint, notice)
        workspaces = self._settings.workspaces
        return Candidate(self._store, self._model, self.epoch, checkpoint, workspaces)

    async def _write_others(self, through: int) -> int:
        """Writes everything except entries; returns the number of events. Types come before
        entries, because entries are rendered with them."""
        writer, read = Writer(self._model, self.epoch), 0
        for streams in OTHERS:
            async for page in self._log.pages(streams, through, self._page_bytes):
                await writer.write_part(page)
                self._operation.advance(len(page))
                read += len(page)
        # No entry is rendered yet, so none is stale.
        await self._model.execute("TRUNCATE rendering")
        return read

    async def _replay_entries(self, through: int) -> list[ReplayResult]:
        ranges = await ranges_of_entries(self._store, through)
        size = min(self._settings.workers, len(ranges))
        if size == 1 or await is_distributed(self._model):
            # A further process would cost more than it saves, or be in the way on Citus (ADR 59).
            replay = Replay(self._log, self._model, self.epoch, through, self._page_bytes)
            return [await replay.replay(streams, self._operation.advance) for streams in ranges]
        job = Job(
            event_store_url=self._settings.event_store_url,
            read_model_url=self._settings.read_model_url,
            workspaces=self._settings.workspaces,
            schema=self._name,
            epoch=self.epoch,
            through=through,
            page_bytes=self._page_bytes,
        )
        return await replay_in_workers(size, job, ranges, self._operation.advance)

    @property
    def _page_bytes(self) -> int:
        share = self._settings.memory // 2 // self._settings.workers
        return min(share // PAGES_IN_MEMORY, LARGEST_PAGE)

    async def _write_counts(self, replayed: list[ReplayResult]) -> None:
        await self._model.execute(statement("projector", "count_entries"), BLOCKS)
        counts: Counter[LocaleKey] = Counter()
        for part in replayed:
            counts.update(dict(part.translations))
        rows = columns((*key, n) for key, n in counts.items())
        if rows:
            await self._model.execute(statement("projector", "raise_locale_counts"), *rows)
        await self._model.execute("ANALYZE entry_count, locale_count")

    async def _index(self) -> None:
        self._operation.begin("index")
        sort_memory = max(1024, self._settings.memory // 2 // 1024)
        await self._model.execute(_SORT_MEMORY, str(sort_memory))
        async with self._model.transaction():
            await schema.create_indexes(self._model)
        # VACUUM sets the visibility map, which index-only scans need.
        await self._model.execute(
            "VACUUM (ANALYZE) "
            "entry, entry_value, entry_search, entry_locale, past_slug, past_version, change"
        )
        await self._model.execute("ANALYZE content_type, media")


async def drop_read_model(connection: Connection, name: str) -> None:
    """Drops a read model table by table, because one transaction could need too many locks. A
    shard that is listed after its table is gone with it."""
    for (drop_table,) in await connection.fetch(_DROP_TABLES, name):
        await connection.execute(drop_table)
    await connection.execute(await connection.fetchval(_DROP_SCHEMA, name))
