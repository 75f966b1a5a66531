"""A Redis of the test's own on a free port; the machine's own is nobody's business here."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.processes import free_port


@asynccontextmanager
async def redis_server(folder: Path, port: int | None = None) -> AsyncIterator[str]:
    """Its URL. Skips the test where there is no redis-server to start."""
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip("NOT TESTED on Redis: there is no redis-server on the PATH")
    port = port or free_port()
    where = ("--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder))
    process = await asyncio.create_subprocess_exec(
        binary, *where, "--save", "", "--appendonly", "no", stdout=asyncio.subprocess.DEVNULL
    )
    try:
        await _listens(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        await process.wait()


async def _listens(port: int) -> None:
    async with asyncio.timeout(10):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return
