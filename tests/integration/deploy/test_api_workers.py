"""The processes of `contentlog api --workers 2` act as one service."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.deploy.processes import children_of, eventually, has_proc, listens, send
from tests.integration.live_projector import connected
from tests.integration.projector.sample_log import ContentBuilder
from tests.processes import Processes
from write_side import commands as c
from write_side.repository import Repository

pytestmark = [pytest.mark.slow, has_proc]
PATIENCE = 60.0
SECRET = "a-secret-of-the-workers"
POST = json.dumps({"contentTypeSlug": "posts", "title": "In flight"}).encode()
HEAD = f"""POST /v1/content HTTP/1.1\r
Host: x\r
Authorization: Bearer {SECRET}\r
Content-Length: {len(POST)}\r
Expect: 100-continue\r
\r
""".encode()


class Workers:
    """The parent and its workers, seen from outside."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self.parent = processes.running["api"]
        self.port = processes.port
        self.url = processes.url
        self.operators_url = processes.operators_url

    def pids(self) -> list[int]:
        return children_of(self.parent.pid)

    async def both_listen(self) -> list[int]:
        """Wait until both accept connections; return their process ids."""
        await eventually(
            lambda: [listens(pid, self.port) for pid in self.pids()] == [True, True], PATIENCE
        )
        return self.pids()

    def metrics_folder(self) -> Path:
        maps = Path(f"/proc/{self.pids()[0]}/maps").read_text()
        [folder] = set(re.findall(r"(/\S+/contentlog-metrics-[^/]+)/", maps))
        return Path(folder)


@contextmanager
def started(database_url: str, log: Path) -> Iterator[Workers]:
    settings = {"CONTENTLOG_WORKERS": "2", "CONTENTLOG_READ_YOUR_WRITES_MS": "0"}
    processes = Processes(database_url, log, **settings)
    try:
        processes.start("api")
        yield Workers(processes)
    finally:
        processes.stop()


@pytest.fixture
def workers(database_url: str, tmp_path: Path) -> Iterator[Workers]:
    with started(database_url, tmp_path / "log") as workers:
        yield workers


async def health(workers: Workers, times: int) -> None:
    """Send this many requests, each over a new connection."""
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session:
        for _ in range(times):
            async with session.get(f"{workers.url}/healthz") as response:
                assert response.status == 200


async def counted(workers: Workers) -> float:
    """The number of such requests, as reported by whichever worker answers."""
    connector = aiohttp.TCPConnector(force_close=True)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(f"{workers.operators_url}/metrics") as response,
    ):
        text = await response.text()
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "contentlog_requests_total" and sample.labels["route"] == "/healthz"
    )


async def count_is(workers: Workers, expected: float) -> None:
    """Responses are counted after they are sent. Then every worker reports the same count."""
    async with asyncio.timeout(PATIENCE):
        while await counted(workers) != expected:  # noqa: ASYNC110 - workers set no event here
            await asyncio.sleep(0.02)
    assert [await counted(workers) for _ in range(6)] == [expected] * 6


async def test_they_share_a_port_and_their_counts_and_a_killed_one_is_replaced(
    workers: Workers,
) -> None:
    before = await workers.both_listen()
    folder = workers.metrics_folder()
    await health(workers, 30)
    await count_is(workers, 30)
    killed, stays = before
    files = {file.name for file in folder.iterdir()}
    found = [file.stat() for file in folder.iterdir()]
    assert all(one.st_blocks * 512 >= one.st_size for one in found), "a full disk would be fatal"
    gauges = [folder / f"gauge_liveall_{number}.db" for number in (1, 2)]
    for gauge in gauges:
        gauge.touch()

    send(killed, signal.SIGKILL)
    await eventually(lambda: killed not in workers.pids(), PATIENCE)
    await eventually(lambda: [gauge.exists() for gauge in gauges].count(True) == 1, PATIENCE)
    for gauge in gauges:
        gauge.unlink(missing_ok=True)
    # The other worker serves meanwhile; the killed worker's counts are not lost.
    await health(workers, 10)
    after = await workers.both_listen()
    assert stays in after
    assert killed not in after
    await count_is(workers, 40)
    # A new worker writes its own gauges with the first request that it counts.
    assert {file.name for file in folder.iterdir()} <= files, "it counts on where the other ended"

    workers.parent.send_signal(signal.SIGINT)
    assert await asyncio.to_thread(workers.parent.wait, PATIENCE) == 0
    assert not folder.exists()


async def test_stopping_workers_refuse_new_requests_and_finish_those_in_progress(
    workers: Workers, repository: Repository
) -> None:
    builder = ContentBuilder(repository)
    await builder.magazine()
    await builder.execute(
        c.IssueKey,
        workspace="acme",
        name="writer",
        permissions=("content.edit",),
        secret_hash=hashlib.sha256(SECRET.encode()).hexdigest(),
    )
    pids = await workers.both_listen()
    idle = await asyncio.open_connection("127.0.0.1", workers.port)
    idle[1].write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await idle[0].readuntil(b'"ok"}')).startswith(b"HTTP/1.1 200")
    reader, writer = await asyncio.open_connection("127.0.0.1", workers.port)
    writer.write(HEAD)
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"

    workers.parent.send_signal(signal.SIGTERM)
    assert await idle[0].read() == b"", "the stop does not wait for an idle connection"
    await refused(workers.port)
    writer.write(POST)
    answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 200"), answer
    head, _, body = answer.partition(b"\r\n\r\n")
    assert json.loads(body)["data"]["slug"] == "in-flight"
    assert b"connection: close" in head.lower()
    assert await asyncio.to_thread(workers.parent.wait, PATIENCE) == 0
    assert workers.pids() == [], pids
    for one in (idle[1], writer):
        one.close()


async def test_failing_workers_are_restarted_with_growing_pauses(
    database_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with started(database_url, log) as workers:
        pids = await workers.both_listen()
        async with connected(database_url) as connection:
            await connection.execute("ALTER SCHEMA write_side RENAME TO away")
            for pid in pids:
                send(pid, signal.SIGKILL)
            for pause in ("0.2", "0.4"):
                again = f"ended with status 1; starting it again in {pause} s"
                await eventually(lambda again=again: again in log.read_text(), PATIENCE)  # type: ignore[misc]
            assert workers.parent.poll() is None
            await connection.execute("ALTER SCHEMA away RENAME TO write_side")
        await workers.both_listen()
        await health(workers, 4)


async def refused(port: int) -> None:
    """Wait until connections are refused."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                return
            except ConnectionResetError:
                continue  # the listener was closed before it accepted
            writer.close()
            await asyncio.sleep(0.01)
