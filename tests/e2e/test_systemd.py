"""The units of deploy/systemd under their own systemd: started, killed, restarted and stopped."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.e2e.machine import Machine, machine, skip_reason
from tests.e2e.test_crashes import (
    MANIFEST,
    SECRET,
    TIMEOUT,
    WRITERS,
    AcknowledgedCreates,
    caught_up,
    check_readable,
    wait_for_creates,
    write,
)
from tests.integration.api.import_requests import done
from tests.integration.api.server import Client
from tests.integration.live_projector import until
from tests.processes import free_port

pytestmark = pytest.mark.slow

PATIENCE = 180.0
API = "contentlog-api"
UNITS = (API, *(f"contentlog-{name}@{n}" for name in ("projector", "webhooks") for n in (1, 2)))
# The scale of `systemd-analyze security`: from 0 (safe) to 100.
EXPOSURE = 20


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Machine]:
    if reason := skip_reason():
        pytest.skip(reason)
    with machine(tmp_path / "root") as host:
        yield host


async def test_units_lose_no_answered_write_when_they_are_killed_restarted_and_stopped(
    host: Machine,
) -> None:
    port = free_port()
    host.install(
        CONTENTLOG_EVENT_STORE_URL=host.database_url,
        CONTENTLOG_READ_MODEL_URL=host.database_url,
        CONTENTLOG_PORT=str(port),
        CONTENTLOG_WORKERS="2",
        CONTENTLOG_KEY_RATE_LIMIT="0",
        CONTENTLOG_IP_RATE_LIMIT="0",
    )
    for unit in UNITS:
        host.run("systemd-analyze", "verify", f"{unit}.service")
        host.run("systemd-analyze", "security", f"--threshold={EXPOSURE}", f"{unit}.service")
    # After a boot, the database may start later. No other unit then requests the migration again.
    assert host.attempt("systemctl", "start", "contentlog-migrate").returncode != 0
    host.systemctl("start", "database")
    await until(lambda: is_migrated(host), PATIENCE)
    host.systemctl("enable", "--now", *UNITS)
    host.contentlog("apply", "/dev/stdin", stdin=json.dumps(MANIFEST))

    acknowledged, titles = AcknowledgedCreates(), itertools.count()
    async with aiohttp.ClientSession(
        f"http://127.0.0.1:{port}",
        headers={"Authorization": f"Bearer {SECRET}"},
        timeout=TIMEOUT,
    ) as session:
        writers = [
            asyncio.create_task(write(session, titles, acknowledged)) for _ in range(WRITERS)
        ]
        await wait_for_creates(acknowledged, 20)
        # The process that reads the file has its own limits.
        read = await done(Client(session, SECRET), b"Title\nFrom a file\n", dryRun="true")
        assert read["state"] == "checked"
        for disturbance in (kill_worker, kill_units, restart_units, stop_and_start_units):
            await asyncio.to_thread(disturbance, host)
            await wait_for_creates(acknowledged, len(acknowledged.created) + 20)
        acknowledged.is_enough = True
        await asyncio.gather(*writers)
        await caught_up(session)
        await check_readable(session, acknowledged)
    assert host.attempt("systemctl", "--failed", "--quiet").stdout == ""


async def is_migrated(host: Machine) -> bool:
    return host.value("contentlog-migrate", "ActiveState") == "active"


def kill_worker(host: Machine) -> None:
    """Kills a worker, which its parent replaces."""
    parent = host.value(API, "MainPID")
    worker, *others = host.run("pgrep", "--parent", parent).split()
    assert len(others) == 1
    host.run("kill", "-9", worker)
    assert host.value(API, "MainPID") == parent


def kill_units(host: Machine) -> None:
    for unit in UNITS:
        host.systemctl("kill", "--signal=KILL", unit)


def restart_units(host: Machine) -> None:
    host.systemctl("restart", *UNITS)
    assert {unit: host.value(unit, "NRestarts") for unit in UNITS} == dict.fromkeys(UNITS, "0")


def stop_and_start_units(host: Machine) -> None:
    host.systemctl("stop", *UNITS)
    for unit in UNITS:
        # The unit was not killed after TimeoutStopSec.
        assert host.value(unit, "Result") == "success"
        assert host.value(unit, "ExecMainStatus") == "0"
    host.systemctl("start", *UNITS)
