"""The monitoring files with the real Prometheus (Debian's prometheus package)."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from tests.benchmarks.workload import SECRET, append_entries, prepare
from tests.integration.live_projector import until
from tests.processes import Processes, free_port, running
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

pytestmark = [
    pytest.mark.slow,
    *(
        pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")
        for program in ("prometheus", "promtool")
    ),
]

DEPLOY = Path(__file__).parents[2] / "deploy"
HEADERS = {"Authorization": f"Bearer {SECRET}"}
PATIENCE = 120.0
# These panels have data only if requests are refused or not counted, or during a rebuild.
EMPTY = {"Refused by rate limits", "Rebuild, rollback, verify"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files, laid out as the Compose file mounts them."""
    shutil.copy(DEPLOY / "container/monitoring/prometheus.yaml", tmp_path / "prometheus.yml")
    shutil.copy(DEPLOY / "monitoring/alerts.yaml", tmp_path)
    return tmp_path


@pytest.fixture
async def service(database_url: str, tmp_path: Path) -> AsyncIterator[tuple[Processes, int]]:
    """The processes, and the projector's port."""
    async with open_recorder(database_url) as recorder:
        repository = Repository(recorder, EventMapper())
        await append_entries(repository, await prepare(repository), 30)
    port = free_port()
    with running(database_url, tmp_path / "log", CONTENTLOG_PROBE_PORT=str(port)) as processes:
        await processes.caught_up()
        yield processes, port


def test_promtool_accepts_the_configuration_and_the_alerts(folder: Path) -> None:
    checked = subprocess.run(
        ["promtool", "check", "config", folder / "prometheus.yml"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert checked.returncode == 0, checked.stderr
    assert "rules found" in checked.stdout


async def test_prometheus_scrapes_and_evaluates_what_alerts_and_dashboard_ask_for(
    service: tuple[Processes, int], folder: Path
) -> None:
    processes, probe = service
    panels = json.loads((DEPLOY / "monitoring/dashboard.json").read_text())["panels"]
    targets = {processes.operators_url.removeprefix("http://"), f"127.0.0.1:{probe}"}
    with prometheus(folder, targets) as url:
        async with aiohttp.ClientSession(url) as session:
            await until(lambda: is_complete(session, processes, targets), PATIENCE)
            groups = (await ask(session, "rules"))["groups"]
            [rules] = [group["rules"] for group in groups]
            assert len(rules) == len(alerts())
            assert {rule["health"] for rule in rules} == {"ok"}
            assert [rule["name"] for rule in rules if rule["state"] == "firing"] == []
            empty: list[str] = []

            async def have_data() -> bool:
                empty[:] = [title async for title in without_data(session, panels)]
                return set(empty) <= EMPTY

            # Rates need two scrapes of each target.
            with suppress(TimeoutError):
                await until(have_data, PATIENCE)
            assert set(empty) == EMPTY


async def is_complete(
    session: aiohttp.ClientSession, processes: Processes, targets: set[str]
) -> bool:
    """Returns true when each target is scraped, each rule is evaluated, and rates can be
    computed."""
    async with aiohttp.ClientSession(processes.url, headers=HEADERS) as client:
        await (await client.get("/v1/content/posts")).read()
    try:
        active = (await ask(session, "targets"))["activeTargets"]
        groups = (await ask(session, "rules"))["groups"]
        rated = await ask(session, "query", query="rate(contentlog_requests_total[1m])")
    except (aiohttp.ClientConnectionError, aiohttp.ContentTypeError):  # Prometheus is starting
        return False
    up = {one["scrapeUrl"].split("/")[2] for one in active if one["health"] == "up"}
    known = [rule["health"] != "unknown" for group in groups for rule in group["rules"]]
    await asyncio.sleep(0.2)
    return up == targets and all(known) and bool(rated["result"])


async def without_data(session: aiohttp.ClientSession, panels: list[Any]) -> AsyncIterator[str]:
    """The title of the panel of each query that finds nothing."""
    for panel in panels:
        for target in panel["targets"]:
            query = target["expr"].replace("$job", "contentlog")
            if not (await ask(session, "query", query=query))["result"]:
                yield panel["title"]


async def ask(session: aiohttp.ClientSession, path: str, **parameters: str) -> Any:
    async with session.get(f"/api/v1/{path}", params=parameters) as response:
        body = await response.json()
    assert body["status"] == "success", body
    return body["data"]


def alerts() -> list[Any]:
    [group] = yaml.safe_load((DEPLOY / "monitoring/alerts.yaml").read_text())["groups"]
    return list(group["rules"])


@contextmanager
def prometheus(folder: Path, targets: set[str]) -> Iterator[str]:
    """Runs Prometheus with the project's configuration, except for targets and intervals."""
    file = folder / "prometheus.yml"
    configuration = yaml.safe_load(file.read_text())
    [job] = configuration["scrape_configs"]
    del job["dns_sd_configs"]
    job["static_configs"] = [{"targets": sorted(targets)}]
    configuration["global"] = dict.fromkeys(configuration["global"], "1s")
    file.write_text(yaml.safe_dump(configuration))
    port = free_port()
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={file}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)
