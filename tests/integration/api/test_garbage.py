"""Garbage collection skips the objects that were created at startup."""

from __future__ import annotations

import asyncio
import gc

import pytest

from api.server import COLLECT_AFTER, serve
from api.settings import ApiSettings
from tests.integration.live_projector import until
from tests.processes import free_port


@pytest.mark.slow
async def test_startup_objects_are_excluded_from_collections(database_url: str) -> None:
    settings = ApiSettings(
        event_store_url=database_url, read_model_url=database_url, port=free_port()
    )
    gc.unfreeze()  # what tests/conftest.py has frozen
    before = gc.get_threshold()
    serving = asyncio.create_task(serve(settings))

    async def is_frozen() -> bool:
        return gc.get_freeze_count() > 0

    try:
        await until(is_frozen)
        left = len(gc.get_objects())
        assert gc.get_freeze_count() > 50_000 > 10 * left
        assert gc.get_threshold() == COLLECT_AFTER
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
