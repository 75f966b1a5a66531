"""Memory (PSS) of the projector and two API processes: at rest, after reads of all kinds, and with
full response caches."""

from __future__ import annotations

import asyncio
import re
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct, structs

from tests.benchmarks.attack_shapes import VIEW
from tests.benchmarks.fairness import MALLORY, prepare_workspace
from tests.benchmarks.http import ENTRIES, LIMITS, settle
from tests.benchmarks.load import Load, measured
from tests.benchmarks.processor_time import family, proportional
from tests.benchmarks.workload import (
    SECRET,
    VALUES,
    append_entries,
    append_events,
    created,
    prepare,
)
from tests.processes import Processes, running
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

EACH = 7_000
"""The least number of requests of each of the three kinds."""
WORKERS = 2
REST = 65.0
"""Seconds without a request before memory is read. Processes return freed memory every minute."""
FULL = 0.97 * WORKERS * 64 * 1024 * 1024
"""Bytes at which the response caches count as full: the next response might not fit."""
MB = 1024 * 1024
QUERY = "query($n: Int) { contentEntries(limit: 10, offset: $n) { data { id title fields } } }"


class Moment(Struct, frozen=True):
    """Bytes of memory by process, and bytes of cached responses."""

    when: str
    processes: dict[str, int]
    cache: int


async def measure(url: str, _other: str) -> str:
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        await append_entries(repository, await prepare(repository), ENTRIES)
        await _append_to_second_workspace(repository)
    settings = {**LIMITS, "CONTENTLOG_WORKERS": str(WORKERS)}
    with TemporaryDirectory() as folder, running(url, Path(folder) / "log", **settings) as started:
        await started.caught_up(240)
        await settle(url)
        moments = [await moment("at rest", started)]
        for load in reads(started.port):
            await send(load, EACH)
        moments.append(await moment(f"after {3 * EACH:,} reads", started))
        await fill(started)
        moments.append(await moment("caches full", started))
    return table(moments)


async def _append_to_second_workspace(repository: Repository) -> None:
    """Fills a second workspace, because one workspace's responses take at most half of a cache."""
    await prepare_workspace(repository)
    content_type = await repository.content_type(MALLORY, "posts")
    events = (
        structs.replace(
            created(content_type, number), workspace="mallory", fields={"body": VALUES["body"]}
        )
        for number in range(ENTRIES)
    )
    await append_events(repository, events)


def reads(port: int) -> list[Load]:
    """Reads of random entries and offsets; the GraphQL query is always the same."""
    headers = f"Authorization: Bearer {SECRET}\r\n"
    query = msgspec.json.encode({"query": QUERY, "variables": {"n": 0}})
    return [
        Load(port, "/v1/content/posts?offset=KEY", headers, keys=500),
        Load(port, "/v1/content/posts/entry-KEY", headers, keys=500),
        Load(port, "/graphql", f"{headers}Content-Type: application/json\r\n", lambda: query),
    ]


async def send(load: Load, number: int) -> None:
    """Sends at least ``number`` requests."""
    seconds = 2.0
    while number > 0:
        number -= int((await measured(load, seconds)).per_second * seconds)


async def fill(processes: Processes) -> None:
    """Reads lists of both workspaces until the caches are full."""
    while cached_bytes(processes) < FULL:
        for secret in (SECRET, VIEW):
            headers = f"Authorization: Bearer {secret}\r\n"
            path = "/v1/content/posts?offset=KEY"
            await send(Load(processes.port, path, headers, keys=ENTRIES), EACH)


async def moment(when: str, processes: Processes) -> Moment:
    await asyncio.sleep(REST)
    parent, *workers = family(processes.running["api"].pid)
    pids = {"projector": processes.running["projector"].pid, "API, parent process": parent}
    pids.update((f"API process {n}", pid) for n, pid in enumerate(workers, 1))
    memory = {name: proportional(pid) for name, pid in pids.items()}
    return Moment(when, memory, cached_bytes(processes))


def cached_bytes(processes: Processes) -> int:
    with urllib.request.urlopen(f"{processes.operators_url}/metrics") as response:
        found = re.search(rb"^contentlog_cache_bytes (\S+)", response.read(), re.M)
    assert found is not None
    return int(float(found[1]))


def table(moments: list[Moment]) -> str:
    totals = [sum(one.processes.values()) for one in moments]
    rows = {name: [one.processes[name] for one in moments] for name in moments[0].processes}
    rows["total"] = totals
    rows["cached responses"] = [one.cache for one in moments]
    rows["**total without cached responses**"] = [
        total - one.cache for total, one in zip(totals, moments, strict=True)
    ]
    lines = [
        f"### Memory (PSS) of the projector and {WORKERS} API processes",
        "",
        "| MiB | " + " | ".join(one.when for one in moments) + " |",
        "|---|" + "--:|" * len(moments),
        *(
            f"| {name} | {' | '.join(f'{number / MB:.1f}' for number in numbers)} |"
            for name, numbers in rows.items()
        ),
    ]
    return "\n".join(lines) + "\n"
