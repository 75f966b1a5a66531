"""The costs of a database of a given size: disk, memory, and the times of a catch-up, a rebuild and
verify."""

from __future__ import annotations

import time
from collections.abc import Sequence

import asyncpg
from msgspec import Struct

from projector.rebuild.build import BuildSettings
from projector.rebuild.operations import rebuild, verify
from tests.benchmarks.catch_up import seconds_to
from tests.benchmarks.processor_time import family, proportional
from tests.benchmarks.workload import SCOPE, append_entries
from tests.databases import owner_of
from tests.processes import Processes
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

CATCH_UP = 10_000
"""Number of entries appended while no projector runs. Two of three are updated once."""
MB = 1024 * 1024
_DISK = """
SELECT n.nspname = 'write_side' AS is_log, sum(pg_total_relation_size(c.oid))::bigint AS bytes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN ('write_side', 'read_model') AND c.relkind = 'r' GROUP BY 1"""


class Costs(Struct):
    """Bytes on disk, bytes of memory (PSS), seconds, and events per second."""

    entries: int
    log: int
    read_model: int
    rebuild: float
    verify: float
    catch_up: float
    projector: int = 0
    api: int = 0

    def watch(self, processes: Processes) -> None:
        """Measures the memory of processes that have served requests."""
        for name, pids in ((n, family(p.pid)) for n, p in processes.running.items()):
            setattr(self, name, sum(map(proportional, pids)))


async def costs(url: str, entries: int) -> Costs:
    """Builds the read model of a log with ``entries`` entries, and measures the costs."""
    settings = BuildSettings(event_store_url=url, read_model_url=url)
    began = time.perf_counter()
    await rebuild(settings, accept_differences=True, report=lambda _: None)
    rebuilt = time.perf_counter()
    result = await verify(settings, report=lambda _: None)
    verified = time.perf_counter()
    assert not result.read_model, result.read_model
    log, read_model = await _disk(url)
    rate = await _catch_up(url, entries)
    return Costs(entries, log, read_model, rebuilt - began, verified - rebuilt, rate)


async def _disk(url: str) -> tuple[int, int]:
    connection = await asyncpg.connect(owner_of(url))
    rows = await connection.fetch(_DISK)
    await connection.close()
    sizes = {row["is_log"]: row["bytes"] for row in rows}
    return sizes[True], sizes[False]


async def _catch_up(url: str, entries: int) -> float:
    """Events per second."""
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        content_type = await repository.content_type(SCOPE, "posts")
        before = await recorder.head()
        await append_entries(repository, content_type, CATCH_UP, first=10 * entries)
        head = await recorder.head()
    return (head - before) / await seconds_to(url, head)


def table_of(all_costs: Sequence[Costs], title: str) -> str:
    """Returns a Markdown table with a column for each size."""
    rows = {
        "disk per entry: log and claims": [f"{c.log / c.entries:,.0f} B" for c in all_costs],
        "disk per entry: read model": [f"{c.read_model / c.entries:,.0f} B" for c in all_costs],
        "rebuild, with the comparison": [_rate(c, c.rebuild) for c in all_costs],
        "verify": [_rate(c, c.verify) for c in all_costs],
        f"catch-up with {CATCH_UP:,} entries": [f"{c.catch_up:,.0f} events/s" for c in all_costs],
        "memory of the projector (PSS)": [f"{c.projector / MB:,.0f} MiB" for c in all_costs],
        "memory of two API processes (PSS)": [f"{c.api / MB:,.0f} MiB" for c in all_costs],
    }
    lines = [
        f"### {title}",
        "",
        "| what | " + " | ".join(f"{c.entries:,} entries" for c in all_costs) + " |",
        "|---|" + "--:|" * len(all_costs),
        *(f"| {what} | {' | '.join(shown)} |" for what, shown in rows.items()),
    ]
    return "\n".join(lines) + "\n"


def _rate(costs: Costs, seconds: float) -> str:
    return f"{seconds:,.1f} s ({costs.entries / seconds:,.0f} entries/s)"
