"""Builds a read model from position 0, in a schema of its own: tables, rows, then indexes."""

from __future__ import annotations

import os
import secrets

from msgspec import Struct

from projector.checkpoint import Checkpoint, move
from projector.log import Log, pages, prove_whole
from projector.rebuild.crew import Crew
from projector.rebuild.messages import Job
from projector.rebuild.replay import Replay, Replayed
from projector.rebuild.work import Work
from projector.writer import Writer
from read_side import schema
from write_side.postgres.connection import Connection
from write_side.store.mapper import EventMapper
from write_side.store.streams import OTHERS, Range, ranges_of_entries

MEMORY = 512 * 1024 * 1024
# Of a worker's share of the memory: its events are held decoded, folded, rendered and encoded.
PAGES_IN_MEMORY = 24
LARGEST_PAGE = 4 * 1024 * 1024
_TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
ORDER BY c.relispartition DESC, c.relkind DESC, c.relname"""
_DROP_TABLE = "SELECT format('DROP TABLE %I.%I CASCADE', $1::text, $2::text)"
_DROP_SCHEMA = "SELECT format('DROP SCHEMA IF EXISTS %I CASCADE', $1::text)"
_CREATE_SCHEMA = "SELECT format('CREATE SCHEMA %I', $1::text)"
_COUNTS = """
INSERT INTO entry_count (workspace, environment, content_type_id, status, language, n)
SELECT workspace, environment, content_type_id, status, language, sum(n) FROM unnest(
    $1::text[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::bigint[]
) AS d(workspace, environment, content_type_id, status, language, n) GROUP BY 1, 2, 3, 4, 5"""
_SORT_MEMORY = "SELECT set_config('maintenance_work_mem', $1, false)"


class BuildSettings(Struct, frozen=True, kw_only=True):
    """``memory`` in bytes: half of it for the workers together, half for PostgreSQL to sort in."""

    event_store_url: str
    read_model_url: str
    workers: int = os.cpu_count() or 1
    memory: int = MEMORY


class Build:
    """One read model being made. ``model``'s search_path must name the schema."""

    def __init__(
        self, settings: BuildSettings, name: str, store: Connection, model: Connection, work: Work
    ) -> None:
        self._settings = settings
        self._name = name
        self._store = store
        self._model = model
        self._work = work
        # Nobody else's: what writes these tables without knowing it is of another build.
        self.epoch = -1 - secrets.randbelow(2**62)

    async def make(self, through: int) -> tuple[Writer, Checkpoint]:
        """The read model at exactly this position, indexed, and what projects further into it.

        Raises Halted, Inconsistent, WorkerDied, Fenced.
        """
        await drop(self._model, self._name)
        await self._model.execute(await self._model.fetchval(_CREATE_SCHEMA, self._name))
        async with self._model.transaction():
            await schema.create_tables(self._model, self.epoch)
        self._work.begin("replay", through)
        writer = Writer(self._model, self.epoch)
        others = await self._write_others(writer, through)
        replayed = await self._replay_entries(through)
        prove_whole(others + sum(part.events for part in replayed), through)
        await self._write_counts(replayed)
        await self._index()
        return writer, await self._begin(through)

    async def _write_others(self, writer: Writer, through: int) -> int:
        """All but the entries, which are rendered with them; returns how many events that were."""
        read = 0
        for streams in OTHERS:
            async for page in pages(self._store, EventMapper(), streams, through, self._page_bytes):
                await writer.write_part(page)
                self._work.go_on(len(page))
                read += len(page)
        # Nothing was rendered yet that a later version of a type could have made stale.
        await self._model.execute("TRUNCATE rendering")
        return read

    async def _replay_entries(self, through: int) -> list[Replayed]:
        ranges = await ranges_of_entries(self._store, through)
        size = min(self._settings.workers, len(ranges))
        if size == 1:
            return await self._replay_here(ranges, through)
        async with Crew(size, self._job(through)) as crew:
            return await crew.replay(ranges, self._work.go_on)

    async def _replay_here(self, ranges: list[Range], through: int) -> list[Replayed]:
        """A process more would cost more than it gains."""
        replay = Replay(self._store, self._model, self.epoch, through, self._page_bytes)
        return [await replay.replay(streams, self._work.go_on) for streams in ranges]

    def _job(self, through: int) -> Job:
        return Job(
            event_store_url=self._settings.event_store_url,
            read_model_url=self._settings.read_model_url,
            schema=self._name,
            epoch=self.epoch,
            through=through,
            page_bytes=self._page_bytes,
        )

    @property
    def _page_bytes(self) -> int:
        share = self._settings.memory // 2 // self._settings.workers
        return min(share // PAGES_IN_MEMORY, LARGEST_PAGE)

    async def _write_counts(self, replayed: list[Replayed]) -> None:
        rows = [(*key, n) for part in replayed for key, n in part.counts]
        if rows:
            await self._model.execute(_COUNTS, *map(list, zip(*rows, strict=True)))

    async def _index(self) -> None:
        self._work.begin("index")
        sort_memory = max(1024, self._settings.memory // 2 // 1024)
        await self._model.execute(_SORT_MEMORY, str(sort_memory))
        async with self._model.transaction():
            await schema.create_indexes(self._model)
        # The visibility map too: deep pages are skipped by index-only scans.
        await self._model.execute("VACUUM (ANALYZE) entry, entry_locale, past_slug")
        await self._model.execute("ANALYZE content_type, entry_count, media, api_key")

    async def _begin(self, through: int) -> Checkpoint:
        checkpoint = await Log(self._store, EventMapper()).checkpoint_at(through)
        await move(self._model, self.epoch, Checkpoint(0), checkpoint)
        return checkpoint


async def drop(connection: Connection, name: str) -> None:
    """Drop a read model table by table: all in one transaction could need too many locks."""
    for row in await connection.fetch(_TABLES, name):
        await connection.execute(await connection.fetchval(_DROP_TABLE, name, row["relname"]))
    await connection.execute(await connection.fetchval(_DROP_SCHEMA, name))
