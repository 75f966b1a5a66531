"""Logs requests that have had no response for a long time, and where they wait.

Every wait has its own timeout, so a log line means a defect, or work that takes long, such as the
export of a large workbook. Nothing is cancelled: a write may already be in the event log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import PurePath
from types import CoroutineType
from typing import Any, TypeAlias
from weakref import WeakSet

import structlog
from aiohttp import web

from api.http.request_log import request_id

INTERVAL = 60.0
"""Seconds between two checks; a request that both find is logged."""
Answer: TypeAlias = Coroutine[Any, Any, web.StreamResponse]
_log = structlog.get_logger("api.long_requests")


class LongRequests:
    """``unanswered``: the requests in progress, by the coroutines that answer them."""

    def __init__(self) -> None:
        self.unanswered: dict[Answer, web.Request] = {}

    async def watch(self) -> None:
        """Runs until it is cancelled."""
        found: WeakSet[Answer] = WeakSet()
        while True:
            await asyncio.sleep(INTERVAL)
            found = self._look(found)

    def _look(self, before: WeakSet[Answer]) -> WeakSet[Answer]:
        for answer, request in self.unanswered.items():
            # Not one that is still arriving, or whose response has begun, such as a stream.
            if answer in before and request.content.is_eof() and not request.writer.output_size:
                _log.warning(
                    "a request has no response yet",
                    method=request.method,
                    path=request.rel_url.raw_path,
                    request_id=request_id(request),
                    waits_in=list(_calls(answer)),
                )
        return WeakSet(self.unanswered)


def _calls(awaited: object) -> Iterator[str]:
    """The coroutines that wait for each other, the outermost first."""
    while isinstance(awaited, CoroutineType) and (frame := awaited.cr_frame) is not None:
        code = frame.f_code
        yield f"{code.co_qualname} ({PurePath(code.co_filename).name}:{frame.f_lineno})"
        awaited = awaited.cr_await
