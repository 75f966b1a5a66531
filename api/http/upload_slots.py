"""Limits how many uploaded files an API process holds in memory at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from aiohttp import web

from api.errors import Busy

PATIENCE = 5.0
SLOTS_PER_WORKSPACE = 2
"""Prevents one workspace from occupying all slots."""


class UploadSlots:
    def __init__(self, total: int) -> None:
        self._total = asyncio.Semaphore(total)
        # A workspace's semaphore exists while it is held or waited for.
        self._by_workspace: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def slot(self, workspace: str) -> AsyncIterator[None]:
        """Raises Busy if none becomes free in time."""
        own = self._by_workspace.setdefault(workspace, asyncio.Semaphore(SLOTS_PER_WORKSPACE))
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(PATIENCE):
                    await stack.enter_async_context(own)
                    await stack.enter_async_context(self._total)
            except TimeoutError:
                raise Busy from None
            yield


# Separate slots, so that a slow upload does not prevent work on files that have arrived.
RECEIVING = web.AppKey("receiving_slots", UploadSlots)
WORKING = web.AppKey("working_slots", UploadSlots)
EXPORTING = web.AppKey("exporting_slots", UploadSlots)


def add_upload_slots(app: web.Application) -> None:
    """The dashboard and imports over HTTP share them."""
    app[RECEIVING] = UploadSlots(8)
    app[WORKING] = UploadSlots(4)
    app[EXPORTING] = UploadSlots(8)
