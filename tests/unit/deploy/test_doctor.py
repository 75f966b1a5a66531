"""Each finding of `contentlog doctor`, from given facts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from deploy.databases import ReadModel
from deploy.doctor import installation
from deploy.doctor.installation import PoolerFacts, judge
from deploy.doctor.server import (
    API_CONNECTIONS,
    DIRECT_CONNECTIONS,
    Finding,
    ServerFacts,
    check_durability,
    check_server,
)
from deploy.environment import load_settings
from read_side import pool
from read_side.status import ProjectorStatus, ReadModelStatus
from write_side.store.recorder import open_recorder

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
GOOD = ServerFacts(
    version_number=150_004,
    version="15.4",
    role="content",
    database="content",
    is_superuser=False,
    encoding="UTF8",
    max_connections=100,
    reserved_connections=3,
    connections=20,
    connection_limit=None,
    max_locks_per_transaction=64,
    jit_of_role="off",
    fsync="on",
    full_page_writes="on",
    synchronous_commit="on",
    autovacuum="on",
    data_checksums="on",
    archive_mode="on",
    archive_timeout=60,
    last_archived=NOW,
    waiting_segments=0,
    last_failed=None,
    standbys=1,
    is_standby=False,
    now=NOW,
    local_time=NOW,
    reading=timedelta(milliseconds=2),
)


class Fault(NamedTuple):
    change: dict[str, Any]
    level: str
    text: str
    fix: str


FAULTS = [
    Fault({"version_number": 140_011, "version": "14.11"}, "problem", "14.11 is too old", "15"),
    Fault({"is_standby": True}, "problem", "is a standby", "name the primary"),
    Fault({"encoding": "LATIN1"}, "problem", "the encoding is LATIN1", "ENCODING 'UTF8'"),
    Fault({"is_superuser": True}, "warning", "'content' is a superuser", "Roles"),
    Fault({"max_connections": 30}, "warning", "20 of 27", "SET max_connections = 200;"),
    Fault({"connections": 95}, "warning", "95 of 97", "PgBouncer"),
    Fault({"connection_limit": 20}, "warning", "may have 20 connections", "CONNECTION LIMIT"),
    Fault({"max_locks_per_transaction": 10}, "warning", "is 10", "max_locks_per_transaction = 64;"),
    Fault({"jit_of_role": "on"}, "warning", "jit is on", "contentlog migrate"),
    Fault({"now": NOW + timedelta(seconds=90)}, "warning", "by +90.0 s", "NTP"),
    Fault({"now": NOW - timedelta(seconds=5)}, "warning", "by -5.0 s", "NTP"),
    Fault({"autovacuum": "off"}, "problem", "autovacuum is off", "SET autovacuum = on;"),
    Fault({"fsync": "off"}, "problem", "fsync is off", "SET fsync = on;"),
    Fault({"full_page_writes": "off"}, "problem", "power failure", "SET full_page_writes = on;"),
    Fault({"synchronous_commit": "off"}, "problem", "acknowledged", "synchronous_commit = on;"),
    Fault({"data_checksums": "off"}, "warning", "checksums are off", "pg_checksums --enable"),
    Fault({"standbys": 0}, "warning", "no standby", "synchronous standby"),
    Fault({"archive_mode": "off"}, "warning", "not archived", "archive_command"),
    Fault({"last_failed": NOW + timedelta(1)}, "problem", "since 2026-02-01 09:30", "log"),
    Fault({"last_archived": None, "last_failed": NOW}, "problem", "has been failing since", "log"),
    Fault({"last_archived": None}, "warning", "has been archived yet", "pgbackrest check"),
    Fault({"waiting_segments": 17}, "problem", "17 segments", "archive_command"),
    Fault(
        {"waiting_segments": 1, "last_archived": NOW - timedelta(minutes=16)},
        "problem",
        "1 segment of the write-ahead log is waiting to be archived; the last one was archived at "
        "2026-01-31 09:14",
        "archive_command",
    ),
    Fault({"archive_timeout": 0}, "warning", "archive_timeout is 0", "archive_timeout = '60s';"),
]


def findings(facts: ServerFacts) -> list[Finding]:
    return [*check_server("store", facts, 1), *check_durability("store", facts)]


def faults(found: list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.level != "ok"]


def test_a_good_server_has_no_faults() -> None:
    assert faults(findings(GOOD)) == []
    assert len(findings(GOOD)) > 10


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.text)
def test_each_fault_of_a_server_is_found_alone_with_its_fix(fault: Fault) -> None:
    [found] = faults(findings(replace(GOOD, **fault.change)))
    assert (found.level, found.subject) == (fault.level, "store")
    assert fault.text in found.text
    assert fault.fix in found.fix


def test_the_embedded_server_needs_no_archive_and_no_standby() -> None:
    bare = replace(GOOD, archive_mode="off", standbys=0)
    assert faults(list(check_durability("store", bare, is_embedded=True))) == []


def test_an_archive_without_anything_new_to_take_is_good() -> None:
    quiet = replace(GOOD, last_archived=NOW - timedelta(days=3))
    busy = replace(GOOD, waiting_segments=5)
    after_a_restore = replace(GOOD, waiting_segments=None)
    assert [faults(findings(one)) for one in (quiet, busy, after_a_restore)] == [[], [], []]


def test_a_slow_answer_is_not_taken_for_a_wrong_clock() -> None:
    slow = replace(GOOD, now=NOW + timedelta(seconds=5), reading=timedelta(seconds=6))
    assert faults(findings(slow)) == []


def test_all_connections_of_an_api_process_are_counted() -> None:
    recorder = signature(open_recorder).parameters["connections"].default
    appenders, rate_limits = 2, 1
    assert recorder + appenders + pool.SIZE + rate_limits + DIRECT_CONNECTIONS == API_CONNECTIONS


def test_more_workers_need_more_connections() -> None:
    assert faults(list(check_server("store", GOOD, 1))) == []
    [found] = faults(list(check_server("store", GOOD, 4)))
    assert "4 API processes and two projectors need up to 110" in found.text


def test_behind_a_pooler_workers_need_few_connections() -> None:
    [*found] = check_server("store", GOOD, 30, pooled=True)
    assert faults(found) == []
    assert any("needs up to 70" in one.text for one in found)


POOLED = PoolerFacts(
    database="content", role="content", started=NOW, jit="off", process=7, announced=7_000
)


def judged(**change: Any) -> Finding:
    direct = replace(POOLED, announced=POOLED.process)
    return judge("store", "CONTENTLOG_X_POOL_URL", direct, replace(POOLED, **change))


def test_a_good_pooler_has_no_faults() -> None:
    assert judged().level == "ok"


@pytest.mark.parametrize(
    ("change", "level", "text", "fix"),
    [
        ({"database": "other"}, "problem", "another database ('other')", "front of 'content'"),
        ({"started": NOW + timedelta(1)}, "problem", "another database", "CONTENTLOG_X_POOL_URL"),
        ({"role": "owner"}, "problem", "use role 'owner'", "'content' in CONTENTLOG_X_POOL_URL"),
        ({"announced": 7}, "warning", "no pooler responds", "unset CONTENTLOG_X_POOL_URL"),
        ({"jit": "on"}, "warning", "jit is on behind", "contentlog migrate"),
    ],
)
def test_each_fault_of_a_pooler_is_found(
    change: dict[str, Any], level: str, text: str, fix: str
) -> None:
    found = judged(**change)
    assert found.level == level
    assert text in found.text
    assert fix in found.fix


def settings_findings(**environment: str) -> list[Finding]:
    return list(installation.check_settings(load_settings(environment), environment))


def test_default_settings_have_no_faults() -> None:
    assert settings_findings() == []


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("CONTENTLOG_PROT", "1", "did you mean 'CONTENTLOG_PORT'"),
        ("CONTENTLOG_HOST", "0.0.0.0", "trusts no proxy"),  # noqa: S104
        ("CONTENTLOG_KEY_RATE_LIMIT", "0", "KEY_RATE_LIMIT is 0"),
        ("CONTENTLOG_IP_RATE_LIMIT", "0", "IP_RATE_LIMIT is 0"),
        ("CONTENTLOG_COST_LIMIT", "0", "COST_LIMIT is 0"),
        ("CONTENTLOG_EVENT_STORE_URL", "postgresql://h/d", "CONTENTLOG_OWNER_URL is not set"),
    ],
)
def test_each_fault_of_the_settings_is_found_alone(name: str, value: str, text: str) -> None:
    [found] = settings_findings(**{name: value})
    assert found.level == "warning"
    assert text in found.text
    assert found.fix


def test_a_disk_is_found_by_a_folder_that_does_not_exist_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "later" / "data"
    usage = type("Usage", (), {"total": 10**12, "free": 10**12})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage if path == tmp_path else None)
    assert installation.check_disk(folder).level == "ok"
    usage.free = 10**9  # type: ignore[attr-defined]
    found = installation.check_disk(folder)
    assert (found.level, "0.9 GiB free" in found.text) == ("warning", True)


def test_too_few_open_files_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 1024))
    found = next(iter(installation.check_machine(load_settings({}))))
    assert (found.level, "1024 files" in found.text) == ("warning", True)


def status(*projectors: ProjectorStatus) -> ReadModelStatus:
    return ReadModelStatus(10, 1, NOW, list(projectors))


ACTIVE = ProjectorStatus("a", "active", 0.1, None)
STANDBY = ProjectorStatus("b", "standby", 0.1, None)


@pytest.mark.parametrize(
    ("found", "level", "text"),
    [
        (status(), "problem", "none is active"),
        (status(STANDBY), "problem", "none is active"),
        (status(ACTIVE), "warning", "there is no standby"),
        (status(replace(ACTIVE, halted="gap"), STANDBY), "problem", "has halted: gap"),
    ],
)
def test_each_fault_of_the_projectors_is_found_alone(
    found: ReadModelStatus, level: str, text: str
) -> None:
    [fault] = faults(list(installation.check_projectors(found, 0)))
    assert fault.level == level
    assert text in fault.text


def test_the_fix_for_a_named_read_model_has_its_name() -> None:
    [fault] = faults(list(installation.check_projectors(status(), 0, ReadModel("eu").option)))
    assert fault.fix == "contentlog projector --read-model eu"


def test_two_projectors_without_lag_have_no_faults() -> None:
    assert faults(list(installation.check_projectors(status(ACTIVE, STANDBY), 0))) == []


@pytest.mark.parametrize(
    ("lag", "level", "text"),
    [(0, "ok", "0 events"), (1, "ok", "1 event"), (5_010, "warning", "5,010 events")],
)
def test_the_lag_is_shown_in_events(lag: int, level: str, text: str) -> None:
    *_, found = installation.check_projectors(status(ACTIVE, STANDBY), lag)
    assert found.level == level
    assert f"{text} behind" in found.text


def test_the_embedded_server_is_a_warning_and_a_server_of_its_own_is_not() -> None:
    embedded = installation.embedded(load_settings({}))
    assert embedded.level == "warning"
    # A copy of the data folder of a running server is not a backup.
    assert "operations.md, Back up and restore" in embedded.fix
    own = load_settings({"CONTENTLOG_EVENT_STORE_URL": "postgresql://h/d"})
    assert installation.embedded(own).level == "ok"
