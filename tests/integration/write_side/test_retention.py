"""Expired commands and orphaned rows are deleted; the keys of imports are kept."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import structs

from tests.integration.write_side.append_locks import connected, until
from tests.integration.write_side.sample_commands import SCOPE, plain
from write_side.domain.refusals import UnknownUpload
from write_side.imports.uploads import find_upload, keep_upload
from write_side.repository import Repository
from write_side.store.recorder import Recorder
from write_side.store.retention import delete_commands, delete_leftovers, retention

_FILL = """
INSERT INTO write_side.command (key, digest, originator_id, originator_version, events, at)
SELECT prefix || n, '', 'entry/x', 1, 1, now() - make_interval(hours => age)
FROM generate_series(1, 25) n, (VALUES ('http/', 47), ('', 49), ('import/', 1000)) k(prefix, age)"""
_STAGE = """
INSERT INTO write_side.staged_event
SELECT gen_random_uuid(), 1, 'x', 1, 't', '{}', now() - make_interval(mins => age)
FROM (VALUES (10), (70)) AS ages(age)"""
_LEFT = """
SELECT split_part(key, '/', 1), count(*) FROM write_side.command GROUP BY 1 ORDER BY 1"""


async def test_expired_commands_are_deleted_in_batches_and_imports_kept(
    recorder: Recorder, database_url: str
) -> None:
    async with connected(database_url) as connection:
        await connection.execute(_FILL)
        assert await delete_commands(recorder, batch=10) == 25
        left = [tuple(row) for row in await connection.fetch(_LEFT)]
    assert left == [("http", 25), ("import", 25)]
    assert await delete_commands(recorder, batch=10) == 0


async def test_processes_that_delete_at_once_share_the_work(
    recorder: Recorder, database_url: str
) -> None:
    async with connected(database_url) as connection:
        await connection.execute(_FILL)
        counts = await asyncio.gather(*(delete_commands(recorder, batch=3) for _ in range(4)))
        assert sum(counts) <= 25
        await delete_commands(recorder)
        left = [tuple(row) for row in await connection.fetch(_LEFT)]
    assert left == [("http", 25), ("import", 25)]


async def test_leftovers_are_deleted_at_the_start(recorder: Recorder, database_url: str) -> None:
    async with connected(database_url) as connection:
        await connection.execute(_STAGE)

        async def is_clean() -> bool:
            return len(await connection.fetch("SELECT FROM write_side.staged_event")) == 1

        async with retention(recorder):
            await until(is_clean)


LIFETIMES = """
CREATE OR REPLACE FUNCTION write_side.command_lifetime() RETURNS interval LANGUAGE sql IMMUTABLE
AS $$ SELECT interval '1 second' $$;
CREATE OR REPLACE FUNCTION write_side.upload_lifetime() RETURNS interval LANGUAGE sql IMMUTABLE
AS $$ SELECT interval '1 second' $$"""
AGE = """
UPDATE write_side.command SET at = now() - interval '3 seconds';
UPDATE write_side.upload SET at = now() - interval '3 seconds'"""


async def test_expiring_rows_have_one_definition_of_their_lifetime(
    repository: Repository, database_url: str
) -> None:
    recorder, sent = repository.recorder, plain("x/1")
    await recorder.append(sent)
    upload = await keep_upload(repository, SCOPE, "a.csv", b"title\nOne\n")
    async with connected(database_url) as connection:
        await connection.execute(AGE)
        assert await recorder.appended(sent.command_key) is not None
        await find_upload(repository, SCOPE, upload.id)
        await connection.execute(LIFETIMES)
    assert await recorder.appended(sent.command_key) is None
    with pytest.raises(UnknownUpload):
        await find_upload(repository, SCOPE, upload.id)
    again = structs.replace(plain("x/2"), command_key=sent.command_key)
    assert not (await recorder.append(again)).replayed
    await delete_leftovers(recorder)
    assert await recorder.fetch("SELECT FROM write_side.upload") == []


async def test_retention_can_be_cancelled(recorder: Recorder) -> None:
    async with asyncio.timeout(30), retention(recorder):
        await asyncio.sleep(0)
