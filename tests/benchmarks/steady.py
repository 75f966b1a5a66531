"""Latencies under a steady load of half of the capacity of two API processes.

95 % of requests read random entries (half of them single, half lists of 10), and 5 % are creates.
The capacity is measured with the same load at a rate that no server could sustain.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from tests.benchmarks.http import ENTRIES, LIMITS, settle
from tests.benchmarks.report import Row, table
from tests.benchmarks.steady_load import CONNECTIONS, LoadPlan, Plan
from tests.benchmarks.workload import SECRET, fill
from tests.processes import running

PROBE, SECONDS = 5.0, 30.0
FAR_TOO_FAST = 20_000.0
"""Requests per second, more than any server can sustain."""
Latencies = dict[str, list[float]]


async def measure(url: str, _other: str) -> str:
    await fill(url, ENTRIES)
    with (
        TemporaryDirectory() as folder,
        running(url, Path(folder) / "log", CONTENTLOG_WORKERS="2", **LIMITS) as processes,
    ):
        await processes.caught_up(120)
        await settle(url)
        rate = await capacity(processes.port) / 2
        found = await load(Plan(processes.port, SECRET, rate, SECONDS, ENTRIES))
    rows = [row("all requests", list(chain(*found.values())), "p99 ≤ 10× p50")]
    rows += [row(kind, found[kind]) for kind in sorted(found)]
    title = f"Steady load: {rate:,.0f} requests/s for {SECONDS:.0f} s, {CONNECTIONS} connections"
    return table(title, rows, "p99 ÷ p50")


async def capacity(port: int) -> float:
    """The capacity in requests per second, from the time to answer requests that are all due at
    once."""
    plan = Plan(port, SECRET, FAR_TOO_FAST, 0.1, ENTRIES)
    await load(plan)  # warms up prepared statements and caches
    total = PROBE * 1_000
    found = await load(Plan(port, SECRET, FAR_TOO_FAST, total / FAR_TOO_FAST, ENTRIES))
    return total / max(chain(*found.values()))


async def load(plan: LoadPlan) -> Latencies:
    """Runs the load program in the module of the plan."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", type(plan).__module__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    answer, _ = await process.communicate(msgspec.json.encode(plan) + b"\n")
    return msgspec.json.decode(answer, type=Latencies)


def row(what: str, seconds: list[float], aim: str = "") -> Row:
    thousandths = statistics.quantiles(seconds, n=1_000)
    p50, p99, p999 = (thousandths[n - 1] * 1000 for n in (500, 990, 999))
    shown = f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, p99.9 {p999:.1f} ms"
    return Row(f"{what} ({len(seconds):,})", shown, f"{p99 / p50:.1f}×", None, aim)
