"""Creates over HTTP, visible on response, by two API processes.

Measures creates per second and where processor time goes, next to two floor processes that only
INSERT the body.
"""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.http import ENTRIES, LIMITS, bare_servers, settle
from tests.benchmarks.load import Load, measured
from tests.benchmarks.processor_time import ProcessorTime
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.benchmarks.scale import JSON
from tests.benchmarks.workload import create_body, fill
from tests.processes import free_port, running

WORKERS = 2
ROUNDS = 5
SECONDS = 3.0
CONNECTIONS = (16, 1, 64)
AIM = "≥ 0.8×"


async def measure(url: str, _other: str) -> str:
    await fill(url, ENTRIES)
    async with AsyncExitStack() as stack:
        log = Path(stack.enter_context(TemporaryDirectory())) / "log"
        processes = stack.enter_context(running(url, log, CONTENTLOG_WORKERS="2", **LIMITS))
        await processes.caught_up(120)
        await settle(url)
        port = free_port()
        floors = await stack.enter_async_context(bare_servers("plain", url, port, WORKERS))
        parts = {
            processes.running["api"].pid: "API processes",
            processes.running["projector"].pid: "projector",
        }
        ours = ProcessorTime(url, parts)
        theirs = ProcessorTime(url, dict.fromkeys(floors, "API processes"))
        tables = [
            await compared(number, (processes.port, ours), (port, theirs)) for number in CONNECTIONS
        ]
    return "\n".join(tables)


async def compared(
    connections: int, ours: tuple[int, ProcessorTime], theirs: tuple[int, ProcessorTime]
) -> str:
    rates: tuple[list[float], list[float]] = ([], [])
    times: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for _ in range(ROUNDS):
        for rate, time, (port, processor), path in zip(
            rates, times, (ours, theirs), ("/v1/content", "/"), strict=True
        ):
            before = await processor.read()
            load = Load(port, path, JSON, create_body)
            done = await measured(load, SECONDS, connections)
            after = await processor.read()
            rate.append(done.per_second)
            answers = done.per_second * SECONDS * ROUNDS
            time.update({part: (after[part] - before[part]) / answers for part in after})
    name = f"create (1 kB), {connections} connections"
    rows = [
        Row(
            name,
            f"{median(rates[0]):,.0f}/s",
            f"{median(rates[1]):,.0f}/s",
            ratio_of_rounds(*rates),
            AIM if connections > 1 else "",
        )
    ]
    rows += [
        Row(f"processor time: {part}", _shown(times[0][part]), _shown(times[1][part]))
        for part in sorted(set(times[0]) | set(times[1]))
    ]
    total, floor_total = (sum(time.values()) for time in times)
    rows.append(Row("processor time", _shown(total), _shown(floor_total), floor_total / total))
    return table(f"Creates, {connections} connections, {WORKERS} API processes", rows, "floor")


def _shown(milliseconds: float) -> str:
    return f"{milliseconds:.3f} ms" if milliseconds else "–"
