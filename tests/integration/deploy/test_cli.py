"""The command line on a real database. Commands that run until stopped are real processes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import psycopg
import pytest
from click.testing import CliRunner, Result

from deploy.cli import cli
from deploy.databases import Databases, DatabaseUnreachable, connect_owner, open_connection
from deploy.embedded import sockets
from deploy.embedded.place import Place
from deploy.supervisor import contentlog
from tests.databases import owner_of
from tests.integration import live_projector
from tests.integration.deploy.processes import until
from tests.integration.live_projector import connected
from tests.integration.write_side.sample_commands import UNRELEASED
from tests.processes import free_port
from write_side.domain.identity import slug_hash

Run = Callable[..., Result]

MANIFEST = """
workspace: acme
name: Acme
keys: [{name: web, permissions: [content.view]}]
contentTypes:
  - slug: posts
    name: Posts
    fields:
      - {slug: views, name: Views, type: number}
      - {slug: related, name: Related, type: reference, to: [posts], multiple: true}
"""
WEBHOOK = "webhooks: [{name: search, url: 'https://search.example.com/'}]"
CLAIM = """
INSERT INTO write_side.entry_claim
    (id, workspace, environment, content_type_id, language, slug_hash)
SELECT gen_random_uuid(), 'acme', 'production', id, 'en-US', %s
FROM write_side.content_type_claim"""
POSTS = 'Title,Status,Views,Related\nOne,published,"1,200",two\nTwo,,,\n'


def environment(url: str) -> dict[str, str]:
    return {
        **os.environ,
        "CONTENTLOG_EVENT_STORE_URL": url,
        "CONTENTLOG_OWNER_URL": owner_of(url),
        "CONTENTLOG_READ_MODEL_URL": url,
        "CONTENTLOG_LOG_FORMAT": "text",
    }


@pytest.fixture
def run(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs `contentlog ARGUMENTS` on this test's database, in its own folder.

    The command runs in this process, but in another thread because it runs an event loop.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("deploy.runner.UNATTENDED_TIMEOUT", 0.01)
    with ThreadPoolExecutor(1) as thread:

        def _run(*arguments: str, url: str = database_url) -> Result:
            runner = CliRunner()
            return thread.submit(runner.invoke, cli, arguments, env=environment(url)).result(180)

        yield _run


@pytest.fixture
def start(database_url: str, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `contentlog ARGUMENTS` as a process, which is killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def _start(*arguments: str, url: str = database_url) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            contentlog(*arguments),
            env=environment(url),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield _start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def projecting(database_url: str, run: Run) -> Iterator[None]:
    """Runs a projector in another thread, from its first heartbeat on."""
    ended = threading.Event()

    async def project() -> None:
        async with live_projector.projecting(database_url):
            await asyncio.to_thread(ended.wait)

    with ThreadPoolExecutor(1) as thread:
        projecting = thread.submit(asyncio.run, project())
        try:
            until(lambda: json.loads(run("status", "--json").stdout)["projectors"])
            yield
        finally:
            ended.set()
            projecting.result()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "acme.yaml").write_text(MANIFEST)
    (tmp_path / "posts.csv").write_text(POSTS)
    return tmp_path


def output_lines(done: Result) -> list[str]:
    """The output lines of a command that succeeded without warnings."""
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout.splitlines()


def refused(done: Result) -> str:
    """The error line of a command that was refused."""
    assert done.exit_code == 1
    assert done.stderr.startswith("contentlog: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("contentlog: ").strip()


def test_migrate_creates_both_databases_once(run: Run, empty_database_url: str) -> None:
    assert "run `contentlog migrate`" in refused(run("status", url=empty_database_url))
    assert "run `contentlog migrate`" in refused(run("events", url=empty_database_url))
    first = output_lines(run("migrate", url=empty_database_url))
    assert first[0] == "event store: version 3 installed"
    assert first[-1] == "read model: created"
    again = output_lines(run("migrate", url=empty_database_url))
    assert again == ["event store: up to date", "read model: already exists"]
    assert json.loads(run("status", "--json", url=empty_database_url).stdout)["head"] == 0


async def test_a_read_model_without_a_checkpoint_is_reported(run: Run, database_url: str) -> None:
    async with connected(database_url) as connection:
        await connection.execute("DELETE FROM read_model.checkpoint")
    for command in ("status", "verify", "migrate"):
        assert refused(run(command)).startswith("the read model has no checkpoint: ")
    assert "problem  read model: the read model has no checkpoint: " in run("doctor").stdout


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_api_on_an_empty_database_says_only_what_to_run(
    start: Callable[..., subprocess.Popen[str]], empty_database_url: str, workers: str
) -> None:
    port = str(free_port())
    api = start("api", "--port", port, "--workers", workers, url=empty_database_url)
    _, output = api.communicate(timeout=60)
    assert api.returncode == 1
    assert output.splitlines() == [
        "contentlog: the database is not set up for this version: run `contentlog migrate`"
    ]


def test_hosts_without_a_leader_are_named_and_servers_wait_for_one(
    run: Run, start: Callable[..., subprocess.Popen[str]], database_url: str
) -> None:
    mark = "&" if "?" in database_url else "?"
    url = f"{database_url}{mark}target_session_attrs=standby"
    for command in ("status", "migrate", "events"):
        reason = refused(run(command, url=url))
        assert reason.startswith("cannot connect to PostgreSQL at ")
        assert ": check CONTENTLOG_" in reason
    assert run("doctor", url=url).stdout.startswith("problem  event store: cannot connect to ")
    projector = start("projector", url=url)
    assert projector.stderr is not None
    assert "begins again" in projector.stderr.readline()


async def test_an_event_store_of_an_unreleased_version_is_refused_by_every_command(
    run: Run, empty_database_url: str
) -> None:
    async with open_connection("", empty_database_url) as connection:
        await connection.execute(UNRELEASED)
    commands = ("migrate", "status", "events", "verify", "projector")
    serving = [(name, "--port", str(free_port())) for name in ("api", "dev")]
    for command in [*((name,) for name in commands), *serving]:
        reason = refused(run(*command, url=empty_database_url))
        assert reason == (
            "the event store was made by an unreleased version of contentlog, which cannot be "
            "upgraded: use an empty database, or another data folder (CONTENTLOG_DATA)"
        )


async def test_a_read_model_of_a_different_shape_must_be_rebuilt(
    run: Run, database_url: str
) -> None:
    async with open_connection("", database_url) as connection:
        await connection.execute("UPDATE read_model.checkpoint SET shape = 'older'")
        assert "a different shape" in refused(run("migrate"))
        await connection.execute("DROP SCHEMA read_model CASCADE")
    assert output_lines(run("migrate")) == ["event store: up to date", "read model: created"]


async def test_suggested_commands_include_the_name_of_the_read_model(
    run: Run,
    start: Callable[..., subprocess.Popen[str]],
    empty_database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONTENTLOG_READ_MODEL_EU_URL", empty_database_url)
    migrate = "run `contentlog migrate --read-model eu`"
    assert refused(run("status", "--read-model", "eu")).endswith(migrate)
    _, errors = start("projector", "--read-model", "eu").communicate(timeout=60)
    assert errors.rstrip().endswith(migrate)
    assert output_lines(run("status"))[-1].endswith(migrate)
    assert output_lines(run("migrate", "--read-model", "eu"))[-1] == "read model: created"
    async with connected(empty_database_url) as connection:
        await connection.execute("UPDATE read_model.checkpoint SET workspaces = '{acme}'")
    rebuild = "rebuild it with `contentlog rebuild --accept-differences --read-model eu`"
    assert rebuild in refused(run("migrate", "--read-model", "eu"))
    start("projector", "--read-model", "eu")
    until(lambda: "HALTED" in run("status", "--read-model", "eu").stdout)
    assert rebuild in run("status", "--read-model", "eu").stdout
    monkeypatch.setattr("read_side.status.read_status", _canceled)
    assert refused(run("status", "--read-model", "eu")).endswith("doctor --read-model eu`")


async def _canceled(_connection: object) -> None:
    raise asyncpg.QueryCanceledError("statement timeout")


@pytest.mark.parametrize("name", ["api", "projector", "webhooks"])
def test_a_process_names_the_setting_of_a_database_that_does_not_exist(
    start: Callable[..., subprocess.Popen[str]],
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    wrong = urlsplit(database_url)._replace(path="/missing")
    monkeypatch.setenv("CONTENTLOG_READ_MODEL_EU_URL", urlunsplit(wrong))
    port = ("--port", str(free_port())) if name == "api" else ()
    process = start(name, "--read-model", "eu", *port)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.splitlines()[-1].endswith("does not exist): check CONTENTLOG_READ_MODEL_EU_URL")


def test_rebuild_rollback_and_verify_report_progress(run: Run, files: Path) -> None:
    """With --json, the output is JSON lines, and the last one is the result."""
    assert run("apply", "acme.yaml").exit_code == 0
    assert "only a rebuild leaves one" in refused(run("rollback"))
    phases, result = json_phases_and_result(run("rebuild", "--json"))
    assert phases[:2] == ["replay", "index"]
    assert phases[-1] == "switch"
    assert result == {"position": 3, "differences": 0, "notCompared": "it is empty"}
    assert json_phases_and_result(run("rebuild", "--json")) == (
        ["replay", "index", "follow", "compare", "switch"],
        {"position": 3, "differences": 0, "notCompared": None},
    )
    assert json_phases_and_result(run("rollback", "--json")) == (
        ["follow", "switch"],
        {"position": 3},
    )
    phases, result = json_phases_and_result(run("verify", "--json"))
    assert phases == ["replay", "index", "follow", "compare", "claims"]
    assert result == {
        "position": 3, "readModel": 0, "notCompared": None, "claims": 0, "repaired": 0
    }  # fmt: skip


@pytest.mark.slow
def test_without_json_output_is_text_even_in_a_pipe(run: Run, files: Path) -> None:
    assert run("apply", "acme.yaml").exit_code == 0
    assert output_lines(run("rebuild"))[-1] == (
        "the new read model is live, at position 3; not compared: it is empty"
    )
    lines = output_lines(run("rebuild"))
    assert lines[0] == "replay   0 of 3"
    assert re.fullmatch(r"replay   3 of 3, [\d,]+/s", lines[1])
    assert (
        output_lines(run("rollback"))[-1] == "the previous read model is live again, at position 3"
    )
    assert output_lines(run("verify"))[-1] == "log, claims and read model agree, at position 3"


def test_changes_are_printed_as_the_feed_has_them(run: Run, files: Path) -> None:
    assert run("apply", "acme.yaml").exit_code == 0
    assert output_lines(run("rebuild"))
    lines = output_lines(run("changes", "--workspace", "acme"))
    assert lines
    assert re.fullmatch(r"[\d-]+ [\d:]+ UTC  contentType.changed  posts", lines[0])
    changes = [
        json.loads(line) for line in output_lines(run("changes", "--workspace", "acme", "--json"))
    ]
    assert [change["previous"] for change in changes] == [
        None,
        *(change["id"] for change in changes[:-1]),
    ]
    token = changes[0]["id"]
    after = output_lines(run("changes", "--workspace", "acme", "--json", "--after", token))
    assert [json.loads(line) for line in after] == changes[1:]
    assert output_lines(run("changes", "--workspace", "acme", "--after", "now")) == []
    assert "is not the id of a change in production; use one that `contentlog ch" in refused(
        run("changes", "--workspace", "acme", "--after", "x")
    )
    assert "globex" in refused(run("changes", "--workspace", "globex"))
    mistyped = run("changes", "--workspace", "acme", "--type", "post")
    note = "note: workspace 'acme' has no content type 'post' in production\n"
    assert (mistyped.exit_code, mistyped.stdout, mistyped.stderr) == (0, "", note)
    assert output_lines(run("changes", "--workspace", "acme", "--type", "posts"))


def test_control_characters_of_slugs_do_not_reach_the_terminal(run: Run, files: Path) -> None:
    """A client could forge lines of the output, or change the terminal's title."""
    run("apply", "acme.yaml")
    (files / "posts.csv").write_text('Title,Slug\nOne,"a\x1b[31m\nb"\n')
    place = ("--workspace", "acme", "--type", "posts")
    run("import", "posts.csv", *place, "--import-id", "i-1")
    run("rebuild")
    [line] = output_lines(run("changes", *place))[1:]
    assert r"entry.created  posts/a\x1b[31m\nb  en-US  version 1" in line
    (files / "posts.csv").write_text('Title,Slug,Views\nOne,"a\x1b[31m\nb",1\n')
    run("import", "posts.csv", *place, "--update")
    reverted = run("import", "--revert", "i-1").stdout.splitlines()
    assert len(reverted) == 2
    assert reverted[1].startswith(r"a\x1b[31m\nb (")


def test_an_unknown_stream_is_refused(run: Run, files: Path) -> None:
    run("apply", "acme.yaml")
    (line,) = output_lines(run("events", "--stream", "workspace/acme"))
    assert json.loads(line)["position"] == 1
    assert output_lines(run("events", "--stream", "workspace/acme", "--after", "1")) == []
    assert run("events", "--after", str(2**63)).exit_code == 2
    for options in ((), ("--follow",)):
        reason = refused(run("events", "--stream", "workspace/acm", *options))
        assert reason.startswith("there is no stream 'workspace/acm'; streams have names such as ")


def test_a_manifest_is_shown_and_applied_without_a_change(run: Run, files: Path) -> None:
    run("apply", "acme.yaml")
    shown = run("manifest", "show", "acme")
    (files / "shown.yaml").write_text(shown.stdout)
    assert output_lines(run("apply", "shown.yaml")) == ["no changes"]
    (files / "shown.json").write_text(run("manifest", "show", "acme", "--json").stdout)
    assert output_lines(run("apply", "shown.json", "--prune")) == ["no changes"]
    assert "secret" not in shown.stdout
    assert "no workspace 'nobody'" in refused(run("manifest", "show", "nobody"))


@pytest.mark.slow
@pytest.mark.usefixtures("files")
def test_a_manifest_that_apply_would_not_read_is_shown_with_a_note(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("apply", "acme.yaml")
    assert run("manifest", "show", "acme").stderr == ""
    monkeypatch.setattr("write_side.manifest.loader.MAX_BYTES", 100)
    for options in ((), ("--json",)):
        shown = run("manifest", "show", "acme", *options)
        assert (shown.exit_code, "acme" in shown.stdout) == (0, True)
        assert shown.stderr == (
            "note: this manifest: is larger than 100 bytes: `contentlog apply` refuses it; remove "
            "the parts that should not change\n"
        )


@pytest.mark.parametrize("options", [("--dry-run",), ()])
def test_a_webhook_for_a_content_type_that_is_not_there_is_noted(
    run: Run, tmp_path: Path, options: tuple[str, ...]
) -> None:
    webhook = "{name: a, url: 'https://a.example/', types: [posts]}"
    (tmp_path / "a.yaml").write_text(f"workspace: acme\nname: Acme\nwebhooks: [{webhook}]\n")
    assert run("apply", "a.yaml", *options).stderr.splitlines()[0] == (
        "note: a.yaml:3:57: webhooks[0].types[0]: production has no content type 'posts'; its "
        "changes are delivered once it exists"
    )


@pytest.mark.slow
async def test_an_installation_without_rebuild_tables_is_rebuilt(
    run: Run, files: Path, database_url: str
) -> None:
    run("apply", "acme.yaml")
    async with open_connection("", database_url) as connection:
        await connection.execute("DROP TABLE projector.work")
        await connection.execute("UPDATE read_model.checkpoint SET shape = 'older', position = 1")
    assert "rebuild --accept-differences" in refused(run("migrate"))
    assert (
        json_phases_and_result(run("rebuild", "--accept-differences", "--json"))[1]["position"] == 3
    )
    assert run("status").exit_code == 0


async def test_migrate_refuses_an_owner_of_another_database_and_leaves_that_empty(
    run: Run, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = owner_of(empty_database_url)
    monkeypatch.setattr(f"{__name__}.owner_of", lambda _: owner)
    line = refused(run("migrate"))
    assert line.startswith("CONTENTLOG_OWNER_URL (postgresql://")
    assert line.endswith("point to different databases: set both to the same one")
    async with connected(empty_database_url) as connection:
        assert await connection.fetchval("SELECT to_regnamespace('write_side')") is None


async def test_status_says_that_a_rebuild_is_starting(run: Run, database_url: str) -> None:
    async with open_connection("", database_url) as connection:
        await connection.execute(
            "INSERT INTO projector.work (name, phase, done, total) VALUES ('rebuild', '', 0, 0)"
        )
    assert re.fullmatch(r"rebuild     starting, 0 of 0, for \d+ s", output_lines(run("status"))[-1])


async def test_a_read_model_ahead_of_a_restored_log_has_no_lag(run: Run, database_url: str) -> None:
    async with connected(database_url) as connection:
        await connection.execute("UPDATE read_model.checkpoint SET position = 5")
    status = json.loads(run("status", "--json").stdout)
    assert (status["lag"]["events"], status["readModels"][0]["lag"]["events"]) == (0, 0)


async def test_status_reports_an_event_that_cannot_be_read(run: Run, database_url: str) -> None:
    async with open_connection("", owner_of(database_url)) as connection:
        for position, state in ((1, "not json"), (2, '{"at": 7}')):
            await connection.execute("UPDATE write_side.head SET position = $1", position)
            await connection.execute(
                "INSERT INTO write_side.event VALUES ($1, $2, 1, 'entry.created.v1', $3, now())",
                position,
                f"entry/{position}",
                state,
            )
            status = json.loads(run("status", "--json").stdout)
            assert status["lag"]["events"] == position
            await connection.execute("UPDATE read_model.checkpoint SET position = 0")


FULL = (">/dev/full", "No space left on device")
CLOSED = (">&-", "Bad file descriptor")
"""A stream that cannot be written, and the reason that is given."""
TAMPER = "UPDATE read_model.workspace SET name = 'Tampered'"


@pytest.mark.slow
async def test_differences_are_printed_and_end_with_status_1(
    run: Run,
    files: Path,
    database_url: str,
    unreachable_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run("apply", "acme.yaml")
    run("rebuild")
    async with open_connection("", owner_of(database_url)) as connection:
        await connection.execute(TAMPER)
    accepted = run("rebuild", "--accept-differences")
    assert accepted.stdout.splitlines()[-1].endswith("; 1 difference accepted")
    async with open_connection("", owner_of(database_url)) as connection:
        await connection.execute(TAMPER)
        await connection.execute("UPDATE write_side.usage SET used = 7 WHERE quota = 'entries'")
    model = '{"relation":"workspace","key":"[\\"acme\\"]","kind":"different"}'
    usage = (
        '{"relation":"usage","key":"[\\"acme\\",\\"production\\",\\"entries\\"]",'
        '"kind":"different"}'
    )
    done = run("rebuild")
    assert done.stdout.splitlines()[-1] == 'workspace ["acme"]: different'
    done = run("rebuild", "--json")
    assert done.stdout.splitlines()[-1] == model
    unchanged = refused(done)
    assert "the live read model is unchanged: the new one differs in 1 row: " in unchanged
    with monkeypatch.context() as away:
        away.setattr(f"{__name__}.owner_of", lambda _: unreachable_url)
        line = refused(run("verify", "--repair"))
        assert names_the_setting(line)
        assert line.endswith(": check CONTENTLOG_OWNER_URL")
    done = run("verify", "--repair", "--json")
    assert done.stdout.splitlines()[-3:-1] == [model, usage]
    assert (
        "the read model differs from the log in 1 row: "
        "run `contentlog rebuild --accept-differences`"
    ) in refused(done)
    assert (
        json_phases_and_result(run("rebuild", "--accept-differences", "--json"))[1]["differences"]
        == 1
    )
    assert json_phases_and_result(run("verify", "--json"))[1]["claims"] == 0


def json_phases_and_result(done: Result) -> tuple[list[str], dict[str, Any]]:
    """The reported phases and the result."""
    lines = [json.loads(line) for line in output_lines(done)]
    phases = [line["phase"] for line in lines if "phase" in line]
    return list(dict.fromkeys(phases)), lines[-1]


@pytest.fixture
def unreachable_url() -> Iterator[str]:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        yield f"postgresql://ann:secret@127.0.0.1:{unheard.getsockname()[1]}/content"


def names_the_setting(line: str) -> bool:
    found = re.search(r"cannot connect to PostgreSQL at .+ \(.+\): check CONTENTLOG_\w+_URL$", line)
    return found is not None and "secret" not in line


def test_an_unreachable_server_is_one_line_without_its_password(
    run: Run, unreachable_url: str
) -> None:
    for command in ("status", "events", "migrate", "rebuild", "rollback", "verify"):
        assert names_the_setting(refused(run(command, url=unreachable_url)))


@pytest.mark.parametrize("arguments", [("status",), ("key", "list", "--workspace", "acme")])
def test_a_server_that_does_not_respond_is_given_up(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr("deploy.databases.CHECK_TIMEOUT", 0.1)
    monkeypatch.setattr("deploy.databases.CONNECTING", 0.1, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://ann:secret@127.0.0.1:{silent.getsockname()[1]}/content"
        began = time.monotonic()
        assert names_the_setting(refused(run(*arguments, url=url)))
    assert time.monotonic() - began < 15


async def test_the_error_names_no_setting_if_the_embedded_server_cannot_be_reached(
    tmp_path: Path,
) -> None:
    missing = Place(tmp_path, tmp_path)
    (tmp_path / "sockets").mkdir()
    databases = Databases(sockets.url(missing), sockets.url(missing))
    with pytest.raises(
        DatabaseUnreachable, match=r"see postgres\.log in the folder of the embedded"
    ):
        async with connect_owner(databases):
            pass


async def test_a_lack_of_connections_is_not_blamed_on_the_url(run: Run, database_url: str) -> None:
    async with connected(database_url) as owner:
        database = await owner.fetchval("SELECT current_database()")
        await owner.execute(f'ALTER DATABASE "{database}" CONNECTION LIMIT 0')
    line = refused(run("status"))
    assert line.endswith(
        "): close some connections, or raise max_connections or the CONNECTION LIMIT"
    )


@pytest.mark.parametrize(("pool", "workers"), [(False, "1"), (True, "2")])
def test_an_api_names_the_setting_of_an_event_store_that_it_cannot_reach(
    start: Callable[..., subprocess.Popen[str]],
    unreachable_url: str,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    pool: bool,
    workers: str,
) -> None:
    if pool:
        monkeypatch.setenv("CONTENTLOG_EVENT_STORE_POOL_URL", unreachable_url)
    url = database_url if pool else unreachable_url
    api = start("api", "--port", str(free_port()), "--workers", workers, url=url)
    _, output = api.communicate(timeout=60)
    assert api.returncode == 1
    [line] = output.splitlines()
    assert names_the_setting(line)
    setting = "CONTENTLOG_EVENT_STORE_POOL_URL" if pool else "CONTENTLOG_EVENT_STORE_URL"
    assert line.endswith(f": check {setting}")


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
async def test_an_api_ends_if_the_event_store_accepts_connections_but_does_not_respond(
    start: Callable[..., subprocess.Popen[str]], database_url: str, workers: str
) -> None:
    async with connected(database_url) as owner, owner.transaction():
        await owner.execute("LOCK TABLE write_side.token_key IN ACCESS EXCLUSIVE MODE")
        api = start("api", "--port", str(free_port()), "--workers", workers, url=database_url)
        _, output = await asyncio.to_thread(api.communicate, timeout=60)
    assert api.returncode == 1
    [line] = output.splitlines()
    assert "the event store does not respond" in line


@pytest.mark.parametrize(
    ("arguments", "stream", "reason"),
    [
        (("--help",), *FULL),
        (("--help",), *CLOSED),
        (("--version",), *FULL),
        (("import", "--help"), *FULL),
        (("settings",), *FULL),
        (("settings", "--json"), *CLOSED),
    ],
)
def test_a_failure_to_print_is_reported_in_one_line(
    arguments: tuple[str, ...], stream: str, reason: str
) -> None:
    shell = ["/bin/sh", "-c", f'"$@" {stream}', "sh", *contentlog(*arguments)]
    failed = subprocess.run(shell, stderr=subprocess.PIPE, text=True, check=False)
    assert (failed.returncode, failed.stderr) == (
        1,
        f"contentlog: cannot write the output: {reason}\n",
    )


@pytest.mark.usefixtures("projecting")
@pytest.mark.parametrize("arguments", [("events",), ("changes", "--workspace", "acme")])
def test_a_list_that_cannot_be_printed_closes_its_connection(
    arguments: tuple[str, ...], run: Run, files: Path, database_url: str
) -> None:
    run("apply", "acme.yaml")
    shell = ["/bin/sh", "-c", '"$@" >/dev/full', "sh", *contentlog(*arguments)]
    failed = subprocess.run(
        shell, env=environment(database_url), stderr=subprocess.PIPE, text=True, check=False
    )
    assert failed.stderr == "contentlog: cannot write the output: No space left on device\n"


@pytest.mark.parametrize("closed", ["2>&-", "0<&- 2>&-"])
def test_a_command_works_without_the_standard_streams_that_it_does_not_need(
    database_url: str, closed: str
) -> None:
    shell = ["/bin/sh", "-c", f'"$@" {closed}', "sh", *contentlog("status", "--json")]
    done = subprocess.run(
        shell, env=environment(database_url), stdout=subprocess.PIPE, text=True, check=False
    )
    assert (done.returncode, json.loads(done.stdout or "{}").get("head")) == (0, 0)


def test_a_missing_database_is_one_line(
    start: Callable[..., subprocess.Popen[str]], database_url: str
) -> None:
    process = start("status", url=re.sub(r"/[^/?]+(\?|$)", r"/nowhere\1", database_url, count=1))
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (1, "")
    assert errors.startswith("contentlog: ")
    assert errors.count("\n") == 1
    assert 'database "nowhere" does not exist' in errors


@pytest.mark.usefixtures("projecting")
def test_a_workspace_is_applied_filled_and_listed(run: Run, files: Path) -> None:
    applied = output_lines(run("apply", "acme.yaml"))
    assert applied[:3] == [
        "workspace acme created",
        "content type posts in production created",
        "key web issued",
    ]
    assert re.fullmatch(r"secret of key web, shown only once: cl_\S{43}", applied[3])
    assert output_lines(run("apply", "acme.yaml")) == ["no changes"]
    place = ("--workspace", "acme", "--type", "posts")
    imported = output_lines(run("import", "posts.csv", *place, "--import-id", "first"))
    assert imported == ["2 entries imported; import id 'first'"]
    assert output_lines(run("import", "posts.csv", *place, "--import-id", "first")) == [
        "import 'first' has already run: no changes"
    ]
    assert output_lines(run("import", "posts.csv", *place)) == [
        "nothing imported: 2 skipped because their slug exists"
    ]
    status = json.loads("".join(output_lines(run("status", "--json"))))
    assert (status["head"], status["checkpoint"]) == (6, 6)
    assert status["lag"] == {"events": 0, "seconds": 0.0}
    [projector] = status["projectors"]
    assert set(projector) == {"id", "role", "heartbeatAge", "halted"}
    assert projector["role"] == "active"
    assert set(status["bytes"]) == {"eventStore", "readModel"}
    assert "lag         0 events, 0.0 s" in output_lines(run("status"))


@pytest.mark.usefixtures("projecting")
def test_keys_are_issued_listed_and_revoked(run: Run, files: Path) -> None:
    run("apply", "acme.yaml")
    of = ("--workspace", "acme")
    both = ("--permission", "content.view", "--permission", "content.edit")
    issued = run("key", "issue", *of, "--name", "ci", *both)
    assert issued.exit_code == 0
    assert re.fullmatch(r"cl_\S{43}\n", issued.stdout)
    keys = json.loads("".join(output_lines(run("key", "list", *of, "--json"))))
    assert [(key["name"], key["permissions"]) for key in keys] == [
        ("ci", ["content.view", "content.edit"]),
        ("web", ["content.view"]),
    ]
    assert {one: keys[0][one] for one in ("environment", "expires", "expired", "lastUsed")} == {
        "environment": None,
        "expires": None,
        "expired": False,
        "lastUsed": None,
    }
    assert "'ci' cannot be issued" in refused(run("key", "issue", *of, "--name", "ci", *both))
    assert output_lines(run("key", "revoke", *of, "--name", "ci")) == ["key 'ci' of 'acme' revoked"]
    assert "no API key 'ci'" in refused(run("key", "revoke", *of, "--name", "ci"))
    listed = output_lines(run("key", "list", *of))[0]
    assert re.fullmatch(r"web  content.view  issued 2\S+ \S+ UTC  never used", listed)
    assert "no workspace 'nowhere'" in refused(run("key", "list", "--workspace", "nowhere"))


@pytest.mark.parametrize(
    ("arguments", "secret", "remedy", "stream", "reason"),
    [
        (
            ("key", "issue", "--workspace", "acme", "--name", "shop", "--permission=content.view"),
            "secret of key 'shop'",
            "revoke the key, and issue it again",
            *CLOSED,
        ),
        (
            ("webhook", "rotate", "search", "--workspace", "acme"),
            "new secret of webhook 'search'",
            "rotate it again",
            *FULL,
        ),
        (("apply", "key.yaml"), "secret of key ci", "revoke the key, and apply again", *FULL),
        (
            ("apply", "webhook.yaml"),
            "secret of webhook new",
            "run `contentlog webhook rotate`, and apply again",
            *CLOSED,
        ),
    ],
)
def test_the_error_for_a_secret_that_cannot_be_printed_says_what_to_do(
    run: Run,
    files: Path,
    database_url: str,
    arguments: tuple[str, ...],
    secret: str,
    remedy: str,
    stream: str,
    reason: str,
) -> None:
    (files / "acme.yaml").write_text(f"{MANIFEST}{WEBHOOK}")
    run("apply", "acme.yaml")
    (files / "key.yaml").write_text(MANIFEST.replace("name: web", "name: ci"))
    (files / "webhook.yaml").write_text(f"{MANIFEST}{WEBHOOK}".replace("name: search", "name: new"))
    failed = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {stream}', "sh", *contentlog(*arguments)],
        cwd=files,
        env=environment(database_url),
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (failed.returncode, failed.stderr.splitlines()[-1]) == (
        1,
        f"contentlog: the {secret} could not be printed ({reason}): {remedy}",
    )


@pytest.mark.usefixtures("projecting")
async def test_a_key_may_expire_and_be_limited_to_one_environment(
    run: Run, files: Path, database_url: str
) -> None:
    run("apply", "acme.yaml")
    of = ("--workspace", "acme", "--permission", "content.published")
    issue = ("key", "issue", *of, "--name")
    assert run(*issue, "page", "--expires", "90d", "--environment", "staging").exit_code == 0
    assert run(*issue, "shop", "--expires", "2100-01-31T09:30:00Z").exit_code == 0
    assert "'soon' is not a time" in refused(run(*issue, "bad", "--expires", "soon"))
    assert "is in the past" in refused(run(*issue, "bad", "--expires", "2020-01-31"))
    async with open_connection("", database_url) as connection:
        await connection.execute(
            "INSERT INTO write_side.key_use SELECT id, '2026-01-31' FROM write_side.key_claim "
            "WHERE name = 'shop'"
        )
    [page, shop, _] = output_lines(run("key", "list", "--workspace", "acme"))
    assert re.fullmatch(
        r"page  content.published  staging only  issued .+ UTC  expires .+ UTC  never used", page
    )
    assert shop.endswith("expires 2100-01-31 09:30 UTC  last used 2026-01-31")
    rows = json.loads("".join(output_lines(run("key", "list", "--workspace", "acme", "--json"))))
    until = datetime.fromisoformat(rows[0]["expires"]) - datetime.now(UTC)
    assert timedelta(days=89) < until <= timedelta(days=90)
    assert (rows[1]["lastUsed"], rows[1]["expires"]) == ("2026-01-31", "2100-01-31T09:30:00Z")


def test_without_a_projector_changes_are_stored_with_a_note(run: Run, files: Path) -> None:
    done = run("apply", "acme.yaml")
    assert done.exit_code == 0
    assert done.stderr == (
        "note: done, but the read model does not show it yet: no projector is running "
        "(see contentlog status)\n"
    )
    assert "projector   none is running" in run("status").stdout
    assert json.loads(run("status", "--json").stdout)["lag"]["events"] == 3


def test_a_command_that_is_done_succeeds_without_the_read_model(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a script would run it again."""
    monkeypatch.setenv("CONTENTLOG_READ_MODEL_AWAY_URL", "postgresql://127.0.0.1:1/away")
    monkeypatch.setenv("CONTENTLOG_READ_MODEL", "away")
    issue = ("key", "issue", "--workspace", "acme", "--permission", "content.view")
    for command in (
        ("apply", "acme.yaml"),
        (*issue, "--name", "shop"),
        ("import", "posts.csv", "--workspace", "acme", "--type", "posts"),
    ):
        done = run(*command)
        assert done.exit_code == 0, done.output
        [line] = [line for line in done.stderr.splitlines() if line.startswith("note:")]
        assert line.startswith(
            "note: done, but cannot check whether the read model shows it yet: cannot connect"
        )
        assert line.endswith("check CONTENTLOG_READ_MODEL_AWAY_URL")
    export = run("export", "--workspace", "acme", "--type", "posts", "--output", "posts.csv")
    assert refused(export).startswith("cannot connect to PostgreSQL")


def test_a_dry_run_prints_the_changes_and_changes_nothing(run: Run, files: Path) -> None:
    done = run("apply", "acme.yaml", "--dry-run")
    assert (done.exit_code, done.stderr) == (0, "note: this was a dry run; nothing has changed\n")
    assert done.stdout.splitlines() == [
        "workspace acme would be created",
        "content type posts in production would be created",
        "key web would be issued",
    ]
    assert output_lines(run("events")) == []


def test_an_invalid_manifest_is_one_line(run: Run, files: Path) -> None:
    (files / "wrong.yaml").write_text("workspace: acme\nname: Acme\ncolour: red\n")
    assert refused(run("apply", "wrong.yaml")) == (
        "wrong.yaml:3:1: colour: unknown key 'colour'; expected workspace, name, plan, "
        "environments, keys, media, webhooks or contentTypes"
    )
    assert "No such file" in refused(run("apply", "nowhere.yaml"))


def test_events_are_json_lines_and_can_be_followed(
    run: Run, start: Callable[..., subprocess.Popen[str]], files: Path
) -> None:
    following = start("events", "--after", "1", "--follow")
    run("apply", "acme.yaml")
    assert following.stdout is not None
    topics = [_event(following.stdout)["topic"] for _ in range(2)]
    assert topics == ["content_type.created.v1", "key.issued.v1"]
    following.send_signal(signal.SIGINT)
    assert following.wait(60) == 0
    lines = [json.loads(line) for line in output_lines(run("events"))]
    assert [line["position"] for line in lines] == [1, 2, 3]
    assert lines[0]["event"]["actor"]["kind"] == "operator"
    one = output_lines(run("events", "--stream", "workspace/acme"))
    assert [json.loads(line)["stream"] for line in one] == ["workspace/acme"]


def _event(lines: IO[str]) -> dict[str, str]:
    event: dict[str, str] = json.loads(lines.readline())
    return event


def test_an_interrupted_import_in_parts_says_how_to_continue(
    run: Run, start: Callable[..., subprocess.Popen[str]], files: Path, database_url: str
) -> None:
    run("apply", "acme.yaml")
    rows = "".join(f"Title {n}\n" for n in range(2_001))
    (files / "posts.csv").write_text(f"Title\n{rows}")
    command = ("import", "posts.csv", "--workspace", "acme", "--type", "posts", "--split")
    with psycopg.connect(owner_of(database_url)) as holder:
        # The second part waits for this claim until the signal is sent.
        holder.execute(CLAIM, [slug_hash("title-2000")])
        importing = start(*command)
        assert importing.stderr is not None
        lines = iter(importing.stderr.readline, "")
        assert "part 1 of 2: imported\n" in lines
        importing.send_signal(signal.SIGTERM)
        holder.rollback()
    [hint] = [line for line in lines if line.startswith("note: ")]
    assert importing.wait(60) == 1
    option, import_id = hint.split()[-2:]
    assert option == "--import-id"
    done = run(*command, option, import_id)
    assert done.stdout.splitlines() == [f"2,001 entries imported; import id {import_id!r}"]
