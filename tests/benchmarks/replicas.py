"""Reads on a primary alone, and with one and two replicas.

A control group limits each server to the same share of a processor. One API process without a cache
reads random pages. Needs root and a writable ``cpu`` hierarchy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.fixed import HEADERS
from tests.benchmarks.http import LIMITS
from tests.benchmarks.load import Load, measured
from tests.benchmarks.report import median
from tests.benchmarks.workload import append_entries, prepare
from tests.e2e.commands import Commands
from tests.e2e.postgres import Postgres, postgres
from tests.processes import Processes, running
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

ENTRIES = 5_000
SHARE = 0.05
"""The share of a processor for each server."""
PERIOD = 20_000
"""Microseconds."""
ROUNDS = 5
SECONDS = 4.0
CONNECTIONS = 16
PATHS = {
    "single entry": "/v1/content/posts/entry-KEY",
    "list of 10": "/v1/content/posts?offset=KEY",
}
SERVERS = 3
_GROUPS = Path("/sys/fs/cgroup/cpu")


async def measure(_url: str, _other: str) -> str:
    settings = {**LIMITS, "CONTENTLOG_CACHE_BYTES": "0"}
    with readable_folder() as folder, ExitStack() as stack:
        primary = stack.enter_context(postgres(folder / "primary"))
        primary.run("createdb", "store")
        url = primary.url("store")
        await Commands(url, url, folder).run("migrate")
        async with open_recorder(url) as recorder:
            repository = Repository(recorder, EventMapper())
            await append_entries(repository, await prepare(repository), ENTRIES)
        with running(url, folder / "log") as started:
            await started.caught_up(120)
        standbys = [stack.enter_context(standby(primary, folder / f"r{n}")) for n in (1, 2)]
        apis = []
        for number in range(SERVERS):
            replicas = ",".join(each.url("store") for each in standbys[:number])
            environment = {**settings, "CONTENTLOG_READ_REPLICA_URLS": replicas}
            api = Processes(url, folder / f"log-{number}", **environment)
            stack.callback(api.stop)
            api.start("api")
            await api.caught_up(60)
            apis.append(api)
        for number, server in enumerate((primary, *standbys)):
            stack.enter_context(cpu_limited(server, f"contentlog-bench-{number}"))
        lines = [f"### Reads on replicas, each server with {SHARE:.0%} of a processor", ""]
        lines += ["| what | primary | 1 replica | 2 replicas |", "|---|--:|--:|--:|"]
        for what, path in PATHS.items():
            rates = await rates_of(apis, path)
            cells = [f"{rate:,.0f}/s ({rate / rates[0]:.2f}×)" for rate in rates]
            lines.append(f"| {what} | {' | '.join(cells)} |")
        return "\n".join([*lines, ""])


@contextmanager
def readable_folder() -> Iterator[Path]:
    """A folder that PostgreSQL's user can access."""
    with TemporaryDirectory(prefix="cl-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def standby(primary: Postgres, folder: Path) -> Iterator[Postgres]:
    server = Postgres(folder)
    server.make_standby_of(primary)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def cpu_limited(server: Postgres, name: str) -> Iterator[None]:
    """Limits all processes of the server to SHARE. Processes that they start inherit the group."""
    group = _GROUPS / name
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD))
        (group / "cpu.cfs_quota_us").write_text(str(int(PERIOD * SHARE)))
        for pid in server.pids():
            (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        for left in (group / "cgroup.procs").read_text().split():
            (_GROUPS / "cgroup.procs").write_text(left)
        group.rmdir()


async def rates_of(apis: Sequence[Processes], path: str) -> list[float]:
    """The median rate of each API, measured alternately."""
    rates: list[list[float]] = [[] for _ in apis]
    for _ in range(ROUNDS):
        for each, api in zip(rates, apis, strict=True):
            load = Load(api.port, path, HEADERS, keys=ENTRIES - 100)
            each.append((await measured(load, SECONDS, CONNECTIONS)).per_second)
    return [median(each) for each in rates]
