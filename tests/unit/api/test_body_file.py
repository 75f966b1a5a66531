"""Temporary files for response bodies that take long to send."""

from __future__ import annotations

import asyncio
import tempfile
from typing import Any

import pytest

from api.http.large_bodies import JSON, BodyFile


async def test_a_body_file_is_closed_only_by_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    """aiohttp must not close the file in a thread: that would race with the owner."""
    opened: list[Any] = []

    open_file = tempfile.TemporaryFile

    def remembered() -> Any:
        opened.append(open_file())
        return opened[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", remembered)
    file = BodyFile()
    await asyncio.to_thread(file.end, b"[]")
    await file.payload(JSON).close()
    await asyncio.get_running_loop().shutdown_default_executor()  # waits for running threads
    assert not opened[0].closed
    file.close()
    assert opened[0].closed
