"""`contentlog migrate`, `status`, `doctor` and `settings`: an installation's schemas, state, faults
and settings."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from deploy.databases import (
    Databases,
    DatabaseUnreachable,
    ReadModel,
    connect_event_store,
    connect_owner,
    connect_read_model,
    open_connection,
    open_repository,
    read_models,
    role_of,
)
from deploy.environment import describe, load_settings
from deploy.failures import reason_of
from deploy.progress import show_rows
from deploy.runner import json_option, note, read_model_option, run, warn_of_unknown_settings
from deploy.settings import Settings, without_password
from read_side.engine import CITUS_DEFAULTS
from write_side.domain.refusals import ExplainedError, count
from write_side.postgres.statements import statement

if TYPE_CHECKING:
    from deploy.doctor.server import Finding
    from write_side.postgres.connection import Connection
    from write_side.repository import Repository

STATUS_TIMEOUT = 5.0  # seconds for the read models that are only listed


class DifferentDatabases(ExplainedError):
    """The URLs of the owner and of the event store point to different databases."""

    def __init__(self, databases: Databases) -> None:
        owner, store = databases.owner_url or "", databases.event_store_url
        super().__init__(
            f"CONTENTLOG_OWNER_URL ({without_password(owner)}) and CONTENTLOG_EVENT_STORE_URL "
            f"({without_password(store)}) point to different databases: set both to the same one"
        )


@click.command("migrate", epilog="\b\nExample:\n  contentlog migrate")
@read_model_option
def migrate_command() -> None:
    """Update the event store's schema and create the read model.

    Safe to run at any time, and several times at once.
    """
    for line in run(lambda databases, _: migrate_databases(databases), create=True):
        click.echo(line)


async def migrate_databases(databases: Databases) -> list[str]:
    """Migrates; returns a description of what was done."""
    from read_side import schema
    from write_side.postgres.connection import set_defaults
    from write_side.store.migrations import check_owner, grant_runtime, migrate

    async with connect_owner(databases) as owner:
        if databases.owner_url:
            with suppress(DatabaseUnreachable):  # the runtime role may not exist yet
                async with _same_database(databases, owner):
                    pass
            await check_owner(owner, role_of(databases.event_store_url)[0])
        steps = await migrate(owner)
        if databases.owner_url:
            steps += await grant_runtime(owner, *role_of(databases.event_store_url))
        async with _same_database(databases, owner) as connection:
            await set_defaults(connection)
    async with connect_read_model(databases) as connection:
        model = databases.model
        created = await schema.create(connection, model.workspaces, model.engine)
        await set_defaults(connection, CITUS_DEFAULTS if model.engine == "citus" else None)
    return [
        *(f"event store: {step}" for step in steps or ["up to date"]),
        f"read model: {'created' if created else 'already exists'}",
    ]


@asynccontextmanager
async def _same_database(databases: Databases, owner: Connection) -> AsyncIterator[Connection]:
    """A connection to the event store, which is in the owner's database. Raises DifferentDatabases
    and DatabaseUnreachable."""
    async with connect_event_store(databases) as connection:
        if await _identity(connection) != await _identity(owner):
            raise DifferentDatabases(databases)
        yield connection


async def _identity(connection: Connection) -> tuple[str, datetime]:
    """The same for two connections to one database."""
    row = await connection.fetchrow(statement("deploy", "pooler_facts"))
    assert row is not None
    return row["database"], row["started"]


@click.command("status", epilog="\b\nExample:\n  contentlog status --json")
@read_model_option
@json_option
def status_command(as_json: bool) -> None:
    """Print the positions of log and read model, and the projectors.

    If several read models are configured, all are listed.
    """
    status = run(_status)
    click.echo(msgspec.json.encode(status) if as_json else _status_text(status))


async def _status(databases: Databases, settings: Settings) -> dict[str, Any]:
    from read_side.status import read_size, read_status

    async with connect_read_model(databases) as connection:
        model, model_size = await read_status(connection), await read_size(connection)
    async with open_repository(databases) as repository:
        behind = await repository.recorder.lag(model.position)
        store_size = await repository.recorder.size()
        listed = [await _listed(one, databases, repository) for one in read_models(settings)]
    return {
        "readModel": databases.model.name,
        "head": behind.head,
        "checkpoint": model.position,
        "lag": {"events": behind.events, "seconds": behind.seconds},
        "epoch": model.epoch,
        "projectors": msgspec.to_builtins(model.projectors),
        "rebuild": msgspec.to_builtins(model.work),
        "bytes": {"eventStore": store_size, "readModel": model_size},
        "readModels": [one for one in listed if one is not None],
    }


async def _listed(
    model: ReadModel, databases: Databases, repository: Repository
) -> dict[str, Any] | None:
    """A read model in the list of all; None for the embedded one while it is not in use."""
    from read_side.status import read_status

    url = databases.read_model_url if model == databases.model else model.url
    if url is None:
        return None
    row: dict[str, Any] = {"name": model.name, "workspaces": model.workspaces, "fault": None}
    try:
        async with open_connection(model.setting, url, STATUS_TIMEOUT) as connection:
            status = await read_status(connection)
    except Exception as error:
        return {**row, "fault": reason_of(error, model.option)}
    behind = await repository.recorder.lag(status.position)
    return {
        **row,
        "workspaces": status.workspaces,
        "checkpoint": status.position,
        "lag": {"events": behind.events, "seconds": behind.seconds},
        "epoch": status.epoch,
        "activeProjector": any(one.role == "active" for one in status.projectors),
        "halted": status.halted,
    }


def _size(size: int | None) -> str:
    return "size unknown: a worker does not respond" if size is None else f"{size:,} bytes"


def _status_text(status: dict[str, Any]) -> str:
    lag, sizes = status["lag"], status["bytes"]
    lines = [
        *([f"read model  {status['readModel']}"] if len(status["readModels"]) > 1 else []),
        f"head        {status['head']}",
        f"checkpoint  {status['checkpoint']}",
        f"lag         {count(lag['events'], 'event')}, {lag['seconds']:.1f} s",
        *([_projector(one) for one in status["projectors"]] or ["projector   none is running"]),
        f"event store {sizes['eventStore']:,} bytes",
        f"read model  {_size(sizes['readModel'])}, epoch {status['epoch']}",
    ]
    if work := status["rebuild"]:
        lines.append(
            f"{work['name']:11} {work['phase'] or 'starting'}, "
            f"{work['done']:,} of {work['total']:,}, "
            f"for {work['seconds']:.0f} s"
        )
    if len(status["readModels"]) > 1:
        lines += ["read models", *map(_listed_text, status["readModels"])]
    return "\n".join(lines)


def _listed_text(model: dict[str, Any]) -> str:
    if model["fault"]:
        return f"  {model['name']:9} {model['fault']}"
    lag, held = model["lag"], model["workspaces"]
    workspaces = "all workspaces" if held is None else f"workspaces {', '.join(held)}"
    halted = f", HALTED: {model['halted']}" if model["halted"] else ""
    unattended = "" if model["activeProjector"] else ", no projector"
    return (
        f"  {model['name']:9} checkpoint {model['checkpoint']}, "
        f"lag {count(lag['events'], 'event')}, {lag['seconds']:.1f} s, epoch {model['epoch']}, "
        f"{workspaces}{unattended}{halted}"
    )


def _projector(projector: dict[str, Any]) -> str:
    halted = f", HALTED: {projector['halted']}" if projector["halted"] else ""
    return (
        f"projector   {projector['role']}, {projector['id']}, "
        f"last heartbeat {projector['heartbeatAge']:.1f} s ago{halted}"
    )


@click.command("doctor", epilog="\b\nExample:\n  contentlog doctor")
@read_model_option
@json_option
def doctor_command(as_json: bool) -> None:
    """Check an installation, and say what to change.

    Looks at the settings, the databases, the processes and this machine, and changes nothing. Exits
    with status 1 if there is a problem; warnings leave it at 0.
    """
    from deploy.doctor.installation import examine

    environment = dict(os.environ)
    findings = run(lambda databases, settings: examine(databases, settings, environment))
    show_rows(findings, _finding_text, as_json=as_json)
    if any(finding.level == "problem" for finding in findings):
        raise click.exceptions.Exit(1)


def _finding_text(finding: Finding) -> str:
    text = f"{finding.level:8} {finding.subject}: {finding.text}"
    return f"{text}\n         {finding.fix}" if finding.fix else text


@click.command("settings", epilog="\b\nExample:\n  CONTENTLOG_PORT=9000 contentlog settings")
@json_option
def settings_command(as_json: bool) -> None:
    """Print every setting with its meaning, default and value.

    Settings come from the environment. Passwords are not shown.
    """
    settings = describe(load_settings(os.environ))
    if as_json:
        click.echo(msgspec.json.encode(settings))
    else:
        click.echo(
            "\n\n".join(
                f"{setting.name}={setting.value}\n"
                f"  {setting.meaning}.\n"
                f"  Takes {setting.takes}; default: {setting.default}"
                for setting in settings
            )
        )
    warn_of_unknown_settings(note)
