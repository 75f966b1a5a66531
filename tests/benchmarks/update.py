"""Compares a one-word update of an entry with a long history with that of an entry with a short
one."""

from __future__ import annotations

import itertools
import time

from msgspec import Raw

from tests.benchmarks.report import Row, median, ratio_of_rounds, table
from tests.benchmarks.workload import OPERATOR, SCOPE, prepare
from write_side.commands import CreateEntry, UpdateEntry
from write_side.dispatch import execute
from write_side.domain.events import EntryCreated
from write_side.repository import Repository
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder

ROUNDS = 101
LONG = 1_000
LARGE, LARGE_VERSIONS = 2_000_000, 120
_numbers = itertools.count()


async def measure(url: str, _other: str) -> str:
    async with open_recorder(url) as recorder:
        repository = Repository(recorder, EventMapper())
        await prepare(repository)
        rows = [
            await compared(repository, f"an entry of 0.1 kB, {LONG:,} versions", 100, LONG),
            await compared(
                repository, f"an entry of 2 MB, {LARGE_VERSIONS} versions", LARGE, LARGE_VERSIONS
            ),
        ]
    return table("One-word updates, p50", rows, "after few versions")


async def compared(repository: Repository, what: str, size: int, versions: int) -> Row:
    old, new = [await created(repository, size) for _ in range(2)]
    for _ in range(versions):
        await update(repository, old, size)
    longer, shorter = [], []
    for _ in range(ROUNDS if size < LARGE else ROUNDS // 5):
        longer.append(await update(repository, old))
        shorter.append(await update(repository, new))
    return Row(
        what,
        f"{median(longer):.1f} ms",
        f"{median(shorter):.1f} ms",
        ratio_of_rounds(shorter, longer),
        "≥ 0.5×",
    )


async def created(repository: Repository, size: int) -> str:
    create = CreateEntry(
        actor=OPERATOR,
        scope=SCOPE,
        content_type_slug="posts",
        title=f"Entry {next(_numbers)}",
        fields={"body": _body(size)},
    )
    event = (await execute(create, repository)).events[0].event
    assert isinstance(event, EntryCreated)
    return event.entry_id


async def update(repository: Repository, entry_id: str, size: int = 0) -> float:
    """Milliseconds for an update of the title, and with ``size`` of the body, which then has that
    many bytes."""
    command = UpdateEntry(
        actor=OPERATOR,
        scope=SCOPE,
        entry_id=entry_id,
        title=f"Title {next(_numbers)}",
        fields={"body": _body(size)} if size else {},
    )
    began = time.perf_counter()
    await execute(command, repository)
    return (time.perf_counter() - began) * 1000


def _body(size: int) -> Raw:
    return Raw(b'"%09d %s"' % (next(_numbers), b"x" * (size - 50)))
