"""The statements that a batch sends to the read model."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import pytest

from projector.checkpoint import Checkpoint, CheckpointConflict, begin_epoch
from projector.log import Log
from projector.process import connect_model
from projector.write_transaction import combined, write_transaction
from projector.writer import Writer
from read_side.notices import Notice
from tests.integration.live_projector import blocked, connected, dump, project_all, until
from tests.integration.projector.sample_log import ContentBuilder, raws, rows
from write_side.domain.events import Translation
from write_side.postgres.connection import Connection

FRENCH = {"fr-FR": Translation("Un", raws(body="Texte"))}
LONGEST_KEPT = 15 * 1024
"""asyncpg does not cache longer prepared statements."""


@pytest.fixture
async def model(database_url: str) -> AsyncIterator[Connection]:
    connection = await connect_model(database_url)
    yield connection
    await connection.close()


class Sending:
    """A writer, and the first words of each statement that it sends."""

    def __init__(self, url: str, model: Connection) -> None:
        self._url = url
        self._model = model

    async def begin(self) -> None:
        epoch, self._checkpoint = await begin_epoch(self._model)
        self._writer = Writer(self._model, epoch)
        await self.write()

    async def write(self) -> list[str]:
        """Writes the rest of the log."""
        async with connected(self._url) as store:
            batch = await Log(store).read(self._checkpoint.position)
        sent: list[str] = []

        def recorded(method: Callable[..., Any]) -> Callable[..., Any]:
            async def recording(connection: Any, sql: str, *args: Any, **options: Any) -> Any:
                sent.append(re.sub("--.*", "", sql).split()[0])
                return await method(connection, sql, *args, **options)

            return recording

        with pytest.MonkeyPatch.context() as patch:
            for name in ("execute", "executemany", "fetch", "fetchrow", "fetchval"):
                patch.setattr(asyncpg.Connection, name, recorded(getattr(asyncpg.Connection, name)))
            self._checkpoint = await self._writer.write(batch, self._checkpoint)
        return sent


@pytest.fixture
async def sending(builder: ContentBuilder, database_url: str, model: Connection) -> Sending:
    """The writer has read the content type and the known words."""
    await builder.magazine()
    await builder.entry("one", title="One two three", translations=FRENCH)
    sending = Sending(database_url, model)
    await sending.begin()
    return sending


async def test_new_entries_are_one_statement(builder: ContentBuilder, sending: Sending) -> None:
    for slug in ("two", "three"):
        await builder.entry(slug, title="Two 22", translations=FRENCH, fields=raws(body="Three"))
    assert await sending.write() == ["WITH"]


async def test_a_change_is_loaded_and_written(builder: ContentBuilder, sending: Sending) -> None:
    entry_id = await builder.entry("two", title="Two")
    await sending.write()
    await builder.update(entry_id, title="Three", translations=FRENCH)
    assert await sending.write() == ["SELECT", "WITH"]


async def test_counts_that_fall_are_written_with_the_rest(
    builder: ContentBuilder, sending: Sending
) -> None:
    entry_id = await builder.entry("two", title="Two")
    await sending.write()
    await builder.delete(entry_id)
    assert await sending.write() == ["SELECT", "WITH"]


async def test_a_statement_of_all_is_kept_prepared() -> None:
    names = (
        *("drop_counts", "lower_counts", "raise_counts", "drop_locale_counts"),
        *("lower_locale_counts", "raise_locale_counts"),
        *("drop_entries", "drop_locales", "add_entries", "put_entries"),
        *("drop_shared_locales", "put_locales", "drop_entry_values", "drop_values", "put_values"),
        *("drop_search", "move_search", "replace_search", "put_search", "put_past_slugs"),
        *("put_past_versions", "put_changes", "put_imports", "move_checkpoint"),
    )
    assert len(combined(names)) < LONGEST_KEPT


async def write_media(model: Connection, epoch: int, checkpoint: Checkpoint) -> None:
    async with write_transaction(model) as transaction:
        await transaction.add("put_media", ["one", "One", "https://x", "text/plain", "acme"])
        position = checkpoint.position
        notice = Notice(epoch=epoch, after=position, position=position)
        await transaction.move_checkpoint(checkpoint, notice)


@pytest.mark.parametrize("is_nested", [False, True])
async def test_a_moved_checkpoint_undoes_the_statement(
    is_nested: bool, builder: ContentBuilder, database_url: str, model: Connection
) -> None:
    await builder.magazine()
    await project_all(database_url, database_url)
    epoch, checkpoint = await begin_epoch(model)
    before = await dump(database_url)
    async with contextlib.AsyncExitStack() as stack:
        if is_nested:
            await stack.enter_async_context(model.transaction())
        with pytest.raises(CheckpointConflict):
            await write_media(model, epoch + 1, checkpoint)
        # The connection can still be used.
        assert await model.fetchval("SELECT count(*) FROM media") == 0
    assert await dump(database_url) == before


async def test_a_checkpoint_that_moves_while_the_statement_waits_undoes_it(
    builder: ContentBuilder, database_url: str, model: Connection
) -> None:
    """PostgreSQL then evaluates the condition again with the newest row."""
    await builder.magazine()
    await project_all(database_url, database_url)
    epoch, checkpoint = await begin_epoch(model)
    writer = Writer(model, epoch)
    await builder.entry("one", title="One two three", translations=FRENCH)
    async with connected(database_url) as store:
        batch = await Log(store).read(checkpoint.position)
    before = await dump(database_url)
    async with connected(database_url, search_path="read_model") as other:
        async with other.transaction():
            await begin_epoch(other)
            writing = asyncio.create_task(writer.write(batch, checkpoint))

            async with connected(database_url) as watcher:
                await until(lambda: blocked(watcher))
        with pytest.raises(CheckpointConflict):
            await writing
    assert await dump(database_url) == before
    assert await rows(database_url, "SELECT count(*) FROM entry") == [(0,)]
