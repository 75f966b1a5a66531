"""`contentlog backup verify` without a backup: pgBackRest's output and the folder to restore
into."""

from __future__ import annotations

import shlex
from configparser import ConfigParser
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from deploy.backup import cluster
from deploy.backup.cluster import BackupError, program, programs_of
from deploy.backup.pgbackrest import Stanza, newest
from deploy.backup.verification import VerifiedStore, check_place, check_space
from deploy.cli import cli
from deploy.commands.backup import _age, _show
from deploy.embedded.errors import error_lines
from deploy.embedded.programs import Account, current_account
from deploy.failures import Failed
from projector.rebuild.operations import VerificationResult
from tests.trials import drill
from write_side.verification.claim_check import Difference

DEPLOY = Path(__file__).parents[3] / "deploy"
STOP = int(datetime(2026, 1, 31, 9, 30, tzinfo=UTC).timestamp())
NOBODY = Account("nobody", 65534, 65534)


def backup(label: str, stop: int, repository: int = 1, **other: Any) -> dict[str, Any]:
    return {
        "label": label,
        "type": "full",
        "timestamp": {"start": stop - 10, "stop": stop},
        "info": {"size": 30_000_000, "delta": 1, "repository": {"size": 5}},
        "database": {"id": 2, "repo-key": repository},
        "error": False,
        **other,
    }


def info(*backups: dict[str, Any], message: str = "ok") -> str:
    versions = [("1", 1, "14"), ("2", 1, "15"), ("2", 2, "15")]
    stanza = {
        "name": "contentlog",
        "backup": list(backups),
        "db": [
            {"id": int(number), "repo-key": key, "version": version, "system-id": 7}
            for number, key, version in versions
        ],
        "status": {"code": 0, "message": message},
    }
    return msgspec.json.encode([stanza]).decode()


def test_the_newest_backup_of_all_repositories_is_found() -> None:
    output = info(
        backup("20260130-093000F", STOP - 86_400),
        backup("20260130-093000F_20260131-092000D", STOP, repository=2),
        backup("20260131-080000F", STOP - 5_400),
    )
    found = newest("contentlog", output)
    assert (found.label, found.repository) == ("20260130-093000F_20260131-092000D", 2)
    assert (found.finished.timestamp(), found.size, found.version) == (STOP, 30_000_000, "15")


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (
            info(message="missing stanza path"),
            r"'contentlog' has no backup \(missing stanza path\)",
        ),
        (info(backup("F1", STOP - 9), backup("F2", STOP, error=True)), "F2 has pages with wrong"),
        ("[]", "cannot be read"),
        ("WARN: no", "cannot be read"),
        ('[{"backup": 1}]', "cannot be read"),
    ],
)
def test_a_stanza_without_a_good_backup_is_refused(output: str, text: str) -> None:
    with pytest.raises(BackupError, match=text):
        newest("contentlog", output)


def test_an_older_version_of_pgbackrest_that_does_not_count_errors_is_read() -> None:
    without = backup("F", STOP)
    del without["error"]
    assert newest("contentlog", info(without)).label == "F"


def test_the_restore_command_names_the_restored_folder_and_never_the_asynchronous_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    stanza = Stanza("site 1", tmp_path / "50% & more.conf", current_account())
    words = shlex.split(stanza.restore_command(Path("/aside/data")))
    assert words[:3] == [
        "/usr/bin/pgbackrest",
        f"--config={tmp_path}/50%% & more.conf",  # PostgreSQL reads %% as %
        "--stanza=site 1",
    ]
    assert {"--pg1-path=/aside/data", "--no-archive-async"} < set(words)
    assert words[-3:] == ["archive-get", "%f", "%p"]


def test_a_configuration_that_is_not_named_is_left_to_pgbackrest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    command = Stanza("contentlog", None, current_account()).command("info")
    assert command == ["/usr/bin/pgbackrest", "--stanza=contentlog", "info"]


def test_a_missing_program_is_named_with_its_package() -> None:
    with pytest.raises(BackupError, match=r"no-such-program is not installed .*apt-get"):
        program("no-such-program")


def test_the_programs_are_those_of_the_version_that_was_backed_up(tmp_path: Path) -> None:
    (tmp_path / "15/bin").mkdir(parents=True)
    (tmp_path / "17/bin").mkdir(parents=True)
    folders = (f"{tmp_path}/missing/{{}}", f"{tmp_path}/{{}}/bin")
    assert programs_of("15", folders) == tmp_path / "15/bin"
    with pytest.raises(BackupError, match=f"PostgreSQL 16 are not in .* or {tmp_path}/16/bin"):
        programs_of("16", folders)


def test_root_needs_a_user_who_may_run_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Account:
        raise KeyError(name)

    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(cluster, "by_name", lambda _: NOBODY)
    assert cluster.account() == NOBODY
    monkeypatch.setattr(cluster, "by_name", missing)
    with pytest.raises(BackupError, match="there is no user 'postgres'"):
        cluster.account()


def test_only_options_of_pgbackrest_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGBACKREST_REPO1_S3_KEY", "k")
    monkeypatch.setenv("PGOPTIONS", "-c archive_mode=on")
    assert cluster.environment()["PGBACKREST_REPO1_S3_KEY"] == "k"
    assert "PGOPTIONS" not in cluster.environment()


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("", "no output"),
        ("WARN: x\nERROR: [055]: unable to open\n  HINT: y\n", "ERROR: [055]: unable to open"),
        ("LOG:  a\nFATAL:  could not\nLOG:  b\n", "FATAL:  could not"),
        ("just this\n", "just this"),
    ],
)
def test_the_first_error_of_an_output_is_shown(output: str, line: str) -> None:
    assert error_lines(output)[0] == line


def test_nothing_is_restored_into_a_cluster(tmp_path: Path) -> None:
    live = tmp_path / "main"
    (live / "base").mkdir(parents=True)
    (live / "PG_VERSION").write_text("15\n")
    (tmp_path / "link").symlink_to(live)
    check_place(tmp_path)
    for folder in (live, live / "base", tmp_path / "link"):
        with pytest.raises(BackupError, match=f"is in the cluster '{live}'"):
            check_place(folder)


def test_a_restore_needs_room_for_the_cluster_and_a_read_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 7 * 1024**3})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    check_space(tmp_path, 3 * 1024**3)
    with pytest.raises(BackupError, match=r"7\.0 GiB free, .* up to 7\.2 GiB: free some space"):
        check_space(tmp_path, int(3.1 * 1024**3))


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (timedelta(seconds=35), "35 s old"),
        (timedelta(minutes=5), "5 minutes old"),
        (timedelta(hours=3), "3 hours old"),
        (timedelta(days=9), "9 days old"),
    ],
)
def test_the_age_of_the_newest_event_is_shown(age: timedelta, text: str) -> None:
    at, verified = datetime(2026, 1, 31, tzinfo=UTC), VerificationResult(1, [], None, [])
    shown = _age(VerifiedStore("content", at, age.total_seconds(), verified))
    assert shown == f"of 2026-01-31 00:00:00 UTC, {text}"
    assert _age(VerifiedStore("content", None, None, verified)) == "none: the log is empty"


def test_damage_to_claims_is_counted_and_has_a_next_step() -> None:
    label = "20260131-093000F"
    found = newest("contentlog", info(backup(label, STOP)))
    damage = Difference("content_type_claim", "posts", "missing")
    verified = VerificationResult(1, [], None, [damage])
    with pytest.raises(Failed) as refused:
        _show(found, VerifiedStore("content", None, None, verified), as_json=True)
    assert str(refused.value) == (
        f"backup {label}: claims, usage or snapshots differ from the log of database 'content' "
        "in 1 row; after a restore, run `contentlog verify --repair`"
    )


def test_without_pgbackrest_the_command_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(cluster, "account", current_account)
    result = CliRunner().invoke(cli, ["backup", "verify"])
    assert (result.exit_code, result.stderr) == (
        1,
        "contentlog: pgbackrest is not installed (on Debian: apt-get install pgbackrest)\n",
    )


@pytest.mark.parametrize("option", ["--config", "--data"])
def test_a_file_or_folder_that_does_not_exist_is_wrong_usage(option: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["backup", "verify", option, str(tmp_path / "missing")])
    assert result.exit_code == 2
    assert "does not exist" in result.stderr


@pytest.mark.parametrize("option", [True, False], ids=["options", "settings"])
def test_stanza_configuration_and_folder_are_options_or_settings(
    option: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str | None, str]] = []
    monkeypatch.setattr(
        "deploy.commands.backup._verify",
        lambda settings, *_: seen.append(
            (settings.backup_stanza, settings.backup_config, settings.backup_data)
        ),
    )
    config = tmp_path / "conf"
    config.touch()
    arguments = ["--stanza", "site", "--config", str(config), "--data", str(tmp_path)]
    values = ("site", str(config), str(tmp_path))
    names = ("CONTENTLOG_BACKUP_STANZA", "CONTENTLOG_BACKUP_CONFIG", "CONTENTLOG_BACKUP_DATA")
    environment = {} if option else dict(zip(names, values, strict=True))
    result = CliRunner().invoke(
        cli, ["backup", "verify", *(arguments if option else [])], env=environment
    )
    assert (result.exit_code, seen) == (0, [values]), result.output


def test_the_configuration_encrypts_keeps_and_names_the_stanza_of_the_settings() -> None:
    conf = ConfigParser(interpolation=None)
    conf.read(DEPLOY / "backup/pgbackrest.conf")
    assert conf.sections() == ["global", "contentlog"]
    assert conf["global"]["repo1-cipher-type"] == "aes-256-cbc"
    assert int(conf["global"]["repo1-retention-full"]) > 1
    settings = (DEPLOY / "backup/postgresql.conf").read_text()
    assert "archive_command = 'pgbackrest --stanza=contentlog archive-push %p'" in settings


def test_the_table_of_the_drill_is_aligned() -> None:
    rows = drill.table([drill.Restored("archive alone", 1_009, 1_094, 88, "after it", 3.21)])
    assert rows == [
        "restored       events  acknowledged  kept   lost  which     seconds",
        "archive alone  1,009   1,094         1,006  88    after it  3.2",
    ]
