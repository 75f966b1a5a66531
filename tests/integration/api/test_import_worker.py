"""One process at a time executes accepted imports; if it dies, another one takes over."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from api.imports import worker
from api.imports.result import ImportResult, with_file
from api.imports.worker import GIVEN_UP, ImportWorker
from api.rate_limits.limits import IMPORTED_ROW
from tests.integration.live_projector import connected
from tests.integration.write_side import import_fixtures
from tests.integration.write_side.import_fixtures import OPERATOR, SCOPE, entries
from write_side.domain.identity import Scope, new_id
from write_side.imports import jobs
from write_side.imports.check import check
from write_side.imports.jobs import JobOptions, JobStatus
from write_side.imports.request import ImportRequest
from write_side.imports.table import NO_CHOICE
from write_side.repository import Repository
from write_side.store.retention import delete_leftovers

LEASE_ENDS = "UPDATE write_side.import_job SET lease_until = now() - interval '1 second'"
FILE = b"Title,Body\nA,x\n"


@pytest.fixture
async def magazine(repository: Repository) -> Repository:
    return await import_fixtures.magazine(repository)


async def accepted(
    repository: Repository,
    document: bytes = FILE,
    scope: Scope = SCOPE,
    *,
    is_dry_run: bool = False,
) -> str:
    request = ImportRequest(scope, "posts", new_id())
    options = JobOptions(request, NO_CHOICE, (), None, is_dry_run, OPERATOR, "r-1")
    digest = request.import_id.encode()
    return await jobs.accept_job(repository, options, "a.csv", document, digest)


async def status(repository: Repository, job_id: str) -> JobStatus:
    return await jobs.job_status(repository, SCOPE, job_id)


async def test_a_job_is_claimed_by_one_worker_until_its_lease_ends(
    magazine: Repository, database_url: str
) -> None:
    job_id = await accepted(magazine)
    first, second = new_id(), new_id()
    found = await asyncio.gather(*(jobs.claim_job(magazine, each) for each in (first, second)))
    assert [one.id for one in found if one] == [job_id]
    winner, other = (first, second) if found[0] else (second, first)
    assert await jobs.renew_lease(magazine, job_id, winner, 30)
    async with connected(database_url) as connection:
        await connection.execute(LEASE_ENDS)
    again = await jobs.claim_job(magazine, other)
    assert again is not None
    assert (again.id, again.attempts, again.document) == (job_id, 2, FILE)
    assert not await jobs.renew_lease(magazine, job_id, winner, 30)
    await jobs.end_job(magazine, job_id, winner, "refused", "late", None)
    assert (await status(magazine, job_id)).state == "checking", "the late worker has no say"


async def test_a_workspace_has_one_import_running_in_the_order_of_acceptance(
    magazine: Repository,
) -> None:
    mine = [await accepted(magazine) for _ in range(2)]
    rival = await accepted(magazine, scope=Scope("rival", "production"))
    worker = new_id()
    claimed = [await jobs.claim_job(magazine, worker) for _ in range(3)]
    assert [one and one.id for one in claimed] == [mine[0], rival, None]
    await jobs.end_job(magazine, mine[0], worker, "imported", None, b"{}")
    then = await jobs.claim_job(magazine, worker)
    assert then is not None
    assert then.id == mine[1]


async def test_an_import_whose_process_died_after_the_append_is_not_repeated(
    magazine: Repository, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await accepted(magazine)

    async def died(*_: Any) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "end_job", died)
        await ImportWorker(magazine).work()
    assert (await status(magazine, job_id)).state == "importing"
    before = await magazine.recorder.head()
    async with connected(database_url) as connection:
        await connection.execute(LEASE_ENDS)
    assert await ImportWorker(magazine).work()
    assert (await status(magazine, job_id)).state == "imported"
    assert (await magazine.recorder.head(), len(await entries(magazine, "a"))) == (before, 1)
    assert not await ImportWorker(magazine).work()


async def test_an_import_that_always_kills_its_process_is_abandoned(
    magazine: Repository, database_url: str
) -> None:
    job_id = await accepted(magazine)
    async with connected(database_url) as connection:
        await connection.execute("UPDATE write_side.import_job SET attempts = $1", worker.ATTEMPTS)
    await ImportWorker(magazine).work()
    found = await status(magazine, job_id)
    assert (found.state, found.message) == ("refused", GIVEN_UP)
    assert await entries(magazine, "a") == {}


@pytest.mark.parametrize(("is_dry_run", "states"), [(False, ["importing"]), (True, [])])
async def test_a_file_is_checked_once(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch, is_dry_run: bool, states: list[str]
) -> None:
    """The state becomes ``importing`` once the rows are checked."""
    steps: list[str] = []
    advance = jobs.advance_job

    async def checked(*args: Any) -> Any:
        steps.append("check")
        return await check(*args)

    async def advanced(*args: Any) -> None:
        steps.append(args[3])
        await advance(*args)

    monkeypatch.setattr(worker, "check", checked)
    monkeypatch.setattr("write_side.imports.importer.check", checked)
    monkeypatch.setattr(jobs, "advance_job", advanced)
    job_id = await accepted(magazine, is_dry_run=is_dry_run)
    charged: list[int] = []
    await ImportWorker(magazine, lambda _, units: charged.append(units)).work()
    assert charged[1] == IMPORTED_ROW + 2, "after the time of reading the file"
    assert steps == ["checking", "check", *states]
    assert (await status(magazine, job_id)).state == ("checked" if is_dry_run else "imported")


async def test_the_cells_of_a_file_are_searched_in_a_thread(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may have a million cells."""
    threads: list[threading.Thread] = []

    def noted(*args: Any) -> ImportResult:
        threads.append(threading.current_thread())
        return with_file(*args)

    monkeypatch.setattr(worker, "with_file", noted)
    job_id = await accepted(magazine)
    await ImportWorker(magazine).work()
    assert (await status(magazine, job_id)).state == "imported"
    assert len(threads) == 1
    assert threading.main_thread() not in threads


async def test_an_unexpected_failure_is_tried_again(
    magazine: Repository, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await accepted(magazine)

    async def failing(*_: Any, **_options: Any) -> None:
        raise RuntimeError("unforeseen")

    with monkeypatch.context() as patch:
        patch.setattr(worker, "run_import", failing)
        await ImportWorker(magazine).work()
    assert (await status(magazine, job_id)).state == "checking"
    assert await jobs.claim_job(magazine, new_id()) is None, "not at once"
    async with connected(database_url) as connection:
        await connection.execute(LEASE_ENDS)
    await ImportWorker(magazine).work()
    assert (await status(magazine, job_id)).state == "imported"


async def test_a_stopped_worker_releases_its_import(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await accepted(magazine)
    reading = asyncio.Event()

    async def slow(*_: Any, **_options: Any) -> None:
        reading.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(worker, "read_file", slow)
    async with ImportWorker(magazine).running():
        await reading.wait()
    job = await jobs.claim_job(magazine, new_id())
    assert job is not None
    assert job.id == job_id


async def test_a_cancelled_claim_releases_its_import(
    magazine: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await accepted(magazine)
    claim, claimed = jobs.claim_job, asyncio.Event()

    async def late(*claiming: Any) -> Any:
        """The server has executed the claim, but the worker does not have the result yet."""
        job = await claim(*claiming)
        claimed.set()
        await asyncio.sleep(0.05)
        return job

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "claim_job", late)
        async with ImportWorker(magazine).running():
            await claimed.wait()
    taken = await jobs.claim_job(magazine, new_id())
    assert taken is not None
    assert taken.id == job_id


async def test_a_file_is_kept_until_the_end_and_the_result_for_a_week(
    magazine: Repository, database_url: str
) -> None:
    done, waiting = await accepted(magazine), await accepted(magazine)
    await ImportWorker(magazine).work()
    async with connected(database_url) as connection:
        await connection.execute("UPDATE write_side.import_job SET at = at - interval '8 days'")
        kept = "SELECT id::text FROM write_side.import_job WHERE document IS NOT NULL"
        assert await connection.fetchval(kept) == waiting
        await delete_leftovers(magazine.recorder)
        ids = await connection.fetch("SELECT id::text FROM write_side.import_job")
    assert [row["id"] for row in ids] == [waiting]
    assert done != waiting
