"""Several recorders on one event store, as in several processes, and a workspace for imports."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.integration.write_side import import_fixtures
from tests.integration.write_side.lossy_recorder import LossyRecorder, lossy
from tests.integration.write_side.sample_commands import repository_on
from write_side.repository import Repository
from write_side.store.recorder import open_recorder


@pytest.fixture
async def repositories(database_url: str) -> AsyncIterator[list[Repository]]:
    """Three repositories that share only the database; each has an appender of its own."""
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(open_recorder(database_url, connections=4))
            for _ in range(3)
        ]
        yield [repository_on(recorder) for recorder in opened]


@pytest.fixture
async def lost(database_url: str) -> AsyncIterator[LossyRecorder]:
    async with lossy(database_url) as found:
        yield found


@pytest.fixture
async def magazine(repository: Repository) -> Repository:
    return await import_fixtures.magazine(repository)
