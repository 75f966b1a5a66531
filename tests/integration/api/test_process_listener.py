"""The HTTP listener of processes other than the API."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs
from structlog.typing import EventDict

from api.operations.process_listener import process_listener
from api.settings import WebhookSettings
from api.webhooks.process import run_sessions as deliver
from projector.entry_search import UNSEARCHABLE
from projector.process import ProjectorSettings
from projector.process import run_sessions as project
from tests.integration.live_projector import connected, in_background, projecting, until
from tests.processes import free_port
from write_side.process_state import ProcessState


@pytest.fixture
def state() -> ProcessState:
    return ProcessState()


@pytest.fixture
async def session(state: ProcessState) -> AsyncIterator[aiohttp.ClientSession]:
    port = free_port()
    async with (
        process_listener("127.0.0.1", port, "projector", state, [UNSEARCHABLE]),
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
    ):
        yield session


async def readiness(session: aiohttp.ClientSession) -> tuple[int, Any]:
    async with session.get("/readyz") as response:
        return response.status, await response.json()


async def has_role(session: aiohttp.ClientSession, role: str) -> bool:
    return bool((await readiness(session))[1]["role"] == role)


async def test_a_process_that_has_just_started_is_alive_but_not_ready(
    session: aiohttp.ClientSession,
) -> None:
    async with session.get("/healthz") as response:
        assert response.status == 200
    status, body = await readiness(session)
    assert status == 503
    assert body["role"] == "starting"


async def test_a_projector_is_active_or_stands_by_and_both_are_ready(
    database_url: str, session: aiohttp.ClientSession, state: ProcessState
) -> None:
    settings = ProjectorSettings(database_url, database_url)
    async with contextlib.AsyncExitStack() as first:
        await first.enter_async_context(projecting(database_url))
        async with connected(database_url) as connection:

            async def is_active() -> bool:
                role = "SELECT FROM projector.process WHERE role = 'active'"
                return bool(await connection.fetch(role))

            await until(is_active)
        async with in_background(project(settings, state)):
            await until(lambda: has_role(session, "standby"))
            assert (await readiness(session))[0] == 200
            await first.aclose()
            await until(lambda: has_role(session, "active"))
            assert (await readiness(session))[0] == 200


async def test_a_projector_that_halts_is_not_ready_and_says_why(
    database_url: str, session: aiohttp.ClientSession, state: ProcessState
) -> None:
    async with connected(database_url) as connection:
        await connection.execute("UPDATE read_model.checkpoint SET shape = 'of another version'")
    async with in_background(project(ProjectorSettings(database_url, database_url), state)):
        await until(lambda: has_role(session, "halted"))
        status, body = await readiness(session)
    assert status == 503
    assert "different shape" in body["reason"]


@pytest.mark.parametrize("has_store", [False, True])
async def test_without_a_migration_the_deliverer_says_what_to_run(
    database_url: str, empty_database_url: str, has_store: bool
) -> None:
    store_url = database_url if has_store else empty_database_url
    with capture_logs() as lines:
        async with in_background(deliver(WebhookSettings(store_url, empty_database_url))):
            await until(lambda: are_logged(lines, "begins again"))
    [line] = lines
    assert line["fault"].endswith("run `contentlog migrate`")


async def are_logged(lines: list[EventDict], *events: str) -> bool:
    return {*events} <= {line["event"] for line in lines}


async def test_the_deliverer_reports_its_role(
    database_url: str, session: aiohttp.ClientSession, state: ProcessState
) -> None:
    async with in_background(deliver(WebhookSettings(database_url, database_url), state)):
        await until(lambda: has_role(session, "active"))
        assert (await readiness(session))[0] == 200


async def test_a_read_model_that_does_not_respond_leaves_the_lease_to_the_deliverer(
    database_url: str,
    session: aiohttp.ClientSession,
    state: ProcessState,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.webhooks.process.PATIENCE", 0.5)
    async with connected(database_url) as connection, connection.transaction():
        await connection.execute("LOCK TABLE read_model.checkpoint IN ACCESS EXCLUSIVE MODE")
        with capture_logs() as lines:
            async with in_background(deliver(WebhookSettings(database_url, database_url), state)):
                await until(lambda: has_role(session, "active"))
                await until(lambda: are_logged(lines, "begins again"))
    assert [line["fault"] for line in lines] == ["TimeoutError()"]


async def test_the_deliverer_logs_why_the_read_model_is_unavailable(
    database_url: str, session: aiohttp.ClientSession, state: ProcessState
) -> None:
    with capture_logs() as lines:
        async with in_background(deliver(WebhookSettings(database_url, database_url), state)):
            await until(lambda: are_logged(lines, "webhooks are active"))
            async with connected(database_url) as connection:
                await connection.execute("ALTER TABLE read_model.webhook RENAME TO missing")
            await until(lambda: are_logged(lines, "begins again"))
    [fault] = [line["fault"] for line in lines if line["event"] == "begins again"]
    assert 'relation "read_model.webhook" does not exist' in fault


async def test_metrics_name_the_process_and_its_role(
    session: aiohttp.ClientSession, state: ProcessState
) -> None:
    state.report("standby")
    async with session.get("/metrics") as response:
        families = {one.name: one for one in text_string_to_metric_families(await response.text())}
    roles = families["contentlog_process_role"].samples
    assert [one.labels for one in roles if one.value] == [
        {"process": "projector", "role": "standby"}
    ]
    assert {"process_resident_memory_bytes", "contentlog_unsearchable_entries"} <= families.keys()
    assert families["contentlog_process_report_seconds"].samples[0].value < 60
