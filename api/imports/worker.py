"""Runs the imports that were accepted over HTTP, two at a time in each API process.

If a process is killed during an import, another process claims the import when the lease ends
(``write_side.imports.jobs``).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import structlog
from msgspec import Struct
from msgspec.structs import replace

from api.imports.result import ImportResult, result_of_preview, result_of_report, with_file
from api.rate_limits.limits import import_cost, projection_cost, seconds_cost
from write_side import tracing
from write_side.domain.identity import new_id
from write_side.domain.refusals import Refused, UnknownImport
from write_side.imports import jobs
from write_side.imports.check import check
from write_side.imports.columns import MappingRefused, map_columns
from write_side.imports.file_reader import read_file
from write_side.imports.importer import (
    ImportRun,
    RepeatsUndecided,
    RowsRefused,
    check_importable,
    run_import,
)
from write_side.imports.jobs import ClaimedJob, JobState
from write_side.imports.report import import_report
from write_side.imports.table import FileRefused, Table
from write_side.postgres.faults import FaultLog
from write_side.repository import Repository
from write_side.waiting import cancel_all, wait_until_set

AT_ONCE = 2
ATTEMPTS = 5
"""Attempts after which an import that kills its process is abandoned."""
CLOSING = 1.0
"""Seconds to wait for a claim in progress when the worker ends, so that it can be released."""
POLL = 5.0
"""Seconds between checks for imports that another process has abandoned."""
AGAIN = 5.0
"""Seconds after which a failed import is tried again."""
GIVEN_UP = (
    f"The import was interrupted {ATTEMPTS} times and was abandoned; nothing was imported: "
    "send the file again, or a smaller one"
)
MAP = " (the part map[COLUMN] maps a column; an empty value leaves it out)"
CHOOSE = ": choose with repeats or key"
_log = structlog.get_logger("api.imports")


class JobEnd(Struct, frozen=True):
    """``message``: why the file as a whole was refused."""

    state: JobState
    result: ImportResult | None = None
    message: str | None = None


class ImportWorker:
    """``charge``: takes units of cost from a workspace (``api.rate_limits``)."""

    def __init__(
        self,
        repository: Repository,
        charge: Callable[[str, int], None] = lambda _workspace, _units: None,
    ) -> None:
        self._repository = repository
        self._charge = charge
        self._id = new_id()
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Reports that an import is waiting."""
        self._wake.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._repeat(), name="imports") for _ in range(AT_ONCE)]
        try:
            yield
        finally:
            await cancel_all(*tasks)

    async def _repeat(self) -> None:
        faults = FaultLog(_log, "imports cannot be claimed")
        while True:
            self._wake.clear()
            try:
                worked = await self.work()
            except Exception as error:
                faults.add(error)
                worked = False
            if worked:
                self.wake()
                continue
            await wait_until_set(self._wake, POLL)

    async def work(self) -> bool:
        """Claims one import and runs it; False if there is none."""
        job = await self._claimed()
        if job is None:
            return False
        work = asyncio.create_task(self._carry_out(job))
        try:
            while not (await asyncio.wait({work}, timeout=jobs.LEASE / 3))[0]:
                if not await jobs.renew_lease(self._repository, job.id, self._id, jobs.LEASE):
                    break  # another process has it
        finally:
            if not work.done():
                await cancel_all(work)
                await self._release(job, 0)
        return True

    async def _claimed(self) -> ClaimedJob | None:
        """One import. The server may execute a claim that was cancelled, and the job would be stuck
        until the lease ends. Therefore this waits for the claim and then releases it."""
        claim = jobs.claim_job(self._repository, self._id)
        claiming = asyncio.create_task(claim, name="imports")
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(CLOSING):
                    job = await claiming
                    if job is not None:
                        await self._release(job, 0)
            raise

    async def _carry_out(self, job: ClaimedJob) -> None:
        try:
            with tracing.shared([job.options.traceparent], "import", "consumer"):
                end = await self._end_of(job)
            result = None if end.result is None else msgspec.json.encode(end.result)
            await jobs.end_job(self._repository, job.id, self._id, end.state, end.message, result)
        except Exception as error:
            _log.warning("an import failed", id=job.id, attempt=job.attempts, fault=repr(error))
            await self._release(job, AGAIN)

    async def _release(self, job: ClaimedJob, seconds: float) -> None:
        """Releases the job, so that another process, or this one later, can run it. If the event
        store is unavailable, the lease expires."""
        with contextlib.suppress(Exception):
            await jobs.renew_lease(self._repository, job.id, self._id, seconds)

    async def _end_of(self, job: ClaimedJob) -> JobEnd:
        with contextlib.suppress(UnknownImport):
            # The process that had the job was killed after the append.
            report = await import_report(self._repository, job.options.request.scope, job.id)
            return JobEnd("imported", result_of_report(report))
        if job.attempts > ATTEMPTS:
            return JobEnd("refused", message=GIVEN_UP)
        try:
            return await self._read_and_import(job)
        except MappingRefused as refused:
            return JobEnd("refused", message=f"{refused}{MAP}")
        except (FileRefused, Refused) as refused:
            return JobEnd("refused", message=str(refused))

    async def _read_and_import(self, job: ClaimedJob) -> JobEnd:
        workspace = job.options.request.scope.workspace
        table = await read_file(
            job.document,
            job.file_name,
            job.options.choice,
            charge=lambda seconds: self._charge(workspace, seconds_cost(seconds)),
        )
        self._charge(workspace, await asyncio.to_thread(import_cost, table))
        try:
            end = await self._import(job, table)
        except (RowsRefused, RepeatsUndecided) as refused:
            todo = CHOOSE if isinstance(refused, RepeatsUndecided) else ""
            result = result_of_preview(job.id, refused.preview)
            end = JobEnd("refused", result, f"{refused}{todo}")
        assert end.result is not None
        return replace(end, result=await asyncio.to_thread(with_file, end.result, table))

    async def _import(self, job: ClaimedJob, table: Table) -> JobEnd:
        repository, options, request = self._repository, job.options, job.options.request
        rows = len(table.rows)
        await jobs.advance_job(repository, job.id, self._id, "checking", rows)
        content_type = await repository.fresh_content_type(request.scope, request.content_type_slug)
        request = await asyncio.to_thread(
            map_columns, request, options.maps, options.key, table, content_type.value_fields
        )
        if options.is_dry_run:
            preview = (await check(repository, table, request)).preview
            check_importable(preview, request)
            return JobEnd("checked", result_of_preview(job.id, preview))

        async def decided(size: int) -> None:
            # The response has already been sent, so nothing can be refused any more.
            self._charge(request.scope.workspace, projection_cost(size))
            await jobs.advance_job(repository, job.id, self._id, "importing", rows)

        run = ImportRun(repository, table, request, options.by, options.request_id, decided)
        return JobEnd("imported", result_of_report(await run_import(run)))
