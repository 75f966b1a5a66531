"""How the server process ends: quietly only after a signal during startup."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from api import server
from api.settings import ApiSettings

SETTINGS = ApiSettings(event_store_url="", read_model_url="")


async def test_a_signal_during_the_start_ends_it_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def open_service(_settings: ApiSettings) -> AsyncIterator[None]:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(60)
        yield

    monkeypatch.setattr(server, "open_service", open_service)
    await asyncio.create_task(server.serve(SETTINGS))


async def test_a_start_that_fails_by_itself_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def open_service(_settings: ApiSettings) -> AsyncIterator[None]:
        raise asyncio.CancelledError
        yield

    monkeypatch.setattr(server, "open_service", open_service)
    with pytest.raises(asyncio.CancelledError):
        await server.serve(SETTINGS)


async def test_an_end_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def open_service(_settings: ApiSettings) -> AsyncIterator[None]:
        yield
        raise asyncio.CancelledError  # raised by a task that it waits for

    async def listen(_service: object, _stop: asyncio.Event) -> None:
        pass

    monkeypatch.setattr(server, "open_service", open_service)
    monkeypatch.setattr(server, "_listen", listen)
    with pytest.raises(asyncio.CancelledError):
        await server.serve(SETTINGS)
