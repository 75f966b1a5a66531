"""The user that runs the embedded PostgreSQL, the files that it needs, and who may connect."""

import os
import pwd
import re
import shutil
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from deploy.embedded import files, programs
from deploy.embedded.errors import EmbeddedPostgresError
from deploy.embedded.programs import Account, by_name, current_account, for_server
from deploy.embedded.server import use
from tests.integration.deploy.processes import (
    ask,
    has_proc,
    inspect_running,
    leave,
    needs_root,
    url_of,
    user,
)

pytestmark = [pytest.mark.slow, needs_root, has_proc]

SERVER = for_server(None) if os.geteuid() == 0 else current_account()
NOBODY = by_name("nobody")
STRANGER = next(
    other for other in pwd.getpwall() if other.pw_uid not in {0, SERVER.uid, NOBODY.uid}
)


def home_of(data: Path) -> Path:
    return Path((data / "postgres-is-at").read_text().strip())


def modes(folder: Path) -> list[int]:
    return [parent.stat().st_mode for parent in (folder, *folder.parents)]


def test_root_runs_the_server_as_a_separate_user(data: Path) -> None:
    with use(data, durable=False):
        owners = set(inspect_running(data, lambda process: process.stat().st_uid))
    assert owners == {SERVER.uid}
    assert SERVER.name == "contentlog-postgres"
    assert {path.stat().st_uid for path in (data / "postgres").iterdir()} <= {SERVER.uid, 0}
    assert stat.S_IMODE((data / "postgres").stat().st_mode) == 0o700


@pytest.fixture
def more_groups() -> Iterator[None]:
    """Make root a member of a second group, as after a login."""
    before = os.getgroups()
    os.setgroups([0, STRANGER.pw_gid])
    yield
    os.setgroups(before)


@pytest.mark.usefixtures("more_groups")
def test_the_server_keeps_no_group_of_root(data: Path) -> None:
    with use(data, durable=False):
        status = inspect_running(data, lambda process: (process / "status").read_text())[0]
    assert re.search(rf"^Gid:(\t{SERVER.gid}){{4}}$", status, re.MULTILINE)
    assert re.search(r"^Groups:\s*$", status, re.MULTILINE)


def test_a_machine_without_the_servers_user_is_refused(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "SERVER_USER", "martian")
    monkeypatch.setattr(programs, "ATTEMPTS", 1)
    monkeypatch.setattr(programs, "ADD_USER", ("false",))
    with pytest.raises(EmbeddedPostgresError, match="'martian' could not be added"), use(data):
        pass


def test_root_uses_the_cluster_of_another_user_as_that_user(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "SERVER_USER", STRANGER.pw_name)
    data.mkdir()
    os.chown(data, NOBODY.uid, NOBODY.gid)
    with user(data, "nobody") as first:
        url_of(first)
        leave(first)
    with use(data, durable=False) as url, user(data, "nobody") as second:
        assert url_of(second) == url
        leave(second)
    with user(data, "nobody") as third:
        url_of(third)
        leave(third)


def connect_as(account: Account, data: Path, sockets: Path) -> str:
    """What psql prints for this user."""
    psql = programs.Programs(programs.installed(), account).command("psql")
    where = ["-h", str(sockets), "-U", "contentlog", "-d", "contentlog"]
    return account.run([*psql, *where, "-Atc", "SELECT 'in'"]).stdout


def test_other_users_of_the_machine_are_refused(data: Path) -> None:
    stranger = Account(STRANGER.pw_name, STRANGER.pw_uid, STRANGER.pw_gid)
    with use(data, durable=False):
        assert connect_as(current_account(), data, data / "sockets") == "in\n"
        assert "Permission denied" in connect_as(stranger, data, data / "sockets")
        assert "Peer authentication failed" in connect_as(SERVER, data, data / "sockets")


def test_there_is_no_tcp_port(data: Path) -> None:
    with use(data, durable=False) as url:
        assert ask(url, "SHOW listen_addresses") == ""


@pytest.fixture
def private_data(private: Path, system_folders: tuple[Path, ...]) -> Path:
    assert not SERVER.can_enter(private.parent)
    return private


def test_a_private_data_folder_keeps_its_cluster_in_a_system_folder(
    private_data: Path, system_folders: tuple[Path, ...]
) -> None:
    private_data.mkdir()
    before = modes(private_data)
    with use(private_data, durable=False, system_folders=system_folders) as url:
        ask(url, "CREATE SCHEMA kept; CREATE TABLE kept.kept AS SELECT 7 AS number")
    assert home_of(private_data).parent == system_folders[0]
    assert stat.S_IMODE((home_of(private_data) / "postgres").stat().st_mode) == 0o700
    assert modes(private_data) == before
    with use(private_data, durable=False, system_folders=system_folders) as url:
        assert ask(url, "SELECT number FROM kept.kept") == "7"


def test_two_at_once_on_a_new_private_folder_share_one_cluster(
    private_data: Path, system_folders: tuple[Path, ...]
) -> None:
    ready, done = Barrier(3), Barrier(3)

    def one_use() -> str:
        ready.wait(120)
        with use(private_data, durable=False, system_folders=system_folders) as url:
            done.wait(120)
            return url

    with ThreadPoolExecutor(3) as threads:
        urls = [threads.submit(one_use) for _ in range(3)]
    assert len({url.result() for url in urls}) == 1
    assert len([path for path in system_folders[0].iterdir() if path.is_dir()]) == 1


def test_a_data_folder_finds_its_cluster_after_a_move(
    private_data: Path, system_folders: tuple[Path, ...]
) -> None:
    with use(private_data, durable=False, system_folders=system_folders) as url:
        ask(url, "CREATE SCHEMA kept; CREATE TABLE kept.kept AS SELECT 7 AS number")
    moved = private_data.rename(private_data.with_name("moved"))
    with use(moved, durable=False, system_folders=system_folders) as url:
        assert ask(url, "SELECT number FROM kept.kept") == "7"


def test_a_recreated_data_folder_starts_empty(
    private_data: Path, system_folders: tuple[Path, ...]
) -> None:
    with use(private_data, durable=False, system_folders=system_folders) as url:
        ask(url, "CREATE SCHEMA kept; CREATE TABLE kept.kept AS SELECT 7 AS number")
    shutil.rmtree(private_data)
    with use(private_data, durable=False, system_folders=system_folders) as url:
        assert ask(url, "SELECT to_regclass('kept') IS NULL") == "True"


def test_a_missing_cluster_is_reported(
    private_data: Path, system_folders: tuple[Path, ...]
) -> None:
    private_data.mkdir()
    (private_data / "postgres-is-at").write_text("/nowhere/at/all\n")
    gone = r"was in /nowhere/at/all, which no longer exists: .* remove .*postgres-is-at"
    with (
        pytest.raises(EmbeddedPostgresError, match=gone),
        use(private_data, system_folders=system_folders),
    ):
        pass


def test_a_private_installation_is_copied_for_the_server(
    data: Path, private: Path, system_folders: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    private.mkdir()
    for name in (programs.PACKAGE, programs.LIBRARIES):
        (private / name).symlink_to(programs.installed().parent / name)
    monkeypatch.setattr(programs, "installed", lambda: private / programs.PACKAGE)
    before = modes(private)
    for _ in range(2):
        with use(data, durable=False, system_folders=system_folders) as url:
            assert ask(url, "SELECT 1") == "1"
            programs_run = set(inspect_running(data, lambda process: (process / "exe").readlink()))
        assert len(programs_run) == 1
        assert programs_run.pop().is_relative_to(system_folders[0] / "programs-18.6.3")
    assert modes(private) == before
    assert not (system_folders[0] / "programs-18.6.3" / programs.PACKAGE / "__init__.py").exists()


def test_a_system_folder_that_others_can_write_is_skipped(open_folder: Path) -> None:
    strangers, writable, linked = (open_folder / name for name in ("strangers", "writable", "link"))
    strangers.mkdir()
    os.chown(strangers, STRANGER.pw_uid, -1)
    writable.mkdir()
    writable.chmod(0o777)
    (open_folder / "ours").mkdir()
    linked.symlink_to(open_folder / "ours")
    unsafe = (strangers, writable, linked)
    assert files.protected_folder((*unsafe, open_folder / "good")) == open_folder / "good"
    with pytest.raises(EmbeddedPostgresError, match="make root the owner of one of them"):
        files.protected_folder(unsafe)


def test_links_of_other_users_are_not_followed(data: Path, tmp_path: Path) -> None:
    data.mkdir()
    target = tmp_path / "target"
    target.write_text("untouched")
    for name in ("postgres.log", "pg_hba.conf"):
        (data / name).symlink_to(target)
    with pytest.raises(EmbeddedPostgresError, match=r"postgres\.log"), use(data, durable=False):
        pass
    assert target.read_text() == "untouched"
    (data / "postgres.log").unlink()
    with use(data, durable=False):
        pass
    assert target.read_text() == "untouched"
