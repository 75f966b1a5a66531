"""Read models whose rows name the read model that they belong to, and a reader that checks it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from projector.log import Log
from projector.rebuild import operations as module
from projector.rebuild.build import Build
from projector.rebuild.progress import Operation
from projector.rebuild.switch import Candidate
from read_side.schema import LIVE, NEXT
from tests.integration.live_projector import connected, project_all
from tests.integration.projector.random_log import WORKSPACES
from tests.integration.projector.rebuilds import build_settings, silent
from tests.integration.projector.sample_log import ContentBuilder
from write_side.domain.identity import Scope
from write_side.postgres.connection import Connection
from write_side.repository import Repository

ENTRIES = 3
MARKS = ("UPDATE {}.entry SET title = $1", "UPDATE {}.workspace SET name = $1")
ONE_WORKSPACE = """
SELECT e.title, w.name, c.epoch, count(*) AS n FROM read_model.entry e
JOIN read_model.workspace w ON w.slug = e.workspace CROSS JOIN read_model.checkpoint c
WHERE e.workspace = 'acme' GROUP BY 1, 2, 3"""
ALL_WORKSPACES = """
SELECT e.title, w.name, count(*) AS n FROM read_model.entry e
JOIN read_model.workspace w ON w.slug = e.workspace GROUP BY 1, 2"""


async def mark(connection: Connection, schema: str, number: int) -> None:
    """Writes the name of the read model into every row."""
    for statement in MARKS:
        await connection.execute(statement.format(schema), str(number))


class Reader:
    """Reads repeatedly with one prepared statement, as a pooled connection does."""

    def __init__(self, connection: Connection, query: str, entries: int) -> None:
        self._connection = connection
        self._query = query
        self._entries = entries
        self._seen = 0
        self.reads: Counter[int] = Counter()

    async def read(self) -> None:
        [row] = await self._connection.fetch(self._query)
        assert (row["title"], row["n"]) == (row["name"], self._entries)
        number = int(row["title"])
        assert number >= self._seen
        self._seen = number
        self.reads[number] += 1


async def project_with_marks(repository: Repository, url: str) -> None:
    """Projects a few entries in each of two workspaces."""
    for workspace in WORKSPACES:
        builder = ContentBuilder(repository, Scope(workspace, "production"))
        await builder.magazine()
        for number in range(ENTRIES):
            await builder.entry(f"entry-{number}")
    await project_all(url, url)
    async with connected(url) as connection:
        await mark(connection, LIVE, 0)


@asynccontextmanager
async def candidate_with_mark(url: str, number: int) -> AsyncIterator[Candidate]:
    settings = build_settings(url)
    async with module.connections(settings, NEXT) as (store, model):
        build = Build(settings, NEXT, store, model, Operation(silent))
        candidate = await build.make(await Log(store).head())
        await mark(model, NEXT, number)
        yield candidate
