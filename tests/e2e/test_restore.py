"""Restores a lost log with the programs that deploy/docs/operations.md names."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.doctor.server import read_facts
from deploy.supervisor import contentlog
from tests.databases import Databases
from tests.e2e.commands import Commands
from tests.e2e.postgres import Postgres, postgres
from tests.integration.live_projector import (
    caught_up,
    checkpoint_of,
    connected,
    dump,
    head_of,
    project_all,
    rendered,
    until,
    until_halted,
)
from tests.integration.projector.random_log import RandomCommands
from tests.integration.projector.sample_log import ContentBuilder
from write_side.domain.identity import Scope
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

pytestmark = pytest.mark.slow

AGREE = {"readModel": 0, "notCompared": None, "claims": 0}
_ARCHIVED = "SELECT last_archived_wal >= $1 FROM pg_stat_archiver"
_RECOVERED = "SELECT NOT pg_is_in_recovery()"


@pytest.fixture
def archive(data: Path) -> Path:
    """The folder for the event store's WAL archive: next to the data, writable for PostgreSQL's
    user."""
    folder = data.parent / "archive"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    return folder


@pytest.fixture
def server(data: Path, archive: Path) -> Iterator[Postgres]:
    """The event store's server, which archives its WAL."""
    archiving = f"test ! -f {archive}/%f && cp %p {archive}/%f"
    with postgres(data, "archive_mode=on", f"archive_command='{archiving}'") as server:
        yield server


@pytest.fixture
def model_url(databases: Databases) -> Iterator[str]:
    """A read model on another server."""
    with databases.new(empty=True) as url:
        yield url


@pytest.fixture
async def commands(server: Postgres, model_url: str, tmp_path: Path) -> Commands:
    """Commands on a new event store and the read model."""
    server.run("createdb", "store")
    commands = Commands(server.url("store"), model_url, tmp_path)
    await commands.run("migrate")
    return commands


@contextmanager
def projector(store_url: str, model_url: str, log: Path) -> Iterator[None]:
    urls = {"CONTENTLOG_EVENT_STORE_URL": store_url, "CONTENTLOG_READ_MODEL_URL": model_url}
    with log.open("ab") as lines:
        process = subprocess.Popen(
            contentlog("projector"), env={**os.environ, **urls}, stdout=lines, stderr=lines
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


async def execute_commands(store_url: str, seed: int, steps: int) -> None:
    async with open_recorder(store_url) as recorder:
        await RandomCommands(Repository(recorder, EventMapper()), seed).execute(steps)


async def add_entries(store_url: str, *slugs: str) -> None:
    """Adds entries in a separate workspace, which is created with the first entry."""
    async with open_recorder(store_url) as recorder:
        builder = ContentBuilder(
            Repository(recorder, EventMapper()), Scope("accident", "production")
        )
        if slugs[0] == "first":
            await builder.magazine()
        for slug in slugs:
            await builder.entry(slug)


async def change(server: Postgres, statements: str) -> None:
    async with connected(server.url("store")) as connection:
        await connection.execute(statements)


async def test_a_dump_of_the_log_restores_everything(
    server: Postgres,
    commands: Commands,
    model_url: str,
    archive: Path,
    tmp_path: Path,
) -> None:
    """The dump is restored into a new database, with a new read model, by a server that does not
    have the owner's role: that of an embedded server, for example."""
    await execute_commands(server.url("store"), 31, 80)
    await project_all(server.url("store"), model_url)
    dumped, head = await dump(model_url), await head_of(server.url("store"))

    file = str(archive / "log.dump")
    await change(server, "CREATE ROLE its_owner; ALTER SCHEMA write_side OWNER TO its_owner")
    server.run("pg_dump", "--format=custom", "--schema=write_side", f"--file={file}", "store")
    await change(server, "ALTER ROLE its_owner RENAME TO another")
    server.run("createdb", "restored")
    options = ("--exit-on-error", "--no-owner", "--no-acl")
    server.run("pg_restore", *options, "--dbname=restored", file)

    server.run("createdb", "new_model")
    restored, new_model = server.url("restored"), server.url("new_model")
    anew = Commands(restored, new_model, tmp_path)
    await anew.run("migrate")
    assert (await anew.run("rebuild", "--json")).result["position"] == head
    assert await dump(new_model) == dumped
    assert AGREE.items() <= (await anew.run("verify", "--json")).result.items()
    await add_entries(restored, "first")
    assert await head_of(restored) == head + 3


async def test_a_restore_to_an_earlier_point_halts_the_projector_until_a_rebuild(
    server: Postgres,
    commands: Commands,
    model_url: str,
    fresh_url: str,
    archive: Path,
    tmp_path: Path,
) -> None:
    """After the restore, positions are reused for events that differ from those the read model has
    projected."""
    store_url = server.url("store")
    await execute_commands(store_url, 32, 40)
    backup = archive / "base"
    server.run("pg_basebackup", "-D", str(backup), "--checkpoint=fast", "--wal-method=none")
    with projector(store_url, model_url, tmp_path / "projector.log"):
        await add_entries(store_url, "first", "kept")
        async with connected(store_url) as connection:
            moment = str(await connection.fetchval("SELECT clock_timestamp()"))
        kept = await head_of(store_url)
        await add_entries(store_url, "lost-1", "lost-2")
        await caught_up(store_url, model_url)

        await archived(store_url)
        await asyncio.to_thread(restore, server, backup, archive, moment)
        await until_recovered(store_url)
        assert await head_of(store_url) == kept
        await until_halted(model_url, f"at {kept + 2}, beyond the log's head {kept}")

        await add_entries(store_url, "new-1", "new-2", "new-3")
        await until_halted(model_url, "rebuild the read model")
        await until_halted(model_url, f"position {kept + 2} holds")
        assert await checkpoint_of(model_url) == kept + 2, "it touches nothing"
        assert "HALTED" in (await commands.run("status")).stdout
        refused = await commands.refused("verify")
        assert "the log was restored to an earlier point" in refused.stderr
        refused = await commands.refused("rebuild")
        assert "--accept-differences" in refused.stderr

        done = await commands.run("rebuild", "--accept-differences", "--json")
        assert done.result["position"] == kept + 3
        await add_entries(store_url, "newer")
        await caught_up(store_url, model_url)
        refused = await commands.refused("rollback")
        assert "is not of this log" in refused.stderr
        assert AGREE.items() <= (await commands.run("verify", "--json")).result.items()
    await rendered(model_url)
    await project_all(store_url, fresh_url)
    assert await dump(model_url) == await dump(fresh_url)


async def test_doctor_counts_the_segments_that_wait_to_be_archived(server: Postgres) -> None:
    async with connected(server.url()) as connection:
        await archived(server.url())
        assert (await read_facts(connection)).waiting_segments == 0
    # After a reload, the archiver might still archive one with the command before.
    server.configure("archive_command='false'")
    await asyncio.to_thread(server.restart)
    async with connected(server.url()) as connection:
        before = (await read_facts(connection)).waiting_segments
        assert before is not None
        for _ in range(3):
            await connection.execute("SELECT pg_logical_emit_message(true, 'a', 'b')")
            await connection.execute("SELECT pg_switch_wal()")
        facts = await read_facts(connection)
        assert (facts.waiting_segments, facts.archive_timeout) == (before + 3, 0)


async def archived(url: str) -> None:
    """Waits until all WAL so far is archived."""
    async with connected(url) as connection:
        last = await connection.fetchval("SELECT pg_walfile_name(pg_switch_wal())")

        async def is_archived() -> bool:
            return bool(await connection.fetchval(_ARCHIVED, last))

        await until(is_archived)


def restore(server: Postgres, backup: Path, archive: Path, moment: str) -> None:
    """Replaces the data folder with the base backup, and replays WAL up to ``moment``."""
    server.stop()
    server.folder.rename(server.folder.with_name("lost"))
    backup.rename(server.folder)
    server.configure(
        f"restore_command='cp {archive}/%f %p'",
        f"recovery_target_time='{moment}'",
        "recovery_target_action=promote",
    )
    (server.folder / "recovery.signal").touch()
    server.start()


async def until_recovered(url: str) -> None:
    async with connected(url) as connection:

        async def recovered() -> bool:
            return bool(await connection.fetchval(_RECOVERED))

        await until(recovered)
