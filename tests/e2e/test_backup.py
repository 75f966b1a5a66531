"""Backups with pgBackRest: an operator's restore drill, and `contentlog backup verify`.

The tests need Debian's pgbackrest and postgresql, and /proc.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.backup.cluster import ADMINISTRATOR
from deploy.supervisor import contentlog
from tests.trials import drill
from tests.trials.drill_servers import REQUIRED, ROLE, STANZA, Drill, check_possible, drill_servers
from tests.trials.ha_cluster import TrialImpossible
from tests.trials.service import MANIFEST, Installation

pytestmark = pytest.mark.slow

_REMOVE = """
SET session_replication_role = replica;
DELETE FROM write_side.event WHERE notification_id = 2"""
_DROP = f"DROP DATABASE {ROLE} WITH (FORCE)"
_FREE_SLUG = "SET session_replication_role = replica; DELETE FROM write_side.content_type_claim"


@pytest.fixture(autouse=True)
def needs_pgbackrest() -> None:
    try:
        check_possible()
    except TrialImpossible as missing:
        if REQUIRED:
            raise
        pytest.skip(str(missing))


async def test_only_what_was_to_be_expected_is_lost() -> None:
    lines: list[str] = []
    alone, with_receiver, to_moment = await drill.run(lines.append)
    assert alone.acknowledged >= 4 * drill.LOAD
    assert 0 < alone.lost < alone.acknowledged - 3 * drill.LOAD
    assert with_receiver.lost == 0
    assert drill.LOAD <= to_moment.lost < to_moment.acknowledged - 2 * drill.LOAD
    assert alone.events > to_moment.events


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Drill]:
    """Servers with a backed-up event store."""
    with drill_servers() as servers:
        store, model = servers.store, servers.model
        installation = Installation(store.url(ROLE, ROLE), store.url(ROLE), model.url(ROLE, ROLE))
        (tmp_path / "manifest.yaml").write_text(MANIFEST)
        installation.run("migrate")
        installation.run("apply", tmp_path / "manifest.yaml")
        servers.stanza.run("--type=full", "backup")
        yield servers


def verify(servers: Drill, data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    options = ("--config", str(servers.stanza.configuration), "--data", str(data), *arguments)
    return subprocess.run(
        contentlog("backup", "verify", *options), capture_output=True, text=True, timeout=300
    )


def execute(servers: Drill, statement: str) -> None:
    servers.store.run("psql", "-q", "-d", servers.store.url(ROLE), "-c", statement)


def archive(servers: Drill) -> set[Path]:
    """The files in the backup repository."""
    return {path for path in (servers.home / "repository").rglob("*") if path.is_file()}


def test_a_backup_is_proved_beside_its_server_and_then_removed(servers: Drill) -> None:
    aside = servers.folder("aside")
    execute(servers, "CREATE TABLE after_the_backup ()")
    execute(servers, "SELECT pg_switch_wal()")
    servers.stanza.run("check")
    queued = servers.home / "spool/archive" / STANZA / "out/000000010000000000000001.ok"
    queued.parent.mkdir(parents=True)
    queued.touch()
    before = archive(servers)
    pid = (servers.store.data / "postmaster.pid").read_text()

    done = verify(servers, aside)
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stdout.splitlines()
    assert first.startswith("backup 20")
    assert last.startswith("database 'content': 3 events without a gap, claims agree; the newest")
    result = json.loads(verify(servers, aside, "--json").stdout.splitlines()[-1])
    assert result.items() >= {"database": "content", "position": 3, "claims": 0}.items()
    assert 0 < result["ageSeconds"] < 600

    assert list(aside.iterdir()) == []
    assert archive(servers) == before, "the restored server has archived"
    assert (servers.store.data / "postmaster.pid").read_text() == pid
    assert queued.exists(), "the queue of the server is touched"
    execute(servers, "SELECT 1")

    refused = verify(servers, servers.store.data)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "is in the cluster" in refused.stderr


def test_a_backup_whose_log_or_claims_are_damaged_is_refused_in_one_line(servers: Drill) -> None:
    aside = servers.folder("aside")
    execute(servers, _FREE_SLUG)
    servers.stanza.run("--type=incr", "backup")
    refused = verify(servers, aside)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1), refused.stderr
    assert (
        "claims, usage or snapshots differ from the log of database 'content' in" in refused.stderr
    )

    refused = verify(servers, aside, "--role", "ann")
    assert refused.stderr == (
        "contentlog: the backup has no role 'ann': name its superuser with --role\n"
    )

    execute(servers, _REMOVE)
    servers.stanza.run("--type=incr", "backup")
    refused = verify(servers, aside)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1), refused.stderr
    assert "events are missing" in refused.stderr
    assert list(aside.iterdir()) == []

    servers.store.run("psql", "-q", "-d", servers.store.url(ADMINISTRATOR), "-c", _DROP)
    servers.stanza.run("--type=incr", "backup")
    refused = verify(servers, aside)
    assert "no database of the backup has an event store" in refused.stderr
