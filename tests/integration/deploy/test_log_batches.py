"""A stopped API process has a log line for every request that it answered."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from pathlib import Path

import pytest

from tests.processes import Processes

pytestmark = pytest.mark.slow
REQUESTS = 50


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_no_line_is_lost_at_sigterm(database_url: str, tmp_path: Path, workers: str) -> None:
    log = tmp_path / "log"
    processes = Processes(database_url, log, CONTENTLOG_WORKERS=workers)
    try:
        processes.start("api")
        await processes.caught_up()
        for number in range(REQUESTS):
            await asyncio.to_thread(get, f"{processes.url}/healthz", str(number))
    finally:
        # Stop at once, while the last lines still wait for their batch.
        processes.stop()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    logged = [line["request_id"] for line in lines if line.get("path") == "/healthz"]
    assert sorted(logged, key=int) == [str(number) for number in range(REQUESTS)]
    assert processes.running["api"].returncode == 0


def get(url: str, request_id: str) -> None:
    request = urllib.request.Request(url, headers={"X-Request-Id": request_id})
    with urllib.request.urlopen(request, timeout=60) as response:
        assert response.status == 200
