"""Findings, and the checks of a PostgreSQL server: plain functions of the facts that it reports."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec
from msgspec import Struct

from deploy.runner import utc_minute
from write_side.domain.refusals import count
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

OLDEST_VERSION = 15
CLOCK_DIFFERENCE = timedelta(seconds=1)
LOCKS = 64
"""PostgreSQL's default of max_locks_per_transaction, with which all statements are tested."""
API_CONNECTIONS = 25
"""Connections of one API process to both databases, at most."""
DIRECT_CONNECTIONS = 2
"""The connections of one API process that bypass a pooler."""
OTHER_CONNECTIONS = 10
"""Connections of two projectors and a command."""
WAITING_SEGMENTS = 16
"""Segments of the write-ahead log, usually of 16 MB, that may wait to be archived."""
ARCHIVE_AGE = timedelta(minutes=15)
_RELOAD = "SELECT pg_reload_conf();"
_RESTART = "then restart PostgreSQL"
Level = Literal["ok", "warning", "problem"]


class Finding(Struct, frozen=True):
    """``subject``: what was looked at. ``fix``: the statement or command to run, or what to do."""

    level: Level
    subject: str
    text: str
    fix: str = ""


def ok(subject: str, text: str) -> Finding:
    return Finding("ok", subject, text)


def warning(subject: str, text: str, fix: str) -> Finding:
    return Finding("warning", subject, text, fix)


def problem(subject: str, text: str, fix: str) -> Finding:
    return Finding("problem", subject, text, fix)


class ServerFacts(Struct, frozen=True, kw_only=True):
    """The columns of ``server_facts.sql``. ``local_time``: of this machine, when they were read;
    ``reading``: how long that took. ``waiting_segments``: full segments of WAL after the last that
    was archived; None if that is not known."""

    version_number: int
    version: str
    role: str
    database: str
    is_superuser: bool
    encoding: str
    max_connections: int
    reserved_connections: int
    connections: int
    connection_limit: int | None
    max_locks_per_transaction: int
    jit_of_role: str
    fsync: str
    full_page_writes: str
    synchronous_commit: str
    autovacuum: str
    data_checksums: str
    archive_mode: str
    archive_timeout: int
    last_archived: datetime | None
    waiting_segments: int | None
    last_failed: datetime | None
    standbys: int
    is_standby: bool
    now: datetime
    local_time: datetime
    reading: timedelta


async def read_facts(connection: Connection) -> ServerFacts:
    began = datetime.now(UTC)
    row = await connection.fetchrow(statement("deploy", "server_facts"))
    assert row is not None
    ended = datetime.now(UTC)
    return msgspec.convert(
        {**row, "local_time": began + (ended - began) / 2, "reading": ended - began}, ServerFacts
    )


def check_server(
    name: str, facts: ServerFacts, workers: int, *, pooled: bool = False
) -> Iterator[Finding]:
    """``name``: of the database's role in the installation. ``workers``: API processes here.
    ``pooled``: whether a pooler is in front of it, whose own connections are in use already."""
    yield _version(name, facts)
    yield _role(name, facts)
    each = DIRECT_CONNECTIONS if pooled else API_CONNECTIONS
    needed = workers * each + OTHER_CONNECTIONS
    yield _connections(name, facts, workers, needed)
    if facts.connection_limit is not None and facts.connection_limit < needed:
        yield warning(
            name,
            f"role '{facts.role}' may have {facts.connection_limit} connections to database "
            f"'{facts.database}', but up to {needed} are needed: without a free one, writes fail",
            "raise the CONNECTION LIMIT (ALTER ROLE or ALTER DATABASE)",
        )
    yield _locks(name, facts)
    yield _jit(name, facts)
    yield _clock(name, facts)
    yield _autovacuum(name, facts)


def check_durability(
    name: str, facts: ServerFacts, *, is_embedded: bool = False
) -> Iterator[Finding]:
    """What only the event store needs, because the read model can be rebuilt. The embedded server
    has neither standbys nor an archive; ``installation.embedded`` says so."""
    for setting, value, consequence in (
        ("fsync", facts.fsync, "a power failure can lose or damage events"),
        ("full_page_writes", facts.full_page_writes, "a power failure can damage events"),
        ("synchronous_commit", facts.synchronous_commit, "a crash can lose acknowledged writes"),
    ):
        if value == "off":
            fix = f"ALTER SYSTEM SET {setting} = on; {_RELOAD}"
            yield problem(name, f"{setting} is off: {consequence}", fix)
        else:
            yield ok(name, f"{setting} is {value}")
    if facts.data_checksums == "off":
        yield warning(
            name,
            "data checksums are off: damaged pages are not noticed",
            "stop PostgreSQL, run pg_checksums --enable, start it",
        )
    if not is_embedded:
        yield _replication(name, facts)
        yield _backups(name, facts)


def _version(name: str, facts: ServerFacts) -> Finding:
    if facts.version_number < OLDEST_VERSION * 10_000:
        return problem(
            name, f"PostgreSQL {facts.version} is too old", f"upgrade to {OLDEST_VERSION} or newer"
        )
    if facts.is_standby:
        return problem(name, "the server is a standby and takes no writes", "name the primary")
    if facts.encoding != "UTF8":
        return problem(
            name,
            f"the encoding is {facts.encoding}",
            "create the database with ENCODING 'UTF8' TEMPLATE template0",
        )
    return ok(name, f"PostgreSQL {facts.version}")


def _role(name: str, facts: ServerFacts) -> Finding:
    if facts.is_superuser:
        return warning(
            name,
            f"role '{facts.role}' is a superuser: a mistake or an intruder could do anything",
            "use a role of its own (operations.md, Roles)",
        )
    return ok(name, f"role '{facts.role}' is not a superuser")


def _connections(name: str, facts: ServerFacts, workers: int, needed: int) -> Finding:
    free = facts.max_connections - facts.reserved_connections
    use = f"{facts.connections} of {free} connections in use"
    if max(needed, facts.connections) > free * 9 // 10:
        return warning(
            name,
            f"{use}; {workers} API processes and two projectors need up to {needed}",
            f"ALTER SYSTEM SET max_connections = {max(200, 2 * needed)}; {_RESTART}; "
            "or put PgBouncer in front (operations.md, Connection poolers)",
        )
    return ok(name, f"{use}; this installation needs up to {needed}")


def _locks(name: str, facts: ServerFacts) -> Finding:
    if facts.max_locks_per_transaction < LOCKS:
        return warning(
            name,
            f"max_locks_per_transaction is {facts.max_locks_per_transaction}: a rebuild may "
            "run out of locks",
            f"ALTER SYSTEM SET max_locks_per_transaction = {LOCKS}; {_RESTART}",
        )
    return ok(name, f"max_locks_per_transaction is {facts.max_locks_per_transaction}")


def _jit(name: str, facts: ServerFacts) -> Finding:
    if facts.jit_of_role != "off":
        return warning(
            name,
            f"jit is on for role '{facts.role}': behind a pooler, lists of large read models "
            "take a hundred times as long",
            "contentlog migrate",
        )
    return ok(name, f"jit is off for role '{facts.role}'")


def _clock(name: str, facts: ServerFacts) -> Finding:
    difference = facts.now - facts.local_time
    if abs(difference) > CLOCK_DIFFERENCE + facts.reading:
        seconds = difference.total_seconds()
        return warning(
            name,
            f"its clock differs from this machine's by {seconds:+.1f} s: expiry of keys and "
            "the windows of rate limits follow different clocks",
            "synchronize both with NTP",
        )
    return ok(name, "its clock agrees with this machine's")


def _autovacuum(name: str, facts: ServerFacts) -> Finding:
    if facts.autovacuum == "off":
        fix = f"ALTER SYSTEM SET autovacuum = on; {_RELOAD}"
        return problem(name, "autovacuum is off: tables grow and reads become slow", fix)
    return ok(name, "autovacuum is on")


def _replication(name: str, facts: ServerFacts) -> Finding:
    if not facts.standbys:
        return warning(
            name,
            "no standby is connected: a lost disk loses events since the last backup",
            "add a synchronous standby",
        )
    return ok(name, f"{facts.standbys} connected standbys")


def _backups(name: str, facts: ServerFacts) -> Finding:
    if facts.archive_mode == "off":
        return warning(
            name,
            "the write-ahead log is not archived: no backup to a point in time",
            f"set archive_command (operations.md, Back up and restore), archive_mode = on, "
            f"{_RESTART}",
        )
    failed, archived = facts.last_failed, facts.last_archived
    if failed is not None and (archived is None or failed > archived):
        return problem(
            name,
            f"archiving has been failing since {utc_minute(failed)}",
            "see PostgreSQL's log for the output of archive_command",
        )
    if archived is None:
        text = "no part of the write-ahead log has been archived yet"
        return warning(name, text, "run pgbackrest check, which archives one")
    waiting = facts.waiting_segments or 0
    if waiting > WAITING_SEGMENTS or (waiting and facts.now - archived > ARCHIVE_AGE):
        log = "of the write-ahead log"
        return problem(
            name,
            f"{count(waiting, f'segment {log} is', f'segments {log} are')} waiting to be archived; "
            f"the last one was archived at {utc_minute(archived)}: a lost disk loses these events",
            "see what archive_command waits for; if it is too slow, use archive-async",
        )
    if not facts.archive_timeout:
        return warning(
            name,
            "archive_timeout is 0: a segment of the write-ahead log is archived only when it is "
            "full, and a lost disk loses its events",
            f"ALTER SYSTEM SET archive_timeout = '60s'; {_RELOAD}",
        )
    return ok(name, f"the write-ahead log is archived, last at {utc_minute(archived)}")
