"""Imports a file: checks it against the current state of the log, and appends all of it at once.

An import takes a second to decide, an editor's update a millisecond, so an import could lose every
race for the streams of its entries. With priority, it holds an advisory lock on its content type,
and ``write_side.append`` answers changes by others with "stale" without waiting; dispatch repeats
them until the import is done (ADR 21).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime
from functools import partial

from asyncpg.transaction import Transaction
from msgspec import Struct

from write_side.commands import CreateEntry, ImportEntries, UpdateEntry
from write_side.dispatch import CommandResult, Reserve, execute
from write_side.domain.entry_changes import actor_name
from write_side.domain.identity import Actor
from write_side.domain.refusals import (
    InvalidField,
    MissingFields,
    PlanLimitReached,
    Refused,
    SlugTaken,
    StaleDecision,
    UnknownEntry,
    UnknownReference,
    VersionConflict,
    count,
)
from write_side.imports.check import DryRun, check
from write_side.imports.preview import (
    Preview,
    PreviewRow,
    differences,
    repeats_text,
)
from write_side.imports.report import Report, earlier_report, recorded_row
from write_side.imports.request import ImportRequest
from write_side.imports.table import Table, fingerprint_of
from write_side.postgres.connection import is_transient
from write_side.postgres.faults import FAULTS
from write_side.repository import Repository

ATTEMPTS = 10
ATTEMPTS_WITHOUT_PRIORITY = 2
OVERTAKEN = (
    InvalidField,
    MissingFields,
    PlanLimitReached,
    SlugTaken,
    UnknownEntry,
    UnknownReference,
    VersionConflict,
)
"""Refusals of a command that was valid when it was checked; the next check reports the row."""
KEEP_CHANGING = "Entries of this file or their content type keep changing: try again"
WAIT = 2.0
"""Seconds to wait for a connection and for another import that has priority."""
LONGEST = "5s"
"""PostgreSQL then releases the lock, even that of a paused process. More than the largest import
takes to be checked and appended, less than dispatch waits."""
_LIMIT = "SELECT set_config('idle_in_transaction_session_timeout', $1, true)"
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"


class RowsRefused(Refused):
    """Rows have errors, and the import is not restricted to ready rows, or no row is ready."""

    def __init__(self, preview: Preview) -> None:
        self.preview = preview
        super().__init__(
            f"Nothing was imported: {count(preview.counts.error, 'row has', 'rows have')} errors"
        )


class RepeatsUndecided(Refused):
    """Rows with the same slug differ, and no choice was made for them."""

    def __init__(self, preview: Preview) -> None:
        self.preview = preview
        super().__init__(f"Nothing was imported: {repeats_text(preview.repeated)}")


class PreviewOutdated(Refused):
    """The import would no longer do what the user was shown. ``preview``: the current one."""

    def __init__(self, expected: Preview, preview: Preview) -> None:
        self.preview = preview
        self.differences = differences(expected, preview)
        super().__init__("Nothing was imported: the preview is out of date")


def check_importable(preview: Preview, request: ImportRequest) -> None:
    """Raises RowsRefused, RepeatsUndecided."""
    if preview.is_refused(request):
        raise RowsRefused(preview)
    if preview.is_undecided(request):
        raise RepeatsUndecided(preview)


class ImportRun(Struct, frozen=True):
    """An import of a file. ``reserve``: see ``dispatch.execute``."""

    repository: Repository
    table: Table
    request: ImportRequest
    by: Actor
    request_id: str | None = None
    reserve: Reserve | None = None

    async def append(
        self,
        commands: Sequence[CreateEntry | UpdateEntry],
        rows: tuple[PreviewRow, ...],
        fingerprint: str,
    ) -> CommandResult:
        """``rows``: the recorded ones. ``fingerprint``: of the whole file, even for a part."""
        request, counts = self.request, Preview("", rows).counts
        command = ImportEntries(
            actor=request.actor(self.table.name),
            request_id=self.request_id,
            scope=request.scope,
            content_type_slug=request.content_type_slug,
            import_id=request.import_id,
            file_name=self.table.name,
            entries=commands,
            language=request.language,
            by=self.by,
            rows=tuple(map(recorded_row, rows)),
            unchanged=counts.unchanged,
            skipped=counts.skipped,
            failed=counts.error,
            fingerprint=fingerprint,
        )
        return await execute(command, self.repository, self.reserve)

    def report(self, dry_run: DryRun, at: datetime, position: int = 0) -> Report:
        """An import that changes nothing is not recorded and has no position."""
        return Report(
            import_id=self.request.import_id,
            file_name=self.table.name,
            content_type=dry_run.content_type,
            language=self.request.language,
            at=at,
            by=actor_name(self.by),
            counts=dry_run.preview.counts,
            rows=dry_run.preview.rows,
            position=position,
        )


async def run_import(run: ImportRun, expected: Preview | None = None) -> Report:
    """Imports the rows that are ready, all of them or none.

    ``expected``: the preview that the user confirmed; None accepts any. An import that has already
    run has no effect, and its report is returned.

    Raises PreviewOutdated, RowsRefused, RepeatsUndecided, ImportIdTaken, FileMismatch,
    StaleDecision if its entries keep changing, and what ``check`` and ``reserve`` raise.
    """
    repository, request = run.repository, run.request
    fingerprint = await asyncio.to_thread(fingerprint_of, run.table)
    async with AsyncExitStack() as stack:
        for attempt in range(ATTEMPTS):
            if attempt == ATTEMPTS_WITHOUT_PRIORITY and request.update:
                content_type = await repository.content_type(
                    request.scope, request.content_type_slug
                )
                await stack.enter_async_context(priority(repository, content_type.id))
            done = await _attempt(run, fingerprint, expected)
            if done is not None:
                return done
    raise StaleDecision(KEEP_CHANGING)


async def _attempt(run: ImportRun, fingerprint: str, expected: Preview | None) -> Report | None:
    """None if the log changed between the check and the append."""
    earlier = partial(earlier_report, run.repository, run.request, fingerprint)
    if report := await earlier():
        return report
    dry_run = await check(run.repository, run.table, run.request)
    # The import was sent twice at the same time: the check may have seen what the other one
    # imported.
    if report := await earlier():
        return report
    preview = dry_run.preview
    if expected is not None and preview.digest != expected.digest:
        raise PreviewOutdated(expected, preview)
    check_importable(preview, run.request)
    commands = [command for command in dry_run.commands if command is not None]
    if not commands:
        return run.report(dry_run, await run.repository.recorder.time())
    try:
        executed = await run.append(commands, preview.rows, fingerprint)
    except OVERTAKEN:
        return None
    if executed.replayed:
        return await earlier()
    return run.report(dry_run, executed.events[0].event.at, executed.position)


@asynccontextmanager
async def priority(repository: Repository, content_type_id: str) -> AsyncIterator[None]:
    """Gives priority while the block runs; if the lock cannot be acquired in time, runs it without
    priority.

    One import of this process at a time, because each holds a connection of the pool.
    """
    async with repository.import_priority, AsyncExitStack() as stack:
        try:
            # Leaving the stack returns the connection to the pool, which resets its session. A
            # timeout of acquire() would apply to that too, and fail an import that is done.
            async with asyncio.timeout(WAIT):
                connection = await stack.enter_async_context(repository.recorder.pool.acquire())
            transaction = connection.transaction()
            await transaction.start()
            stack.push_async_callback(_roll_back, transaction)
            await connection.execute(_LIMIT, LONGEST)
            await connection.execute(_LOCK, content_type_id, timeout=WAIT)
        except Exception as error:
            if not is_transient(error):
                raise
        yield


async def _roll_back(transaction: Transaction) -> None:
    """The transaction wrote nothing; PostgreSQL may have already ended its session."""
    with suppress(*FAULTS):
        await transaction.rollback()
