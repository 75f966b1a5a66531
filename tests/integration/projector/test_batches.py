"""The tables are a function of the log alone, however the log is split into batches."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest

from projector.log import BATCH
from tests.databases import Databases
from tests.integration.live_projector import connected, dump, head_of, project_all
from tests.integration.projector.random_log import RandomCommands
from write_side.domain.events import TOPICS
from write_side.postgres.connection import Connection
from write_side.repository import Repository

STEPS = 150
SEED = 1
"""The seed of a log with every kind of event. A change of ``random_log.py`` may need another
one."""
GROUPS = """
SELECT workspace, environment, content_type_id, status, language, count(*) AS n
FROM read_model.entry GROUP BY 1, 2, 3, 4, 5"""
COUNTS = """
SELECT workspace, environment, content_type_id, status, language, n FROM read_model.entry_count
WHERE filters = 3 AND level = 0"""
STALE = """
SELECT count(*) FROM read_model.entry e JOIN read_model.content_type t
    ON (t.workspace, t.id) = (e.workspace, e.content_type_id)
WHERE e.type_version <> t.version"""


@pytest.fixture
def model_urls(databases: Databases) -> Iterator[list[str]]:
    """Four read models of the same log."""
    with databases.new() as a, databases.new() as b, databases.new() as c, databases.new() as d:
        yield [a, b, c, d]


@pytest.mark.parametrize("seed", [SEED, pytest.param(SEED + 1, marks=pytest.mark.slow)])
async def test_any_split_of_the_log_into_batches_gives_the_same_tables(
    seed: int, repository: Repository, database_url: str, model_urls: list[str]
) -> None:
    await RandomCommands(repository, seed).execute(STEPS)
    await project_all(database_url, database_url, [BATCH])
    expected = await dump(database_url)
    rng = random.Random(seed)
    splits = [[1], [2], [7], [rng.randrange(1, 40) for _ in range(50)]]
    for url, limits in zip(model_urls, splits, strict=True):
        await project_all(database_url, url, limits)
        found = await dump(url)
        for table, rows in expected.items():
            assert found[table] == rows, (table, limits)
    async with connected(model_urls[0]) as connection:
        await check_counts(connection)
        assert await connection.fetchval(STALE) == 0


async def test_the_scenarios_contain_every_kind_of_event(
    repository: Repository, database_url: str
) -> None:
    """The test above proves nothing about an event that does not occur in its log."""
    await RandomCommands(repository, SEED).execute(STEPS)
    async with connected(database_url) as connection:
        rows = await connection.fetch("SELECT DISTINCT topic FROM write_side.event")
    absent = set(TOPICS) - {row["topic"] for row in rows}
    assert absent == set(), "add commands to random_log.py, or choose another SEED"


@pytest.mark.slow
async def test_counts_equal_the_rows_after_every_event(
    repository: Repository, database_url: str, model_urls: list[str]
) -> None:
    """Another connection reads them while the log is projected event by event."""
    await RandomCommands(repository, 4).execute(STEPS)
    head = await head_of(database_url)
    assert head > STEPS / 2
    async with connected(model_urls[0]) as reader:
        projecting = asyncio.create_task(project_all(database_url, model_urls[0], [1]))
        looks = 0
        while not projecting.done():
            await check_counts(reader)
            looks += 1
        await projecting
        await check_counts(reader)
    assert looks > 10


async def check_counts(connection: Connection) -> None:
    async with connection.transaction(isolation="repeatable_read"):
        counted = {tuple(row) for row in await connection.fetch(GROUPS)}
        kept = {tuple(row) for row in await connection.fetch(COUNTS)}
    assert kept == counted
