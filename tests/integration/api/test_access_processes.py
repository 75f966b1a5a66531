"""A key's life as seen by two API processes while no projector runs."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.integration.projector.sample_log import ContentBuilder
from tests.processes import Processes, apis
from write_side import commands as c
from write_side.repository import Repository

SECRET = "a-secret-that-does-not-last"
WITHIN = 1.0  # seconds


@pytest.fixture
def processes(database_url: str, tmp_path: Path) -> Iterator[list[Processes]]:
    """Two independent API processes."""
    with apis([Processes(database_url, tmp_path / f"{n}.log") for n in range(2)]) as started:
        yield started


async def answer(session: aiohttp.ClientSession, process: Processes) -> int:
    headers = {"Authorization": f"Bearer {SECRET}"}
    async with session.get(f"{process.url}/v1/content", headers=headers) as response:
        return response.status


async def refuses(session: aiohttp.ClientSession, process: Processes, revoked: float) -> None:
    """Sends requests until one second after the revocation. The last one must get a 401."""
    while True:
        began = time.monotonic()
        status = await answer(session, process)
        if began >= revoked + WITHIN:
            assert status == 401
            return
        assert status in (200, 401)


@pytest.mark.slow
async def test_a_key_is_valid_at_once_and_refused_within_a_second_of_its_expiry(
    processes: list[Processes], repository: Repository
) -> None:
    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(process.caught_up(60) for process in processes))
        builder = ContentBuilder(repository)
        await builder.workspace()
        for name in ("first", "second"):
            await builder.execute(
                c.IssueKey,
                workspace="acme",
                name=name,
                permissions=("content.view",),
                secret_hash=hashlib.sha256(SECRET.encode()).hexdigest(),
            )
            assert [await answer(session, process) for process in processes] == [200, 200], name
            await builder.execute(c.RevokeKey, workspace="acme", name=name)
            revoked = time.monotonic()
            await asyncio.gather(*(refuses(session, process, revoked) for process in processes))
