"""Checks of this machine, its settings, its databases, and its processes."""

from __future__ import annotations

import asyncio
import resource
import shutil
from collections.abc import Awaitable, Collection, Iterator, Mapping
from datetime import datetime
from itertools import chain
from pathlib import Path

import msgspec
from msgspec import Struct

from api.webhooks.operations import EndpointStatus, WebhooksStatus, read_webhooks_status
from deploy.databases import (
    Databases,
    ReadModel,
    connect_event_store,
    connect_read_model,
    open_read_model,
    open_repository,
)
from deploy.doctor.server import (
    Finding,
    check_durability,
    check_server,
    ok,
    problem,
    read_facts,
    warning,
)
from deploy.environment import unknown_names
from deploy.failures import DOCTOR, reason_of
from deploy.settings import DEFAULT_MODEL, Settings, without_password
from read_side.engine import EngineRefused, check_engine
from read_side.pool import Pool
from read_side.schema import (
    CHECKPOINT,
    ShapeMismatch,
    WorkspacesMismatch,
    check_identity,
    described,
    existing_checkpoint,
)
from read_side.status import ReadModelStatus, read_status
from write_side.domain.refusals import ExplainedError, count, for_read_model
from write_side.domain.webhook import Name
from write_side.postgres.connection import NOT_MIGRATED, Connection, connected
from write_side.postgres.faults import FAULTS, reason_of_fault
from write_side.postgres.pooler import PoolerUrl, UnexpectedPooler
from write_side.postgres.statements import statement
from write_side.store.migrations import newest_version
from write_side.store.webhook_cursors import Cursors

OPEN_FILES = 4096
FREE_BYTES = 5 * 1024**3
FREE_SHARE = 0.1
PATIENCE = 5.0
"""Seconds for a connection to a replica or a pooler, and for its response."""
LAG = 1_000
"""Events of lag that a projector has caught up in a moment."""
FAR_BEHIND = 300.0
"""Seconds that the deliveries to an endpoint may be behind."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_STORE_POOL = "CONTENTLOG_EVENT_STORE_POOL_URL"
_REPLICA = "SELECT pg_is_in_recovery() AS is_standby, position FROM read_model.checkpoint"


class PoolerFacts(Struct, frozen=True, kw_only=True):
    """The columns of ``pooler_facts.sql``. ``announced``: the process id that the connection was
    given, which a pooler makes up."""

    database: str
    role: str
    started: datetime
    jit: str
    process: int
    announced: int


async def examine(
    databases: Databases, settings: Settings, environment: Mapping[str, str]
) -> list[Finding]:
    """Worst first. What cannot be looked at is a problem, and the rest is still looked at."""
    model = databases.model
    findings = [
        *check_settings(settings, environment),
        embedded(settings),
        *check_machine(settings),
    ]
    failures: list[Finding] = []

    async def look_at(subject: str, look: Awaitable[list[Finding]]) -> list[Finding]:
        try:
            return await look
        except Exception as error:
            reason = reason_of(error).removesuffix(DOCTOR)
            failures.append(problem(subject, for_read_model(reason, model.option), ""))
            return []

    poolers = (
        ("event store", _STORE_POOL, databases.event_store_url, databases.event_store_pool_url),
        ("read model", model.pool_setting, databases.read_model_url, model.pool_url),
    )
    # At once: each server that does not respond takes the whole timeout.
    looks = await asyncio.gather(
        look_at("event store", _look_at_store(databases, settings)),
        look_at("read model", _look_at_model(databases, settings)),
        *(
            _listed(check_pooler(subject, setting, direct, pool))
            for subject, setting, direct, pool in poolers
            if pool is not None
        ),
        *(_listed(check_replica(url, model)) for url in model.replica_urls),
    )
    findings += chain.from_iterable(looks)
    if not failures:
        findings += await look_at("processes", _look_at_processes(databases))
    order = ("problem", "warning", "ok")
    return sorted([*failures, *findings], key=lambda finding: order.index(finding.level))


async def _listed(check: Awaitable[Finding]) -> list[Finding]:
    return [await check]


async def _look_at_store(databases: Databases, settings: Settings) -> list[Finding]:
    async with connect_event_store(databases) as connection:
        facts = await read_facts(connection)
        pooled = databases.event_store_pool_url is not None
        return [
            *check_server("event store", facts, settings.workers, pooled=pooled),
            *check_durability("event store", facts, is_embedded=not settings.event_store_url),
            *await check_store(connection),
        ]


async def _look_at_model(databases: Databases, settings: Settings) -> list[Finding]:
    model = databases.model
    findings: list[Finding] = []
    async with connect_read_model(databases) as connection:
        if databases.read_model_url != databases.event_store_url:
            facts = await read_facts(connection)
            pooled = model.pool_url is not None
            findings += check_server("read model", facts, settings.workers, pooled=pooled)
        shape = await check_shape(connection, model)
        return [*findings, shape]


async def _look_at_processes(databases: Databases) -> list[Finding]:
    model = databases.model
    async with connect_read_model(databases) as connection:
        status = await read_status(connection)
        shape = await check_shape(connection, model)
    async with open_repository(databases) as repository:
        lag = await repository.recorder.lag(status.position)
        findings = list(check_projectors(status, lag.events, model.option))
        if shape.level == "ok":
            async with open_read_model(databases) as read_model:
                cursors = Cursors(repository.recorder.fetch)
                findings += await look_at_webhooks(cursors, read_model)
        return findings


def check_settings(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    for name, text in unknown_names(environment).items():
        yield warning("settings", text, f"unset {name}")
    if settings.host not in LOOPBACK and not settings.trusted_proxies:
        yield warning(
            "settings",
            f"the API listens on {settings.host} and trusts no proxy: behind one, all "
            "clients share its address and its rate limit",
            "set CONTENTLOG_TRUSTED_PROXIES, and serve https there",
        )
    for setting, value in (
        ("CONTENTLOG_KEY_RATE_LIMIT", settings.key_rate_limit),
        ("CONTENTLOG_IP_RATE_LIMIT", settings.ip_rate_limit),
        ("CONTENTLOG_COST_LIMIT", settings.cost_limit),
    ):
        if not value:
            text = f"{setting} is 0: one client can take all of the service"
            yield warning("settings", text, f"unset {setting}")
    if settings.event_store_url and not settings.owner_url:
        yield warning(
            "settings",
            "CONTENTLOG_OWNER_URL is not set: if one role does everything, it can change events",
            "use two roles (operations.md, Roles)",
        )


def check_machine(settings: Settings) -> Iterator[Finding]:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if 0 <= hard < OPEN_FILES:
        yield warning(
            "machine",
            f"a process may open {hard} files, which limits the connections of clients",
            f"raise the limit to {OPEN_FILES} or more (LimitNOFILE of systemd, ulimit -n)",
        )
    else:
        yield ok("machine", "the limit of open files is high enough")
    folder = Path(settings.data) if not settings.event_store_url else Path.cwd()
    yield check_disk(folder)


def check_disk(folder: Path) -> Finding:
    """The disk of the folder, or of the nearest one above that exists."""
    existing = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
    disk = shutil.disk_usage(existing)
    text = f"{disk.free / 1024**3:.1f} GiB free on the disk of {folder}"
    if disk.free < FREE_BYTES or disk.free < disk.total * FREE_SHARE:
        return warning("machine", text, "free or add space: a full disk stops all writes")
    return ok("machine", text)


async def check_store(connection: Connection) -> list[Finding]:
    row = await connection.fetchrow(statement("deploy", "store_facts"))
    assert row is not None
    findings = []
    if row["schema_version"] < newest_version():
        text = f"the schema has version {row['schema_version']}, not {newest_version()}"
        findings.append(problem("event store", text, "contentlog migrate"))
    else:
        findings.append(ok("event store", f"the schema has version {row['schema_version']}"))
    if row["may_change_events"] or row["owns_events"]:
        text = (
            "the runtime role may change events; only a trigger keeps it from doing so by mistake"
        )
        fix = "set CONTENTLOG_OWNER_URL and run contentlog migrate (operations.md, Roles)"
        findings.append(warning("event store", text, fix))
    else:
        findings.append(ok("event store", "the runtime role cannot change events"))
    return findings


async def check_shape(connection: Connection, model: ReadModel) -> Finding:
    """Raises ExplainedError if there is no read model, or no complete one."""
    try:
        row = existing_checkpoint(await connection.fetchrow(CHECKPOINT))
    except NOT_MIGRATED as error:
        raise ExplainedError(
            "it does not exist in this database: run `contentlog migrate`"
        ) from error
    rebuild = f"contentlog rebuild --accept-differences{model.option}"
    try:
        check_identity(row, model.workspaces)
        await check_engine(connection, model.engine)
    except ShapeMismatch:
        return problem("read model", "the read model was made by another version", rebuild)
    except WorkspacesMismatch as error:
        text = f"it holds {described(error.actual)}, but its settings say "
        return problem("read model", f"{text}{described(model.workspaces)}", rebuild)
    except EngineRefused as error:
        return problem("read model", str(error), "operations.md, The read model on Citus")
    return ok("read model", "its tables are those of this version")


async def check_replica(url: str, model: ReadModel) -> Finding:
    subject, setting = f"replica {without_password(url)}", model.replica_setting
    try:
        async with connected(url, timeout=PATIENCE, command_timeout=PATIENCE) as connection:
            row = await connection.fetchrow(_REPLICA)
    except UnexpectedPooler:
        text = "a pooler responds there: the primary reads in its place"
        if model.name != DEFAULT_MODEL:
            return warning(subject, text, f"name the standby itself in {setting}")
        return warning(subject, text, "set CONTENTLOG_READ_REPLICAS_POOLED=true")
    except (ValueError, *FAULTS) as error:
        text = f"it cannot be read ({reason_of_fault(error)}): the primary reads in its place"
        return warning(subject, text, f"start it, or remove it from {setting}")
    assert row is not None
    if not row["is_standby"]:
        text = "it is not a standby: it is not used where it lacks changes"
        return warning(subject, text, f"name standbys of the read model in {setting}")
    return ok(subject, f"a standby, at position {row['position']:,}")


async def check_pooler(name: str, setting: str, direct_url: str, url: PoolerUrl) -> Finding:
    """``name``: of the database's role. ``setting``: the variable with its pooler's URL."""
    try:
        direct, pooled = await _read(direct_url), await _read(url)
    except (ValueError, *FAULTS) as error:
        text = f"its pooler cannot be reached ({reason_of_fault(error)}): requests fail"
        return problem(name, text, f"start it, or unset {setting}")
    return judge(name, setting, direct, pooled)


def judge(name: str, setting: str, direct: PoolerFacts, pooled: PoolerFacts) -> Finding:
    if (pooled.database, pooled.started) != (direct.database, direct.started):
        text = f"its pooler leads to another database ('{pooled.database}')"
        return problem(name, text, f"set {setting} to a pooler in front of '{direct.database}'")
    if pooled.role != direct.role:
        text = f"requests use role '{pooled.role}', everything else role '{direct.role}'"
        return problem(name, text, f"name role '{direct.role}' in {setting}")
    if pooled.announced == pooled.process:
        text = "no pooler responds at its pool URL: each statement is planned again, without need"
        return warning(name, text, f"unset {setting}")
    if pooled.jit != "off":
        text = "jit is on behind its pooler: lists of large read models take far longer"
        return warning(name, text, "contentlog migrate, then RECONNECT in the pooler's console")
    return ok(name, "its pooler leads to the same database")


async def _read(url: str) -> PoolerFacts:
    async with connected(url, timeout=PATIENCE, command_timeout=PATIENCE) as connection:
        row = await connection.fetchrow(statement("deploy", "pooler_facts"))
        assert row is not None
        facts = {**row, "announced": connection.get_server_pid()}
        return msgspec.convert(facts, PoolerFacts)


def check_projectors(status: ReadModelStatus, lag: int, option: str = "") -> Iterator[Finding]:
    """``lag``: in events. ``option``: ``ReadModel.option``."""
    start = f"contentlog projector{option}"
    active = [one for one in status.projectors if one.role == "active"]
    if status.halted:
        text = f"the projector has halted: {status.halted}"
        yield problem("projector", text, "operations.md, A projector has halted")
    elif not active:
        yield problem("projector", "none is active", start)
    elif len(status.projectors) < 2:
        text = "there is no standby: a crash delays reads until it is restarted"
        yield warning("projector", text, f"start a second {start}")
    else:
        yield ok("projector", "one is active and one stands by")
    if lag > LAG:
        text = f"the read model is {count(lag, 'event')} behind"
        yield warning("read model", text, "look at load and disk of its PostgreSQL")
    else:
        yield ok("read model", f"{count(lag, 'event')} behind the log")


async def look_at_webhooks(cursors: Cursors, read_model: Pool) -> list[Finding]:
    status = await read_webhooks_status(cursors, read_model)
    names = [one.endpoint.key for one in status.endpoints]
    unsigned = {name for name in names if not await cursors.secrets(*name)}
    return list(check_webhooks(status, unsigned))


def check_webhooks(status: WebhooksStatus, unsigned: Collection[Name]) -> Iterator[Finding]:
    """``unsigned``: endpoints without a secret."""
    on = [webhook for webhook in status.endpoints if webhook.endpoint.off is None]
    if on and not status.totals.active:
        waiting = count(len(on), "endpoint is", "endpoints are")
        text = f"no process delivers; {waiting} waiting"
        yield problem("webhooks", text, "contentlog webhooks")
    elif on:
        yield ok("webhooks", f"a process delivers to {count(len(on), 'endpoint')}")
    for webhook in status.endpoints:
        yield from _check_endpoint(webhook, is_signed=webhook.endpoint.key not in unsigned)


def _check_endpoint(webhook: EndpointStatus, *, is_signed: bool) -> Iterator[Finding]:
    endpoint = webhook.endpoint
    name = f"endpoint '{endpoint.name}' of '{endpoint.workspace}'"
    command = f"{endpoint.name} --workspace {endpoint.workspace}"
    if endpoint.off is not None:
        text = f"{name} is switched off: {endpoint.off}"
        yield warning("webhooks", text, f"contentlog webhook enable {command}")
    elif not is_signed:
        text = f"{name} has no secret to sign with, so nothing is delivered to it"
        yield problem("webhooks", text, f"contentlog webhook rotate {command}")
    elif webhook.waiting > FAR_BEHIND:
        state = ": deliveries fail" if webhook.is_failing else "; deliveries succeed"
        text = f"{name} is {webhook.waiting / 60:,.0f} minutes behind{state}"
        yield warning("webhooks", text, f"contentlog webhook deliveries {command}")


def embedded(settings: Settings) -> Finding:
    """The embedded server is for trials and small installations."""
    if settings.event_store_url:
        return ok("settings", "the event store is a PostgreSQL server of yours")
    return warning(
        "settings",
        "the event store is the embedded PostgreSQL: it has no standby and no archive",
        "back it up (operations.md, Back up and restore), or set CONTENTLOG_EVENT_STORE_URL",
    )
