"""Traces of real processes, as received by a collector."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import aiohttp
import pytest

from tests.e2e.collector import Collector, collecting
from tests.integration.live_projector import until
from tests.integration.projector.sample_log import ContentBuilder
from tests.processes import Processes
from write_side import commands as c
from write_side.repository import Repository

pytestmark = pytest.mark.slow
SECRET = "a-secret-of-the-traced-test"
REQUEST = "a-request-of-the-traced-test"
SECONDS = 120.0
FAST = {"OTEL_BSP_SCHEDULE_DELAY": "100"}
PATIENT = {"CONTENTLOG_READ_YOUR_WRITES_MS": "60000"}


@pytest.fixture
async def _posts(repository: Repository) -> None:
    builder = ContentBuilder(repository)
    await builder.workspace()
    await builder.content_type()
    await builder.execute(
        c.IssueKey,
        workspace=builder.scope.workspace,
        name="test",
        permissions=("content.view", "content.edit"),
        secret_hash=hashlib.sha256(SECRET.encode()).hexdigest(),
    )


@pytest.mark.usefixtures("_posts")
async def test_one_trace_goes_through_the_api_and_the_projector(
    database_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "processes.log"
    with collecting() as collector:
        settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, **FAST, **PATIENT}
        processes = Processes(database_url, log, **settings)
        try:
            processes.start("api")
            processes.start("projector")
            await _create(processes.url)
            await until(lambda: _has(collector, "project"), SECONDS)
            await until(lambda: _has(collector, "POST /v1/content"), SECONDS)
        finally:
            processes.stop()
    [request] = collector.named("POST /v1/content")
    trace = [span for span in collector.spans if span.trace_id == request.trace_id]
    assert {span.service for span in trace} == {"contentlog-api", "contentlog-projector"}
    [project] = [span for span in trace if span.name == "project"]
    assert project.parent_id == request.span_id
    assert {"append", "write_side.append", "wait until visible"} <= {span.name for span in trace}
    assert request.attributes["contentlog.request_id"] == REQUEST
    assert project.attributes["contentlog.request_id"] == REQUEST
    lines = [json.loads(line) for line in log.read_text().splitlines() if REQUEST in line]
    assert {line["trace_id"] for line in lines} == {request.trace_id}


async def _has(collector: Collector, name: str) -> bool:
    return bool(collector.named(name))


async def _create(url: str) -> None:
    body = {"contentTypeSlug": "posts", "title": "Traced"}
    headers = {"Authorization": f"Bearer {SECRET}", "X-Request-Id": REQUEST}
    async with aiohttp.ClientSession(url) as session:

        async def is_ready() -> bool:
            try:
                async with session.get("/readyz") as response:
                    return response.status == 200
            except aiohttp.ClientError:
                return False

        await until(is_ready, SECONDS)
        async with session.post("/v1/content", json=body, headers=headers) as response:
            assert response.status == 200
            assert response.headers["X-Content-Visible"] == "true"
