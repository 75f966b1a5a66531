"""`contentlog doctor`: what to change in an installation."""

from __future__ import annotations

import os
from collections.abc import Awaitable
from typing import TYPE_CHECKING

import click

from deploy.databases import (
    Databases,
    connect_event_store,
    connect_read_model,
    open_read_model,
    open_repository,
)
from deploy.failures import DOCTOR, reason_of
from deploy.progress import show_rows
from deploy.runner import json_option, read_model_option, run
from deploy.settings import Settings

if TYPE_CHECKING:
    from deploy.doctor.server import Finding

_STORE_POOL = "CONTENTLOG_EVENT_STORE_POOL_URL"


@click.command("doctor", epilog="\b\nExample:\n  contentlog doctor")
@read_model_option
@json_option
def doctor_command(as_json: bool) -> None:
    """Check an installation, and say what to change.

    Looks at the settings, the databases, the processes and this machine, and changes nothing. Exits
    with status 1 if there is a problem; warnings leave it at 0.
    """
    environment = dict(os.environ)
    findings = run(lambda databases, settings: _examine(databases, settings, environment))
    show_rows(findings, _text, as_json=as_json)
    if any(finding.level == "problem" for finding in findings):
        raise click.exceptions.Exit(1)


async def _examine(
    databases: Databases, settings: Settings, environment: dict[str, str]
) -> list[Finding]:
    """Worst first. What cannot be looked at is a problem, and the rest is still looked at."""
    from deploy.doctor import installation
    from deploy.doctor.server import problem

    model = databases.model
    findings = [
        *installation.check_settings(settings, environment),
        installation.embedded(settings),
        *installation.check_machine(settings),
    ]
    failures: list[Finding] = []

    async def look_at(subject: str, look: Awaitable[list[Finding]]) -> None:
        try:
            findings.extend(await look)
        except Exception as error:
            failures.append(problem(subject, reason_of(error).removesuffix(DOCTOR), ""))

    await look_at("event store", _look_at_store(databases, settings))
    await look_at("read model", _look_at_model(databases, settings))
    for name, setting, direct, pool in (
        ("event store", _STORE_POOL, databases.event_store_url, databases.event_store_pool_url),
        ("read model", model.pool_setting, databases.read_model_url, model.pool_url),
    ):
        if pool is not None:
            findings.append(await installation.check_pooler(name, setting, direct, pool))
    findings += [await installation.check_replica(url, model) for url in model.replica_urls]
    if not failures:
        await look_at("processes", _look_at_processes(databases))
    order = ("problem", "warning", "ok")
    return sorted([*failures, *findings], key=lambda finding: order.index(finding.level))


async def _look_at_store(databases: Databases, settings: Settings) -> list[Finding]:
    from deploy.doctor import installation, server

    async with connect_event_store(databases) as connection:
        facts = await server.read_facts(connection)
        pooled = databases.event_store_pool_url is not None
        return [
            *server.check_server("event store", facts, settings.workers, pooled=pooled),
            *server.check_durability(
                "event store", facts, is_embedded=not settings.event_store_url
            ),
            *await installation.check_store(connection),
        ]


async def _look_at_model(databases: Databases, settings: Settings) -> list[Finding]:
    from deploy.doctor import installation, server

    model = databases.model
    findings: list[Finding] = []
    async with connect_read_model(databases) as connection:
        if databases.read_model_url != databases.event_store_url:
            facts = await server.read_facts(connection)
            pooled = model.pool_url is not None
            findings += server.check_server("read model", facts, settings.workers, pooled=pooled)
        shape = await installation.check_shape(connection, model.workspaces, model.engine)
        return [*findings, shape]


async def _look_at_processes(databases: Databases) -> list[Finding]:
    from deploy.doctor import installation
    from read_side.status import read_status
    from write_side.store.webhook_cursors import Cursors

    model = databases.model
    async with connect_read_model(databases) as connection:
        status = await read_status(connection)
        shape = await installation.check_shape(connection, model.workspaces, model.engine)
    async with open_repository(databases) as repository:
        head = await repository.recorder.head()
        findings = list(installation.check_projectors(status, head))
        if shape.level == "ok":
            async with open_read_model(databases) as read_model:
                cursors = Cursors(repository.recorder.fetch)
                findings += await installation.look_at_webhooks(cursors, read_model)
        return findings


def _text(finding: Finding) -> str:
    text = f"{finding.level:8} {finding.subject}: {finding.text}"
    return f"{text}\n         {finding.fix}" if finding.fix else text
