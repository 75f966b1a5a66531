"""Files in memory at a time: what waits for a place has none there yet, and waits only a little."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal
from weakref import WeakKeyDictionary, WeakValueDictionary

from aiohttp import web

from api.dashboard.pages import Page
from api.dashboard.visit import Visit
from api.errors import Busy

PATIENCE = 5.0
OF_A_WORKSPACE = 2
"""Of the places, so that the others' are not all taken by one."""

Work = Literal["receiving", "working"]
_IN_ALL: dict[Work, int] = {"receiving": 8, "working": 4}
"""Of a process. What comes in slowly takes no place from what is being worked on."""

_places: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Work, Places]] = WeakKeyDictionary()


class Places:
    """For one kind of work."""

    def __init__(self, in_all: int) -> None:
        self._all = asyncio.Semaphore(in_all)
        # Each is there as long as somebody has a place, or waits for one.
        self._of_one: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, workspace: str) -> AsyncIterator[None]:
        """Raises Busy."""
        own = self._of_one.setdefault(workspace, asyncio.Semaphore(OF_A_WORKSPACE))
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(PATIENCE):
                    await stack.enter_async_context(own)
                    await stack.enter_async_context(self._all)
            except TimeoutError:
                raise Busy from None
            yield


@asynccontextmanager
async def place(visit: Visit, work: Work) -> AsyncIterator[None]:
    """One of this process. Raises Busy."""
    loop = asyncio.get_running_loop()
    found = _places.setdefault(loop, {kind: Places(most) for kind, most in _IN_ALL.items()})
    async with found[work].of(visit.scope.workspace):
        yield


def receiving(handler: Page) -> Page:
    """A form with a file, of which nothing is read before there is a place for it."""

    async def received(visit: Visit) -> web.StreamResponse:
        async with place(visit, "receiving"):
            return await handler(visit)

    return received
