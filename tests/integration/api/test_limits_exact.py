"""Exactly as many requests pass in a window as its limit allows, whichever process gets them."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import aiohttp
import pytest

from tests.integration.api.server import Answer, room
from tests.integration.api.test_limits import PATH
from tests.integration.deploy.processes import children_of, eventually, listens
from tests.integration.projector.sample_log import ContentBuilder
from tests.processes import Processes, apis
from write_side import commands as c
from write_side.repository import Repository


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(1, 1), (2,)])
async def test_processes_together_let_50_of_200_pass(
    workers: tuple[int, ...], database_url: str, repository: Repository, tmp_path: Path
) -> None:
    """Two independent servers, and one server with two workers."""
    with api_processes(database_url, tmp_path, workers) as processes:
        await check_processes(processes, repository)


async def flood(bases: list[str], n: int, secret: str) -> list[Answer]:
    """Spread requests over the servers in bursts, each on its own connection. Unused leases are
    returned in the pauses."""
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    headers = {"Authorization": f"Bearer {secret}"}
    async with aiohttp.ClientSession(connector=connector) as session:

        async def one(number: int) -> Answer:
            await asyncio.sleep(number // 20 * 0.15)
            base = bases[number % len(bases)]
            async with session.get(base + PATH, headers=headers) as response:
                return Answer(response.status, response.headers, await response.text())

        return await asyncio.gather(*(one(number) for number in range(n)))


async def check_exact(
    bases: list[str], repository: Repository, limit: int, n: int, operators: Sequence[str] = ()
) -> None:
    """Of ``n`` requests within a window, exactly ``limit`` pass."""
    for attempt in range(3):
        secret = f"a-secret-of-attempt-{attempt}"
        await issued(repository, secret)
        await room()
        before = await uncounted(operators)
        answers = await flood(bases, n, secret)
        windows = {answer.headers["X-RateLimit-Reset"] for answer in answers}
        if len(windows) == 1 and await uncounted(operators) == before:
            assert Counter(answer.status for answer in answers) == {200: limit, 429: n - limit}
            return
    raise AssertionError("no window was long enough, or the counter was always too slow")


async def uncounted(operators: Sequence[str]) -> float:
    """The requests that passed because the counter did not respond in time, as on a busy
    machine."""
    found = 0.0
    async with aiohttp.ClientSession() as session:
        for url in operators:
            async with session.get(f"{url}/metrics") as response:
                text = await response.text()
            found += sum(
                map(float, re.findall(r"^contentlog_rate_limit_uncounted_total (.+)$", text, re.M))
            )
    return found


async def issued(repository: Repository, secret: str) -> None:
    await ContentBuilder(repository).execute(
        c.IssueKey,
        workspace="acme",
        name=secret,
        permissions=("content.view",),
        secret_hash=hashlib.sha256(secret.encode()).hexdigest(),
    )


def api_processes(
    url: str, folder: Path, workers: tuple[int, ...]
) -> AbstractContextManager[list[Processes]]:
    """API processes on separate ports, each with this number of workers."""
    return apis(
        [
            Processes(
                url,
                folder / f"{number}.log",
                CONTENTLOG_KEY_RATE_LIMIT="50",
                CONTENTLOG_WORKERS=str(n),
            )
            for number, n in enumerate(workers)
        ]
    )


async def check_processes(processes: list[Processes], repository: Repository) -> None:
    await asyncio.gather(*(process.caught_up(60) for process in processes))
    for process in processes:
        parent = process.running["api"].pid
        await eventually(
            lambda parent=parent, port=process.port: all(  # type: ignore[misc]
                listens(pid, port) for pid in children_of(parent)
            ),
            60,
        )
    await ContentBuilder(repository).workspace()
    bases = [process.url for process in processes]
    await check_exact(bases, repository, 50, 200, [one.operators_url for one in processes])
