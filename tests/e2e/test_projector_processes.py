"""Projectors as processes: one is active, one stands by, and killing either loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.supervisor import contentlog
from read_side.status import ProjectorStatus
from tests.integration.live_projector import caught_up, dump, project_all, status_of, until
from tests.integration.projector.sample_log import ContentBuilder
from tests.processes import PATIENCE
from write_side.repository import Repository

pytestmark = pytest.mark.slow

Start = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(database_url: str, tmp_path: Path) -> Iterator[Start]:
    """Starts projectors on the test's database. Kills those still running at the end."""
    started: list[subprocess.Popen[bytes]] = []
    urls = {f"CONTENTLOG_{name}_URL": database_url for name in ("EVENT_STORE", "READ_MODEL")}
    with (tmp_path / "projectors.log").open("wb") as log:

        def start_one() -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                contentlog("projector"), env={**os.environ, **urls}, stdout=log, stderr=log
            )
            started.append(process)
            return process

        yield start_one
        for process in started:
            process.kill()
            process.wait(PATIENCE)


async def projectors(url: str) -> dict[str, list[ProjectorStatus]]:
    """The projectors with a heartbeat in the last two seconds, by role."""
    found: dict[str, list[ProjectorStatus]] = {"active": [], "standby": []}
    for projector in (await status_of(url)).projectors:
        if projector.heartbeat_age < 2:
            found[projector.role].append(projector)
    return found


def pid_of(projector: ProjectorStatus) -> int:
    """The process id in a projector's id, host/pid/random."""
    return int(projector.id.split("/")[1])


async def working(url: str, standbys: int = 1) -> list[int]:
    """Waits for one active projector and this many standbys; returns their process ids, that of the
    active one first."""
    found: dict[str, list[ProjectorStatus]] = {}

    async def there() -> bool:
        found.update(await projectors(url))
        return [len(found["active"]), len(found["standby"])] == [1, standbys]

    await until(there)
    return [pid_of(one) for one in (*found["active"], *found["standby"])]


async def test_a_standby_takes_over_when_the_active_projector_is_killed(
    start: Start, database_url: str, model_url: str, repository: Repository
) -> None:
    builder = ContentBuilder(repository)
    await builder.magazine()
    processes = {process.pid: process for process in (start(), start())}
    active, standby = await working(database_url)
    assert {active, standby} == set(processes)
    await caught_up(database_url)
    epoch = (await status_of(database_url)).epoch

    entries = [await builder.entry(f"before-{n}") for n in range(20)]
    os.kill(active, signal.SIGKILL)
    killed = time.monotonic()
    entries += [await builder.entry(f"after-{n}") for n in range(20)]
    await caught_up(database_url)
    took = time.monotonic() - killed
    assert took < 30, f"took over after {took:.1f} s"  # under 1 s on an idle machine
    assert (await status_of(database_url)).epoch == epoch + 1

    await builder.update(entries[0], title="Still there")
    await caught_up(database_url)
    await project_all(database_url, model_url)
    assert await dump(database_url) == await dump(model_url), "nothing lost, nothing twice"


async def test_a_paused_projector_is_replaced_and_writes_nothing_when_it_resumes(
    start: Start, database_url: str, model_url: str, repository: Repository
) -> None:
    builder = ContentBuilder(repository)
    await builder.magazine()
    start(), start()
    active, standby = await working(database_url)
    await caught_up(database_url)
    epoch = (await status_of(database_url)).epoch
    os.kill(active, signal.SIGSTOP)
    entry_id = await builder.entry("while-it-sleeps")
    await caught_up(database_url)
    assert (await status_of(database_url)).epoch == epoch + 1
    os.kill(active, signal.SIGCONT)
    await builder.update(entry_id, title="Awake")

    async def it_stands_by() -> bool:
        found = await projectors(database_url)
        roles = {role: [pid_of(one) for one in ones] for role, ones in found.items()}
        return roles == {"active": [standby], "standby": [active]}

    await until(it_stands_by)
    await caught_up(database_url)
    assert (await status_of(database_url)).epoch == epoch + 1
    await project_all(database_url, model_url)
    assert await dump(database_url) == await dump(model_url), "nothing lost, nothing twice"


async def test_a_stopped_projector_exits_at_once_with_status_0(
    start: Start, database_url: str, repository: Repository
) -> None:
    builder = ContentBuilder(repository)
    await builder.magazine()
    processes = {process.pid: process for process in (start(), start())}
    for left in (1, 0):
        await caught_up(database_url)
        active, *_ = await working(database_url, left)
        processes[active].terminate()
        assert processes[active].wait(30) == 0  # under 1 s on an idle machine
        assert active not in await pids(database_url), "it took its leave"
        await builder.entry(f"entry-{left}")

        async def next_is_active(left: int = left) -> bool:
            return len((await projectors(database_url))["active"]) == left

        await until(next_is_active)


async def pids(url: str) -> set[int]:
    return {pid_of(projector) for projector in (await status_of(url)).projectors}


async def test_a_projector_stopped_during_its_work_loses_nothing(
    start: Start, database_url: str, model_url: str, repository: Repository
) -> None:
    """Projectors are stopped or killed, and started again, while entries are created."""
    builder = ContentBuilder(repository)
    await builder.magazine()
    for n in range(3):
        process = start()
        await caught_up(database_url)
        for m in range(10):
            await builder.entry(f"entry-{n}-{m}")
        process.send_signal(signal.SIGTERM if n % 2 else signal.SIGKILL)
        process.wait(PATIENCE)
    start()
    await caught_up(database_url)
    await project_all(database_url, model_url)
    assert await dump(database_url) == await dump(model_url)
