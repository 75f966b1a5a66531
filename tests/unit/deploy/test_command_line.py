"""The command line without a database: help, usage errors and expected failures."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import click
import pytest
from click.testing import CliRunner

from deploy.cli import COMMANDS, cli
from deploy.commands.dev import base_url, greeting
from deploy.commands.servers import check_port
from deploy.embedded.errors import EmbeddedPostgresError
from deploy.embedded.place import check_exists
from deploy.failures import Failed, explanation
from deploy.runner import operator
from deploy.settings import Settings
from read_side.refusals import ReadModelUnavailable
from write_side.postgres.connection import MIGRATE
from write_side.store.conflicts import StoreUnavailable


def _commands(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        yield (*path, name)
        if isinstance(found, click.Group):
            yield from _commands(found, *path, name)


@pytest.mark.parametrize("path", list(_commands(cli)), ids=" ".join)
def test_every_command_shows_an_example_and_plain_defaults(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*path, "--help"])
    assert result.exit_code == 0
    assert "Example:\n    " in result.output
    assert "[default: (" not in result.output
    assert f"contentlog {path[0]}" in result.output.partition("Example:")[2]


def test_help_lists_every_command() -> None:
    result = CliRunner().invoke(cli, ["--help"])
    assert all(f"\n  {name} " in result.output for name in COMMANDS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["conjure"],
        ["apply"],
        ["status", "--loudly"],
        ["api", "--port", "0"],
        ["key", "issue", "--workspace", "acme", "--name", "web"],
        ["key", "issue", "--workspace", "a", "--name", "b", "--permission", "content.all"],
        ["import", "x.csv", "--workspace", "acme", "--type", "t", "--environment", "test"],
    ],
)
def test_wrong_usage_is_status_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(cli, arguments).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["events", "--after", "abc"], "'abc' is not allowed; use a whole number from 0 to 92233"),
        (["api", "--port", "0"], "'0' is not allowed; use a whole number from 1 to 65535"),
        (["api", "--workers", "1.5"], "'1.5' is not allowed; use a whole number from 1 to 256"),
    ],
)
def test_a_number_is_refused_with_its_range(arguments: list[str], advice: str) -> None:
    result = CliRunner().invoke(cli, arguments)
    assert (result.exit_code, advice in result.stderr) == (2, True), result.stderr


def test_a_bad_setting_is_one_line_and_status_1() -> None:
    result = CliRunner().invoke(cli, ["settings"], env={"CONTENTLOG_PORT": "http"})
    assert result.exit_code == 1
    assert result.stderr == (
        "contentlog: CONTENTLOG_PORT takes a whole number from 1 to 65535, not 'http'\n"
    )


def test_settings_are_printed_with_their_values() -> None:
    url = "postgresql://ann:secret@db/content"
    env = {"CONTENTLOG_EVENT_STORE_URL": url, "CONTENTLOG_PROT": "1"}
    result = CliRunner().invoke(cli, ["settings"], env=env)
    assert "CONTENTLOG_EVENT_STORE_URL=postgresql://ann:…@db/content\n" in result.stdout
    assert "secret" not in result.output
    assert result.stderr == f"note: {PROT}\n"


PROT = "'CONTENTLOG_PROT' is set, but there is no such setting; did you mean 'CONTENTLOG_PORT'?"


@pytest.mark.parametrize("command", ["status", "api", "projector", "dev"])
def test_an_unknown_setting_causes_one_warning_at_the_start(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inherited: list[str | None] = []

    def started(*_: object, **__: object) -> None:
        inherited.append(os.environ.get("CONTENTLOG_PROT"))
        raise Failed("stop here")

    for module in (
        "deploy.runner",
        "deploy.commands.servers",
        "deploy.commands.dev",
    ):
        monkeypatch.setattr(f"{module}.open_databases", started)
    monkeypatch.setattr("deploy.commands.servers.check_port", lambda _: None)
    monkeypatch.setattr("deploy.commands.dev.check_port", lambda _: None)
    env = {"CONTENTLOG_PROT": "1", "CONTENTLOG_LOG_FORMAT": "text"}
    result = CliRunner().invoke(cli, [command], env=env)
    assert result.exit_code == 1
    assert result.stderr.count(PROT) == 1
    assert inherited == [None]  # child processes do not warn again


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["statsu"], "status"),
        (["key", "isue"], "issue"),
        (["status", "--jsno"], "--json"),
        (["import", "--dryrun"], "--dry-run"),
    ],
)
def test_a_mistyped_command_or_option_suggests_the_nearest(
    arguments: list[str], meant: str
) -> None:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert f"Did you mean {meant!r}" in result.stderr


def test_a_login_name_of_any_bytes_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", os.fsdecode(b"ann\xff"))
    assert operator().id == "ann?"


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["events"],
        ["key", "list", "--workspace", "acme"],
        ["apply", "deploy/demo/manifest.yaml"],
        ["import", "deploy/demo/topics.csv", "--workspace", "acme", "--type", "topics"],
        ["verify"],
        ["api"],
        ["projector"],
        ["webhooks"],
    ],
    ids=" ".join,
)
def test_only_migrate_and_dev_create_a_database(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.commands.servers.check_port", lambda _: None)
    monkeypatch.setattr("deploy.commands.servers.configure_logs", lambda _: None)
    data = tmp_path / "data"
    unset = {"CONTENTLOG_EVENT_STORE_URL": None, "CONTENTLOG_READ_MODEL_URL": None}
    result = CliRunner().invoke(cli, arguments, env={**unset, "CONTENTLOG_DATA": str(data)})
    assert result.exit_code == 1
    assert result.stderr == (
        f"contentlog: there is no database in {data}: create one with `contentlog dev` or "
        "`contentlog migrate`, or set CONTENTLOG_DATA to your data folder\n"
    )
    assert not data.exists()


def test_a_data_folder_that_is_a_loop_of_links_is_named(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(EmbeddedPostgresError, match=f"no database in {loop}: "):
        check_exists(loop)


@pytest.mark.parametrize(
    ("command", "module", "status"),
    [("settings", "installation", 1), ("projector", "servers", 0)],
)
def test_an_interrupted_command_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, command: str, module: str, status: int
) -> None:
    def interrupted(_environment: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"deploy.commands.{module}.load_settings", interrupted)
    result = CliRunner().invoke(cli, [command])
    assert (result.exit_code, result.output) == (status, "")


@pytest.mark.parametrize(
    ("command", "status"), [("status", 1), ("api", 0), ("dev", 0), ("webhooks", 0)]
)
def test_a_command_may_be_interrupted_while_it_is_imported(
    monkeypatch: pytest.MonkeyPatch, command: str, status: int
) -> None:
    def interrupted(_module: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("deploy.cli.import_module", interrupted)
    result = CliRunner().invoke(cli, [command])
    assert (result.exit_code, result.output) == (status, "")


@pytest.mark.parametrize(("command", "status"), [("status", 1), ("api", 0)])
def test_a_command_may_be_interrupted_before_its_name_is_read(command: str, status: int) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    signal.raise_signal(signal.SIGINT)
    result = CliRunner().invoke(cli, [command])
    assert (result.exit_code, result.output) == (status, "")


def test_a_database_that_goes_away_during_a_command_is_named() -> None:
    gone = ReadModelUnavailable()
    gone.__cause__ = ConnectionRefusedError(111, "Connection refused")
    assert explanation(gone) == (
        "the read model does not respond: ConnectionRefusedError(111, 'Connection refused')"
    )
    missing = ReadModelUnavailable()
    missing.__cause__ = asyncpg.UndefinedTableError("relation read_model.checkpoint")
    assert explanation(missing) == MIGRATE
    lost = asyncpg.InternalClientError("another operation is in progress")
    assert (explanation(lost) or "").endswith("is in progress: run `contentlog doctor`")
    assert explanation(TimeoutError()) == "PostgreSQL does not respond: run `contentlog doctor`"
    text = "The event store does not respond: TimeoutError()"
    assert explanation(StoreUnavailable(text)) == text.replace("The", "the")


def test_a_missing_privilege_of_the_owner_has_a_remedy_too() -> None:
    denied = asyncpg.InsufficientPrivilegeError("permission denied for database acme")
    assert explanation(denied) == (
        "permission denied for database acme: grant the privilege to the role, or, for the event "
        "store, set CONTENTLOG_OWNER_URL to connect as the owner of its tables"
    )


def test_an_unexpected_error_keeps_its_traceback() -> None:
    assert explanation(KeyError("x")) is None


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.InterfaceError(
            "cannot call Transaction.__aexit__(): the underlying connection is closed"
        ),
        asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
    ],
)
def test_a_lost_connection_is_explained_without_the_drivers_words(error: Exception) -> None:
    assert explanation(error) == ("the connection to PostgreSQL was lost: run `contentlog doctor`")


def test_a_port_in_use_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("deploy.commands.servers.open_databases")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = CliRunner().invoke(cli, ["api", "--port", str(port)])
        assert (result.exit_code, result.stderr) == (
            1,
            f"contentlog: port {port} is already in use: choose another with --port or "
            "CONTENTLOG_PORT\n",
        )
    with pytest.raises(Failed, match=r"^cannot listen on '192\.0\.2\.1:80' \("):
        check_port(Settings(host="192.0.2.1", port=80))


def test_a_listener_on_every_address_is_reached_on_this_machine() -> None:
    assert base_url("0.0.0.0", 80) == "http://127.0.0.1:80"  # noqa: S104
    assert base_url("::", 80) == "http://[::1]:80"
    assert base_url("cms.example.com", 80) == "http://cms.example.com:80"


def test_without_the_demos_key_no_failing_command_is_shown() -> None:
    assert not [line for line in greeting("http://x", None) if "curl" in line]
    assert len([line for line in greeting("http://x", "k") if line.startswith("  curl ")]) == 3


@pytest.mark.parametrize(("option", "form"), [("", "text"), ("json", "json")])
def test_the_logs_of_a_command_are_text_unless_json_is_requested(
    option: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured: list[str | None] = []

    def configure(settings: Settings, **_: object) -> None:
        configured.append(settings.log_format)
        raise Failed("stop here")

    monkeypatch.setattr("deploy.runner.configure_logs", configure)
    CliRunner().invoke(cli, ["status"], env={"CONTENTLOG_LOG_FORMAT": option})
    assert configured == [form]
