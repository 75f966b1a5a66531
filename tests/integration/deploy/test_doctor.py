"""`contentlog doctor` on a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import asyncpg
import pytest
from click.testing import Result

from deploy.databases import ReadModel, role_of
from deploy.doctor.installation import check_replica
from tests.integration.deploy.test_cli import run
from tests.integration.live_projector import caught_up, connected, projecting
from tests.integration.projector.sample_log import ContentBuilder
from tests.processes import free_port
from write_side import commands as c
from write_side.domain.webhook import new_webhook_secret
from write_side.repository import Repository

__all__ = ["run"]
Run = Callable[..., Result]


def finding_of(result: Result, text: str) -> dict[str, str]:
    [finding] = [one for one in json.loads(result.stdout) if text in one["text"]]
    return dict(finding)


def test_a_migrated_installation_without_projectors_has_one_problem(run: Run) -> None:
    result = run("doctor", "--json")
    assert result.exit_code == 1, result.output
    problems = {one["text"] for one in json.loads(result.stdout) if one["level"] == "problem"}
    # The tests' server may run without durability.
    assert (
        {"none is active"}
        <= problems
        <= {
            "none is active",
            "fsync is off: a power failure can lose or damage events",
            "full_page_writes is off: a power failure can damage events",
            "synchronous_commit is off: a crash can lose acknowledged writes",
        }
    )
    assert finding_of(result, "runtime role")["level"] == "ok"
    assert finding_of(result, "jit is off")["level"] == "ok"


async def test_the_doctor_finds_changes_in_the_databases(run: Run, database_url: str) -> None:
    async with connected(database_url) as owner:
        role, _ = role_of(database_url)
        await owner.execute(f'GRANT UPDATE ON write_side.event TO "{role}"')
        database = await owner.fetchval("SELECT current_database()")
        await owner.execute(f'ALTER DATABASE "{database}" CONNECTION LIMIT 30')
    runtime = await asyncpg.connect(database_url)
    try:
        await runtime.execute("UPDATE read_model.checkpoint SET shape = 'another'")
    finally:
        await runtime.close()
    result = run("doctor", "--json")
    assert finding_of(result, "may change events")["level"] == "warning"
    assert finding_of(result, "may have 30 connections")["level"] == "warning"
    assert finding_of(result, "made by another version")["fix"].startswith("contentlog rebuild")


async def test_the_doctor_finds_that_no_process_delivers_to_an_endpoint(
    run: Run, database_url: str, repository: Repository
) -> None:
    builder = ContentBuilder(repository)
    await builder.workspace()
    await builder.execute(
        c.CreateWebhook,
        workspace="acme",
        name="search",
        url="https://search.example.com/",
        environment="production",
        secret=new_webhook_secret(),
    )
    async with projecting(database_url):
        await caught_up(database_url)
    result = await asyncio.to_thread(run, "doctor", "--json")
    assert finding_of(result, "no process delivers")["fix"] == "contentlog webhooks"
    assert "no secret" not in result.stdout
    await repository.recorder.fetch("DELETE FROM write_side.webhook_secret RETURNING name")
    result = await asyncio.to_thread(run, "doctor", "--json")
    assert finding_of(result, "no secret")["level"] == "problem"


async def test_a_replica_that_is_no_standby_or_away_is_a_warning(database_url: str) -> None:
    primary = await check_replica(database_url, ReadModel())
    assert (primary.level, primary.text[:23]) == ("warning", "it is not a standby: it")
    url = f"postgresql://ann:secret@127.0.0.1:{free_port()}/content"
    away = await check_replica(url, ReadModel("eu"))
    assert (away.level, away.text[:17]) == ("warning", "it cannot be read")
    assert "secret" not in away.subject + away.text + away.fix
    assert away.fix == "start it, or remove it from CONTENTLOG_READ_MODEL_EU_REPLICA_URLS"


def test_the_text_names_the_worst_first_and_each_fix_below_its_finding(run: Run) -> None:
    lines = run("doctor").stdout.splitlines()
    levels = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert levels == sorted(levels, key=["problem", "warning", "ok"].index)
    assert (
        lines[lines.index("problem  projector: none is active") + 1].strip()
        == "contentlog projector"
    )


def test_servers_that_cannot_be_reached_are_problems_and_the_rest_is_looked_at(run: Run) -> None:
    result = run("doctor", "--json", url="postgresql://content:secret@127.0.0.1:1/none")
    assert result.exit_code == 1
    findings = json.loads(result.stdout)
    away = [one for one in findings if one["text"].startswith("cannot connect to PostgreSQL")]
    assert [(one["level"], one["subject"]) for one in away] == [
        ("problem", "event store"),
        ("problem", "read model"),
    ]
    assert "secret" not in result.stdout
    assert finding_of(result, "GiB free")["subject"] == "machine"


async def test_a_read_model_that_is_missing_is_a_problem_and_the_rest_is_looked_at(
    run: Run, database_url: str
) -> None:
    runtime = await asyncpg.connect(database_url)
    try:
        await runtime.execute("DROP SCHEMA read_model CASCADE")
    finally:
        await runtime.close()
    result = run("doctor", "--json")
    assert finding_of(result, "run `contentlog migrate`")["subject"] == "read model"
    assert finding_of(result, "the runtime role cannot change events")["level"] == "ok"


async def test_processes_that_cannot_be_looked_at_are_a_problem_and_the_rest_is_looked_at(
    run: Run, database_url: str
) -> None:
    async with connected(database_url) as owner:
        await owner.execute("DROP SCHEMA projector CASCADE")
    result = run("doctor", "--json")
    assert finding_of(result, "run `contentlog migrate`")["subject"] == "processes"
    assert finding_of(result, "its tables are those of this version")["level"] == "ok"


async def test_the_fixes_for_a_named_read_model_have_its_name(
    run: Run, database_url: str, model_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doctor(text: str) -> str:
        finding = finding_of(run("doctor", "--json", "--read-model", "eu"), text)
        return finding["fix"] or finding["text"]

    rebuild = "contentlog rebuild --accept-differences --read-model eu"
    monkeypatch.setenv("CONTENTLOG_READ_MODEL_EU_URL", model_url)
    monkeypatch.setenv("CONTENTLOG_READ_MODEL_EU_WORKSPACES", "acme")
    assert doctor("it holds all workspaces, but") == rebuild
    async with connected(model_url) as connection:
        await connection.execute("UPDATE read_model.checkpoint SET shape = 'another'")
        assert doctor("made by another version") == rebuild
        await connection.execute("DROP SCHEMA read_model CASCADE")
    assert doctor("does not exist").endswith("run `contentlog migrate --read-model eu`")


@pytest.mark.parametrize("options", [(), ("--read-model", "eu")])
def test_a_refusal_by_postgresql_does_not_advise_to_run_the_doctor(
    run: Run, model_url: str, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CONTENTLOG_READ_MODEL_EU_URL", model_url)

    async def refused(*_: object) -> None:
        raise asyncpg.QueryCanceledError("statement timeout")

    monkeypatch.setattr("deploy.doctor.installation._look_at_store", refused)
    finding = finding_of(run("doctor", "--json", *options), "statement timeout")
    assert finding["text"] == "PostgreSQL or the operating system refused: statement timeout"
