"""Imports that were accepted over HTTP and are run later by any API process.

A process claims a job for LEASE seconds and renews the lease while it works. If it dies, another
process claims the job after the lease has expired. An import id takes effect once, even if two
processes work on it.
"""

from __future__ import annotations

import asyncio
import zlib
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from write_side import tracing
from write_side.domain.identity import Actor, Scope, is_id
from write_side.domain.refusals import CommandKeyReused, UnknownImport
from write_side.imports.request import ImportRequest
from write_side.imports.table import Choice
from write_side.repository import Repository

JobState = Literal["checking", "importing", "refused", "checked", "imported"]
LEASE = 30.0
MOST_OF_WORKSPACE = 5
"""Waiting and running jobs of a workspace: up to 80 MB of files."""
MOST_IN_ALL = 64

_ACCEPT = """
SELECT outcome, job_id::text
FROM write_side.accept_import_job($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"""
_EARLIER = """
SELECT id::text, digest FROM write_side.import_job
WHERE command_key = $1 AND at > now() - write_side.command_lifetime()"""
_CLAIM = """
SELECT id::text, file_name, document, options, attempts
FROM write_side.claim_import_job($1, $2)"""
_RENEW = """
UPDATE write_side.import_job
SET lease_until = clock_timestamp() + make_interval(secs => $3)
WHERE id = $1 AND worker = $2 AND document IS NOT NULL RETURNING 1"""
_ADVANCE = """
UPDATE write_side.import_job SET state = $3, row_count = $4
WHERE id = $1 AND worker = $2 AND document IS NOT NULL"""
_END = """
UPDATE write_side.import_job SET state = $3, message = $4, result = $5, document = NULL
WHERE id = $1 AND worker = $2 AND document IS NOT NULL"""
_FIND = """
SELECT state, row_count, message, result FROM write_side.import_job
WHERE id = $1 AND (workspace, environment) = ($2, $3)"""


class TooManyJobs(Exception):
    """``of_workspace``: whether this workspace has too many imports."""

    def __init__(self, *, of_workspace: bool) -> None:
        self.of_workspace = of_workspace
        super().__init__("Too many imports are waiting")


class JobOptions(Struct, frozen=True):
    """The options of the request. ``request`` has no targets and no key: ``maps`` pairs columns, by
    heading or number, with targets, and the other columns are matched by their headings; ``key`` is
    the column that slugs are derived from. ``traceparent``: of the request's span."""

    request: ImportRequest
    choice: Choice
    maps: tuple[tuple[str, str], ...]
    key: str | None
    is_dry_run: bool
    by: Actor
    request_id: str
    traceparent: str | None = msgspec.field(default_factory=tracing.context)


class ClaimedJob(Struct, frozen=True):
    """``attempts``: how often the job has been claimed, this time included."""

    id: str
    file_name: str
    document: bytes
    options: JobOptions
    attempts: int


class JobStatus(Struct, frozen=True):
    """``rows``: of the file, None before it is read. ``result``: JSON, None before the end."""

    state: JobState
    rows: int | None
    message: str | None
    result: bytes | None

    @property
    def is_in_progress(self) -> bool:
        return self.state in ("checking", "importing")


async def earlier_job(repository: Repository, command_key: str, digest: bytes) -> str | None:
    """The id of the job that was accepted under this key. Raises CommandKeyReused."""
    rows = await repository.recorder.fetch(_EARLIER, command_key)
    if not rows:
        return None
    if rows[0]["digest"] != digest:
        raise CommandKeyReused
    return str(rows[0]["id"])


async def accept_job(
    repository: Repository,
    options: JobOptions,
    file_name: str,
    document: bytes,
    digest: bytes,
    command_key: str | None = None,
) -> str:
    """The id of the job, which is also its import id. ``digest``: of the file and all options.
    Raises TooManyJobs, CommandKeyReused."""
    [row] = await repository.recorder.fetch(
        _ACCEPT,
        options.request.import_id,
        *astuple(options.request.scope),
        command_key,
        digest,
        file_name,
        document,
        msgspec.json.encode(options).decode(),
        MOST_OF_WORKSPACE,
        MOST_IN_ALL,
    )
    if row["outcome"] == "reused":
        raise CommandKeyReused
    if row["job_id"] is None:
        raise TooManyJobs(of_workspace=row["outcome"] != "full")
    return str(row["job_id"])


async def claim_job(repository: Repository, worker: str) -> ClaimedJob | None:
    """The oldest job that no process works on and whose workspace has no other running job."""
    rows = await repository.recorder.fetch(_CLAIM, worker, LEASE)
    if not rows:
        return None
    row = rows[0]
    options = msgspec.json.decode(row["options"], type=JobOptions)
    return ClaimedJob(row["id"], row["file_name"], row["document"], options, row["attempts"])


async def renew_lease(repository: Repository, job_id: str, worker: str, lease: float) -> bool:
    """False if another worker has the job. A lease of 0 releases the job."""
    return bool(await repository.recorder.fetch(_RENEW, job_id, worker, lease))


async def advance_job(
    repository: Repository, job_id: str, worker: str, state: JobState, rows: int
) -> None:
    await repository.recorder.fetch(_ADVANCE, job_id, worker, state, rows)


async def end_job(
    repository: Repository,
    job_id: str,
    worker: str,
    state: JobState,
    message: str | None,
    result: bytes | None,
) -> None:
    """Ends a job and deletes its file. A message may quote a NUL of a workbook, which PostgreSQL
    cannot store."""
    message = message and message.replace("\0", "\ufffd")
    compressed = None if result is None else await asyncio.to_thread(zlib.compress, result, 1)
    await repository.recorder.fetch(_END, job_id, worker, state, message, compressed)


async def job_status(repository: Repository, scope: Scope, job_id: str) -> JobStatus:
    """Raises UnknownImport, also for a job of another workspace or environment."""
    rows = []
    if is_id(job_id):
        rows = await repository.recorder.fetch(_FIND, job_id, *astuple(scope))
    if not rows:
        raise UnknownImport(job_id)
    row = rows[0]
    result = row["result"]
    if result is not None:
        result = await asyncio.to_thread(zlib.decompress, result)
    return JobStatus(row["state"], row["row_count"], row["message"], result)
