"""The cost of ten indexed and two searchable fields for writes, next to a type with the same
fields, none of them indexed or searchable."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from tests.benchmarks.catch_up import seconds_to
from tests.benchmarks.http import LIMITS
from tests.benchmarks.load import Load, measured
from tests.benchmarks.query_content import FIELDS, PLAIN, contents, create_authors, created
from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.benchmarks.scale import JSON
from tests.benchmarks.workload import OPERATOR, SCOPE, append_events, prepare
from tests.processes import running
from write_side.commands import CreateContentType
from write_side.dispatch import execute
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

CATCH_UP = "50000"
CATCH_UP_ROUNDS = 3
CREATE_ROUNDS = 7
CONNECTIONS = (16, 1)
TYPES = ("posts", "plain")
AIM = "≥ 0.5×"


async def compare_writes(url: str) -> str:
    number = int(os.environ.get("CONTENTLOG_BENCH_CATCH_UP", CATCH_UP))
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        await prepare(repository, FIELDS)
        plain = CreateContentType(
            actor=OPERATOR, scope=SCOPE, slug="plain", name="Plain", fields=PLAIN
        )
        await execute(plain, repository)
        authors = await create_authors(repository)
        rows = [await _catch_up(url, repository, authors, number)]
    with TemporaryDirectory() as folder, running(url, Path(folder) / "log", **LIMITS) as processes:
        await processes.caught_up(120)
        rows += [await _creates(processes.port, authors, n) for n in CONNECTIONS]
    return table("Writes with ten indexed and two searchable fields", rows, "none indexed")


async def _catch_up(url: str, repository: Repository, authors: list[str], number: int) -> Row:
    rates: dict[str, list[float]] = {slug: [] for slug in TYPES}
    await seconds_to(url, await repository.recorder.head())
    for first in range(0, number * CATCH_UP_ROUNDS, number):
        for slug in TYPES:
            content_type = await repository.content_type(SCOPE, slug)
            await append_events(repository, created(content_type, authors, number, first))
            rates[slug].append(number / await seconds_to(url, await repository.recorder.head()))
    return _row(f"catch-up with {number:,} entries", rates)


async def _creates(port: int, authors: list[str], connections: int) -> Row:
    rates: dict[str, list[float]] = {slug: [] for slug in TYPES}
    numbers = itertools.count(connections * 1_000_000)
    drawn = list(itertools.islice(contents(authors), 1_000))

    def body(slug: str) -> Callable[[], bytes]:
        return lambda: encoded(slug)

    def encoded(slug: str) -> bytes:
        number = next(numbers)
        title, fields = drawn[number % len(drawn)]
        made: dict[str, Any] = {"title": f"{title} {number}", "fields": fields}
        return msgspec.json.encode({"contentTypeSlug": slug, "status": "published", **made})

    for _ in range(CREATE_ROUNDS):
        for slug in TYPES:
            load = Load(port, "/v1/content", JSON, body(slug))
            rates[slug].append((await measured(load, number=connections)).per_second)
    return _row(f"creates, {connections} at a time", rates)


def _row(what: str, rates: dict[str, list[float]]) -> Row:
    ours, theirs = (rates[slug] for slug in TYPES)
    shown = (f"{median(ours):,.0f}/s", f"{median(theirs):,.0f}/s")
    return Row(what, *shown, ratio_of_rounds(ours, theirs), AIM)
