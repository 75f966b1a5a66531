"""The cost of traces: a service that exports them next to one without, each with its own processes
and database."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.http import LIMITS
from tests.benchmarks.load import Load, measured
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.benchmarks.scale import JSON
from tests.benchmarks.workload import create_body, fill
from tests.e2e.collector import collecting
from tests.processes import Processes, running

ENTRIES = 2_000
ROUNDS = 9
SAMPLERS = {
    "every request": {"OTEL_TRACES_SAMPLER": "always_on"},
    "a twentieth of the requests": {
        "OTEL_TRACES_SAMPLER": "traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": "0.05",
    },
}


async def measure(url: str, other: str) -> str:
    rows: list[Row] = []
    with TemporaryDirectory() as folder, collecting(keep=False) as collector:
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        Processes(other, Path(folder) / "log").run("migrate")
        for database in (url, other):
            await fill(database, ENTRIES)
        for what, sampler in SAMPLERS.items():
            with (
                running(url, Path(folder) / "traced", **LIMITS, **environment, **sampler) as traced,
                running(other, Path(folder) / "not traced", **LIMITS) as plain,
            ):
                rows += await _compared(what, [traced, plain])
        assert collector.size, "nothing was exported"
    return table("Traces, 16 connections", rows, "not traced")


async def _compared(what: str, sides: list[Processes]) -> list[Row]:
    for side in sides:
        await side.caught_up(120)
    ports = [side.port for side in sides]
    lists = [Load(port, "/v1/content/posts", JSON) for port in ports]
    creates = [Load(port, "/v1/content", JSON, create_body) for port in ports]
    return [
        await _row(f"{what}: list of 10 from memory", lists),
        await _row(f"{what}: create (1 kB)", creates),
    ]


async def _row(what: str, loads: list[Load]) -> Row:
    rates: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for rate, load in zip(rates, loads, strict=True):
            rate.append((await measured(load)).per_second)
    ours, theirs = rates
    traced, plain = (f"{median(rate):,.0f}/s" for rate in rates)
    return Row(what, traced, plain, ratio_of_rounds(ours, theirs))
