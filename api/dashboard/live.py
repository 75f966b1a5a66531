"""Tells a page that is open when to load itself again: after a change in its environment, and when
the projector stops or resumes.

It gets changes from the tail that the streams of the change feed share (ADR 48). The page itself
reads what has changed, so no event has data.
"""

from __future__ import annotations

import asyncio
import contextlib

from aiohttp import web

from api.changes.stream import COMMENT, open_stream
from api.dashboard.dashboard_request import DashboardRequest, NoSession, check_session
from api.errors import ApiError
from api.operations.health import STATUS
from api.rest.request_checks import check_permission
from read_side.change_tail import Arrivals
from read_side.changes import ChangeRecord, ChangeSelection
from write_side.domain.workspace import VIEW
from write_side.store.conflicts import StoreUnavailable
from write_side.waiting import wait_until_set

SILENCE = 5.0
"""Seconds after which the projector is checked, and a comment is sent."""
PAUSE = 0.5
"""Seconds in which changes make one event."""
CHANGED = b"event: changed\ndata:\n\n"
_EVERYTHING = ChangeSelection()


async def follow_changes(request: DashboardRequest) -> web.StreamResponse:
    """Streams until the page is left, the session ends or the process stops."""
    service, stream = request.service, LiveStream(request)
    with service.streams.admitted(stream.end, request.caller):
        try:
            await service.streams.tail.join(request.scope, _EVERYTHING, stream)
            return await stream.run()
        finally:
            service.streams.tail.leave(request.scope, _EVERYTHING, stream)


class LiveStream:
    def __init__(self, request: DashboardRequest) -> None:
        self._request = request
        self._wakeup = asyncio.Event()
        self._is_changed = self._is_ended = False

    def arrived(self, _arrivals: Arrivals, _selected: list[ChangeRecord]) -> None:
        self._is_changed = True
        self._wakeup.set()

    def end(self) -> None:
        """The page connects again, and loads itself then."""
        self._is_ended = True
        self._wakeup.set()

    async def run(self) -> web.StreamResponse:
        response = await open_stream(self._request.request, self.end)
        with contextlib.suppress(ConnectionError, NoSession, ApiError, StoreUnavailable):
            await self._send_to(response)
        return response

    async def _send_to(self, response: web.StreamResponse) -> None:
        status = self._request.request.app[STATUS]
        state = (await status.current()).state
        await response.write(COMMENT)
        while True:
            await wait_until_set(self._wakeup, SILENCE)
            # Before the checks: the stream may end during them.
            self._wakeup.clear()
            if self._is_ended:
                return
            await check_session(self._request, active=False)
            check_permission(self._request.caller, VIEW)
            before, state = state, (await status.current()).state
            is_changed = self._is_changed or state != before
            self._is_changed = False
            await response.write(CHANGED if is_changed else COMMENT)
            await asyncio.sleep(PAUSE)
