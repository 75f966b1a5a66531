"""What traces cost: a service that records every request and exports it, beside one that traces
nothing, each with its own processes and database."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.http import LIMITS
from tests.benchmarks.load import Load, measured
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.benchmarks.scale import JSON, body
from tests.benchmarks.workload import append_entries, prepare
from tests.e2e.collector import collecting
from tests.processes import Processes, running
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

ENTRIES = 2_000
ROUNDS = 9


async def measure(url: str, other: str) -> str:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        collector = stack.enter_context(collecting(keep=False))
        Processes(other, folder / "log").run("migrate")
        sides: list[Processes] = []
        for name, database, asked in (
            ("traced", url, {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}),
            ("not traced", other, {}),
        ):
            await _fill(database)
            side = stack.enter_context(running(database, folder / name, **LIMITS, **asked))
            await side.caught_up(120)
            sides.append(side)
        ports = [side.port for side in sides]
        rows = [
            await _row(
                "list of 10 from memory", [Load(p, "/v1/content/posts", JSON) for p in ports]
            ),
            await _row("create (1 kB)", [Load(p, "/v1/content", JSON, body) for p in ports]),
        ]
        assert collector.size, "nothing was exported"
    return table("Traces of every request, 16 connections", rows, "not traced")


async def _fill(url: str) -> None:
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        await append_entries(repository, await prepare(repository), ENTRIES)


async def _row(what: str, loads: list[Load]) -> Row:
    rates: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for rate, load in zip(rates, loads, strict=True):
            rate.append((await measured(load)).per_second)
    ours, theirs = rates
    shown = [f"{median(rate):,.0f}/s" for rate in rates]
    return Row(what, *shown, ratio_of_rounds(ours, theirs))
