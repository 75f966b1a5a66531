"""``kill -9`` of the API during an import.

An import repeated from the wizard takes effect once; one over HTTP is completed by another process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.e2e.proxied_service import PATIENCE, SECRET, Service, serving
from tests.integration.api.dashboard import Browser
from tests.integration.api.import_requests import PATH, ended, form
from tests.integration.api.server import Client
from tests.integration.api.wizard import Wizard, csv
from tests.integration.live_projector import connected, until

pytestmark = pytest.mark.slow

ROWS = 40
# An import whose changes cannot be read yet must still wait for them when the API is killed.
PATIENT = {"CONTENTLOG_READ_YOUR_WRITES_MS": "60000"}
FILE = csv("Title,Body", *(f"Row {n},Text {n}" for n in range(ROWS)))
_HOLD_LOG = "SELECT FROM write_side.head FOR UPDATE"
_HOLD_MODEL = "SELECT FROM read_model.checkpoint FOR UPDATE"
_WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query NOT LIKE '%checkpoint%'"""
_LEASE_ENDS = "UPDATE write_side.import_job SET lease_until = now()"
_IMPORTED = "SELECT count(*) FROM write_side.event WHERE topic = 'entry.created.v1'"


@asynccontextmanager
async def _lock_held(url: str, statement: str) -> AsyncIterator[None]:
    async with connected(url) as connection, connection.transaction():
        await connection.execute(statement)
        yield


async def _counted(url: str, statement: str) -> int:
    async with connected(url) as connection:
        return int(await connection.fetchval(statement))


@pytest.fixture
async def service(database_url: str, tmp_path: Path) -> AsyncIterator[Service]:
    log = tmp_path / "processes.log"
    async with serving(database_url, database_url, log, environment=PATIENT) as service:
        yield service


async def test_an_import_whose_process_is_killed_takes_effect_once(
    service: Service, database_url: str
) -> None:
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(service.processes.url, cookie_jar=jar) as session:
        browser = Browser(session)
        await browser.sign_in(SECRET)
        wizard = Wizard(browser)
        import_id = await wizard.previewed(FILE, "Title", "body")
        digest = await wizard.digest(import_id)

        async def waits() -> bool:
            return await _counted(database_url, _WAITING) > 0

        async with _lock_held(database_url, _HOLD_LOG):
            await _kill_when(service, wizard.run(import_id, digest), waits)
        await _started(service)
        # The database may still run a statement whose client is gone.
        assert await _counted(database_url, _IMPORTED) in (0, ROWS)

        async def is_there() -> bool:
            return await _counted(database_url, _IMPORTED) == ROWS

        if not await is_there():
            async with _lock_held(database_url, _HOLD_MODEL):
                await _kill_when(service, wizard.run(import_id, digest), is_there)
            await _started(service)

        answer = await wizard.run(import_id, digest)
        assert (answer.status, answer.headers["Location"]) == (
            *(303, f"/dashboard/imports/{import_id}"),
        )
        report = (await wizard.page(f"{import_id}.json")).body
        assert (report["counts"]["new"], len(report["rows"])) == (ROWS, ROWS)
        assert await _counted(database_url, _IMPORTED) == ROWS
        await service.until_caught_up()
        async with service.session.get("/v1/content/posts?status=draft") as listed:
            assert (await listed.json())["pagination"]["total"] == ROWS


async def test_an_accepted_import_survives_its_process(service: Service, database_url: str) -> None:
    key = {"Authorization": f"Bearer {SECRET}"}
    async with aiohttp.ClientSession(service.processes.url, headers=key) as session:

        async def waits() -> bool:
            return await _counted(database_url, _WAITING) > 0

        async with _lock_held(database_url, _HOLD_LOG):
            async with session.post(PATH, data=form(FILE)) as answer:
                assert answer.status == 202, await answer.text()
                path = answer.headers["Location"]
            await until(waits, PATIENCE)
            service.processes.kill("api")
        await _started(service)
        async with connected(database_url) as connection:
            await connection.execute(_LEASE_ENDS)
        one = await ended(Client(session, SECRET), path)
        assert (one["state"], one["progress"]["done"]) == ("imported", ROWS)
        assert await _counted(database_url, _IMPORTED) == ROWS


async def _kill_when(service: Service, running: Any, condition: Any) -> None:
    """Kills the API once the condition holds."""
    task = asyncio.ensure_future(running)
    await until(condition, PATIENCE)
    assert not task.done(), task.result()
    service.processes.kill("api")
    with pytest.raises(aiohttp.ClientError):
        await task


async def _started(service: Service) -> None:
    service.processes.start("api")
    await until(lambda: _answers(service), PATIENCE)


async def _answers(service: Service) -> bool:
    try:
        async with service.session.get("/healthz") as response:
            return response.status == 200
    except (aiohttp.ClientError, TimeoutError):
        await asyncio.sleep(0.1)
        return False
