from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from deploy.commands import servers

FREED = 40 * 1024 * 1024
BUSY = pytest.param(0.0, 0.01, id="busy for long")
QUIET = pytest.param(float("inf"), float("inf"), id="quiet")


@pytest.mark.skipif(servers._trim is None, reason="needs glibc")
@pytest.mark.parametrize(("quiet", "longest"), [QUIET, BUSY])
async def test_freed_memory_is_returned_while_the_work_goes_on(
    quiet: float, longest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    _set(monkeypatch, quiet, longest)
    blocks = [bytes(20_000) for _ in range(2 * FREED // 20_000)]
    kept = blocks[::2]  # the freed blocks lie between the kept ones
    del blocks
    before = _resident()

    async def work() -> None:
        """Runs until the memory is returned."""
        async with asyncio.timeout(60):
            while before - _resident() <= FREED / 2:  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(0.01)

    await servers.trimmed(work())
    assert kept


async def test_a_busy_process_does_not_stop_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _set(monkeypatch, quiet=0.0, longest=float("inf"))
    calls: list[int] = []
    monkeypatch.setattr(servers, "_trim", calls.append)
    await servers.trimmed(asyncio.sleep(0.05))
    assert not calls


def _set(monkeypatch: pytest.MonkeyPatch, quiet: float, longest: float) -> None:
    for name, value in {"INTERVAL": 0.0, "LOOK": 0.01, "QUIET": quiet, "LONGEST": longest}.items():
        monkeypatch.setattr(servers, name, value)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
