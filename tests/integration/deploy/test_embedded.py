"""The embedded PostgreSQL: starts, stops, crashes, and reasons why it does not start."""

import asyncio
import errno
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import asyncpg
import psycopg
import pytest

from deploy.embedded import postmaster, server
from deploy.embedded.errors import EmbeddedPostgresError, failed
from deploy.embedded.files import take, write
from deploy.embedded.programs import by_name
from deploy.embedded.server import use
from tests.cluster import use_cluster
from tests.databases import Databases
from tests.integration.deploy.processes import (
    IS_ROOT,
    ask,
    has_proc,
    inspect_running,
    kill_all_in,
    leave,
    needs_root,
    paused,
    running_in,
    send,
    started_at,
    until,
    url_of,
    user,
)

# If root runs the tests, everything must also work as another user.
OTHER_USERS = [pytest.param(("nobody",), id="nobody", marks=pytest.mark.slow)] if IS_ROOT else []
as_each_user = pytest.mark.parametrize("name", [pytest.param((), id="self"), *OTHER_USERS])

pytestmark = has_proc


def home_for(data: Path, name: tuple[str, ...]) -> None:
    """Create the data folder, owned by this user."""
    data.mkdir()
    if name:
        os.chown(data, by_name(*name).uid, -1)


async def ask_with_asyncpg(url: str, question: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(question)
    finally:
        await connection.close()


def test_first_use_creates_a_database_that_both_drivers_reach(data: Path) -> None:
    who = "SELECT current_database() || ' ' || session_user"
    with use(data) as url:
        assert ask(url, who) == "contentlog contentlog"
        assert asyncio.run(ask_with_asyncpg(url, who)) == "contentlog contentlog"


@pytest.mark.slow
def test_cluster_is_utf8_and_sorts_the_same_on_every_machine(data: Path) -> None:
    question = """SELECT concat_ws(' ', pg_encoding_to_char(encoding), datlocprovider, datlocale)
        FROM pg_database WHERE datname = 'contentlog'"""
    with use(data, durable=False) as url:
        assert ask(url, question) == "UTF8 b C.UTF-8"


@pytest.mark.slow
def test_a_server_is_durable_by_default(data: Path) -> None:
    settings = "SELECT concat_ws(' ', {}, {}, {})".format(
        *(f"current_setting('{name}')" for name in ("fsync", "full_page_writes", "max_connections"))
    )
    with use(data) as url:
        assert ask(url, settings) == "on on 200"
    with use(data, durable=False, settings={"max_connections": "120"}) as url:
        assert ask(url, settings) == "off off 120"


@pytest.mark.slow
@as_each_user
def test_the_last_user_stops_the_server(data: Path, name: tuple[str, ...]) -> None:
    home_for(data, name)
    with user(data, *name) as first, user(data, *name) as second:
        assert url_of(first) == url_of(second)
        began = running_in(data)
        leave(first)
        assert set(running_in(data)) & set(began)
        leave(second)
        assert running_in(data) == []


@pytest.mark.slow
def test_written_data_exists_at_the_next_start(data: Path) -> None:
    with use(data, durable=False) as url:
        ask(url, "CREATE SCHEMA kept; CREATE TABLE kept.kept AS SELECT 7 AS number")
    with use(data, durable=False) as url:
        assert ask(url, "SELECT number FROM kept.kept") == "7"


@pytest.mark.slow
@as_each_user
def test_two_at_once_on_one_new_folder_share_one_server(data: Path, name: tuple[str, ...]) -> None:
    home_for(data, name)
    with user(data, *name) as first, user(data, *name) as second:
        assert url_of(first) == url_of(second)
        assert inspect_running(data, is_postmaster).count(True) == 1
        leave(first)
        leave(second)


def is_postmaster(process: Path) -> bool:
    """Whether this folder of /proc belongs to the postmaster."""
    leads_its_group = os.getpgid(int(process.name)) == int(process.name)
    return leads_its_group and "\0-c\0" in (process / "cmdline").read_text()


@pytest.mark.slow
def test_many_users_may_come_and_go(data: Path) -> None:
    with use(data, durable=False):
        pass
    for _ in range(4):
        with user(data) as first, user(data) as second, user(data) as third:
            leave(first)
            leave(third)
            leave(second)
    assert running_in(data) == []


@pytest.mark.slow
@as_each_user
def test_a_killed_users_server_serves_the_next_one(data: Path, name: tuple[str, ...]) -> None:
    home_for(data, name)
    with user(data, *name) as killed:
        url_of(killed)
        killed.kill()
        killed.wait()
    left = running_in(data)
    assert left
    with user(data, *name) as following:
        url_of(following)
        assert set(left) <= set(running_in(data))
        leave(following)


@pytest.mark.slow
def test_an_interrupted_user_releases_the_server(data: Path) -> None:
    with user(data) as interrupted:
        url_of(interrupted)
        interrupted.send_signal(signal.SIGINT)
        assert interrupted.wait(30) == 1
    assert running_in(data) == []


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_keeps_the_server_for_its_other_users(data: Path) -> None:
    with user(data) as starter:
        before = started_at(url_of(starter))
        with user(data) as other:
            url = url_of(other)
            os.killpg(starter.pid, signal.SIGINT)  # as a terminal does
            assert starter.wait(30) == 1
            assert started_at(url) == before
            leave(other)


@contextmanager
def innocent(pid_file: Path) -> Iterator[None]:
    """Put the id of an unrelated process into the pid file of a server that was killed while it
    stopped; the process must survive.

    It runs as the server's user, so PostgreSQL and pg_ctl would take it for the server.
    """
    owner = pid_file.stat().st_uid
    process = subprocess.Popen(["/bin/sleep", "600"], user=owner if IS_ROOT else None)
    try:
        _, *lines, _ = pid_file.read_text().splitlines()
        pid_file.write_text("\n".join([str(process.pid), *lines, "stopping"]) + "\n")
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_stale_pid_file_does_not_affect_an_unrelated_process(data: Path) -> None:
    with user(data) as killed:
        ask(url_of(killed), "CREATE SCHEMA kept; CREATE TABLE kept.kept AS SELECT 7 AS number")
        killed.kill()
        killed.wait()
    kill_all_in(data)
    with innocent(data / "postgres" / "postmaster.pid"), use(data, durable=False) as url:
        assert ask(url, "SELECT number FROM kept.kept") == "7"


@pytest.mark.slow
def test_stopping_a_dead_server_signals_no_process(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postmaster, "STOP_TIMEOUT", 0.1)
    using = use(data, durable=False)
    using.__enter__()
    kill_all_in(data)
    with innocent(data / "postgres" / "postmaster.pid"):
        left_over = take(data / "server.lock")  # as a process left by the dead server would hold it
        assert left_over is not None
        monkeypatch.setattr(postmaster, "START_TIMEOUT", 3)
        began = time.monotonic()
        with pytest.raises(EmbeddedPostgresError, match="did not stop"):
            using.__exit__(None, None, None)
        assert time.monotonic() - began < 2
        os.close(left_over)


@pytest.mark.slow
def test_a_server_that_hangs_is_not_waited_for_as_long_as_one_that_stops(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postmaster, "STOP_TIMEOUT", 0.1)
    using = use(data, durable=False)
    using.__enter__()
    frozen = paused(data / "postgres")
    try:
        with pytest.raises(EmbeddedPostgresError, match="did not stop"):
            using.__exit__(None, None, None)
    finally:
        for pid in frozen:
            send(pid, signal.SIGCONT)
    until(lambda: not running_in(data))


@pytest.mark.slow
def test_a_server_with_a_process_that_hangs_is_stopped_without_loss(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postmaster, "FAST_STOP_TIMEOUT", 0.1)
    with use(data) as url:
        hanging = psycopg.connect(url, autocommit=True)
        hanging.execute("CREATE SCHEMA kept; CREATE TABLE kept.kept AS SELECT 7 AS number")
        send(hanging.info.backend_pid, signal.SIGSTOP)
    hanging.close()
    with use(data) as url:
        assert ask(url, "SELECT number FROM kept.kept") == "7"


@pytest.mark.slow
def test_a_server_that_lost_its_socket_is_started_again(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postmaster, "SOCKET_TIMEOUT", 0.1)
    with user(data) as other:
        before = started_at(url_of(other))
        for socket in (data / "sockets").iterdir():
            socket.unlink()
        with use(data, durable=False) as url:
            assert started_at(url) != before
        leave(other)


@pytest.mark.slow
def test_a_server_that_responds_too_slowly_keeps_running(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postmaster, "SOCKET_TIMEOUT", 0.1)
    monkeypatch.setattr(postmaster, "START_TIMEOUT", 10)
    with user(data) as other:
        before = started_at(url := url_of(other))
        frozen = paused(data / "postgres")
        try:
            with use(data, durable=False):
                pass
        finally:
            for pid in frozen:
                send(pid, signal.SIGCONT)
        assert started_at(url) == before
        leave(other)


@pytest.mark.slow
def test_a_data_folder_that_is_moved_while_it_is_used_is_not_created_again(data: Path) -> None:
    using = use(data, durable=False)
    using.__enter__()
    moved = data.rename(data.with_name("moved"))
    try:
        assert server.main(data).startswith(f"there is no database in {data}: ")
        with pytest.raises(EmbeddedPostgresError, match=r"cannot be used: .* No such file"):
            using.__exit__(None, None, None)
        assert not data.exists()
    finally:
        kill_all_in(moved)


def until_initdb_runs(data: Path) -> None:
    """Waits until initdb runs, or has ended: on a busy machine, this may look too late."""
    until(lambda: list(data.glob("initdb-*/PG_VERSION")) or (data / "postgres").exists())


@pytest.mark.slow
def test_a_killed_initdb_leaves_nothing_that_matters(data: Path) -> None:
    while not list(data.glob("initdb-*")):
        shutil.rmtree(data, ignore_errors=True)
        with user(data) as killed:
            until_initdb_runs(data)
            killed.kill()
            killed.wait()
            kill_all_in(data)
    with use(data, durable=False) as url:
        assert ask(url, "SELECT 1") == "1"
        assert list(data.glob("initdb-*")) == []


@pytest.mark.slow
def test_an_initdb_whose_user_was_killed_is_waited_for(data: Path) -> None:
    with user(data) as killed:
        until_initdb_runs(data)
        orphans = paused(data)
        killed.kill()
        killed.wait()
    assert take(data / "server.lock") is None
    for pid in orphans:
        send(pid, signal.SIGCONT)
    with use(data, durable=False) as url:
        assert ask(url, "SELECT 1") == "1"
        assert list(data.glob("initdb-*")) == []


@pytest.mark.slow
def test_a_cluster_of_another_major_version_is_refused_with_what_to_do(data: Path) -> None:
    with use(data, durable=False):
        pass
    (data / "postgres" / "PG_VERSION").write_text("17\n")
    refusal = r"PostgreSQL 17 and this is PostgreSQL 18: dump .* or set CONTENTLOG_EVENT_STORE_URL"
    with pytest.raises(EmbeddedPostgresError, match=refusal), use(data, durable=False):
        pass
    (data / "postgres" / "PG_VERSION").write_text("18\n")
    with use(data, durable=False):
        pass


@pytest.mark.parametrize("version", [None, ""])
def test_an_incomplete_copy_of_a_cluster_is_refused_with_what_to_do(
    data: Path, version: str | None
) -> None:
    (data / "postgres").mkdir(parents=True)
    if version is not None:
        (data / "postgres" / "PG_VERSION").write_text(version)
    refusal = "postgres is not a complete PostgreSQL cluster: restore it from a backup, or move "
    with pytest.raises(EmbeddedPostgresError, match=refusal), use(data):
        pass


def test_a_postgresql_folder_itself_is_refused(data: Path) -> None:
    data.mkdir()
    (data / "PG_VERSION").write_text("18\n")
    with (
        pytest.raises(EmbeddedPostgresError, match="is itself a PostgreSQL data folder"),
        use(data),
    ):
        pass


@pytest.mark.slow
def test_a_setting_that_postgresql_refuses_is_reported_in_one_line(data: Path) -> None:
    wrong = {"max_connections": "many"}
    with pytest.raises(EmbeddedPostgresError) as refused, use(data, settings=wrong):
        pass
    assert re.fullmatch(r"PostgreSQL did not start: .*max_connections.*log", str(refused.value))


def test_a_file_in_the_place_of_the_folder_is_refused(data: Path) -> None:
    data.write_text("")
    with pytest.raises(EmbeddedPostgresError, match=r"cannot be used: .*File exists"), use(data):
        pass
    data.unlink()


@needs_root
def test_a_folder_that_cannot_be_written_is_refused(data: Path) -> None:
    data.mkdir()
    with user(data, "nobody") as refused:
        _, complained = refused.communicate()
    expected = rf"refused: the data folder {data} cannot be used: .*Permission denied; make it .*"
    assert re.fullmatch(expected, complained.strip())


@pytest.fixture
def small_disk(data: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A data folder on a disk of the size that the test requests, in megabytes."""
    data.mkdir()
    size = f"size={request.param}m,mode=755"
    mount = ["mount", "-t", "tmpfs", "-o", size, "contentlog-test", str(data)]
    if not IS_ROOT or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small disk takes root, and the right to mount")
    yield data
    subprocess.run(["umount", str(data)], check=True)


@pytest.mark.parametrize("small_disk", [16], indirect=True)
def test_a_disk_too_small_for_the_cluster_is_named(small_disk: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match=r"disk .* is full .* set CONTENTLOG_DATA"):
        use(small_disk).__enter__()
    assert list(small_disk.glob("initdb-*")) == []


@pytest.mark.slow
@pytest.mark.parametrize("small_disk", [120], indirect=True)
def test_a_disk_that_is_full_at_the_start_is_named(small_disk: Path) -> None:
    with use(small_disk, durable=False):
        pass
    with (small_disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(4096))
    with pytest.raises(EmbeddedPostgresError, match=r"disk .* is full"), use(small_disk):
        pass
    (small_disk / "ballast").unlink()
    with use(small_disk) as url:
        assert ask(url, "SELECT 1") == "1"


def test_a_file_that_cannot_be_written_leaves_the_old_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disk_full(_opened: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "pg_hba.conf").write_text("old")
    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "pg_hba.conf", "new")
    [left] = tmp_path.iterdir()
    assert left.read_text() == "old"


def test_ctrl_c_right_after_a_file_is_written_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(draft: Path, path: Path) -> None:
        draft.rename(path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "pg_hba.conf", "new")


def test_a_full_disk_is_recognized_by_postgresqls_message() -> None:
    error_output = "FATAL:  could not write lock file: No space left on device"
    assert "disk that holds /x is full" in str(failed("It did not start", error_output, Path("/x")))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("it's, a $HOME «folder» %41", id="odd"),
        pytest.param("deep/" + "far/" * 30, id="deep", marks=pytest.mark.slow),
        pytest.param("x" * 120, id="long", marks=pytest.mark.slow),
    ],
)
def test_any_path_works(data: Path, name: str) -> None:
    with use(data / name, durable=False) as url:
        assert ask(url, "SELECT 1") == "1"
        assert asyncio.run(ask_with_asyncpg(url, "SELECT 1")) == 1
        note = data / name / "sockets-are-in"
        short = Path(note.read_text().strip())
        assert oct(short.stat().st_mode) == "0o40700"
    assert not short.exists()
    assert not note.exists()


@pytest.mark.slow
def test_one_cluster_serves_a_whole_run_and_is_removed_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONTENTLOG_TEST_DATABASE_URL", raising=False)
    with use_cluster(tmp_path) as one:
        with use_cluster(tmp_path) as other:
            assert one == other
        assert ask(one, "SHOW max_connections") == "300"
    assert [path.name for path in tmp_path.iterdir()] == ["cluster.lock"]


@pytest.mark.slow
def test_a_worker_that_comes_after_the_others_have_ended_makes_its_databases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONTENTLOG_TEST_DATABASE_URL", raising=False)
    for _ in range(2):
        with (
            use_cluster(tmp_path) as cluster,
            closing(Databases(cluster, tmp_path)) as databases,
            databases.new() as url,
        ):
            assert ask(url, "SELECT count(*) FROM write_side.event") == "0"


def test_an_external_server_is_used_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTENTLOG_TEST_DATABASE_URL", "postgresql://outside/x")
    with use_cluster(tmp_path) as url:
        assert url == "postgresql://outside/x"
    assert list(tmp_path.iterdir()) == []
