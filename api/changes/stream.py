"""The endpoint of the change feed (ADR 48): by pages, or as server-sent events (WHATWG HTML, 9.2).

A stream first sends pages from the database, then what the process's tail delivers. Its key is
checked before each event and each comment.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

from aiohttp import web

from api.auth.keys import secret_of
from api.changes.bodies import CaughtUp, Change, ChangesBody, Current, TooLarge
from api.changes.pages import ChangesRequest, first_page
from api.context import Call
from api.errors import ApiError
from api.http.connections import Connection
from api.http.representation import accepted, qualities
from api.http.request_log import SECONDS
from api.rest import wire
from api.rest.cached_response import add_position, json_response
from api.rest.request_checks import check_read, resolve_environment, with_checks
from read_side.change_tail import Arrivals
from read_side.changes import MOST, ChangePage, ChangeRecord, changes_after
from read_side.refusals import ReadModelUnavailable
from write_side.domain.refusals import Refused
from write_side.fair_queue import Overloaded
from write_side.store.conflicts import StoreUnavailable
from write_side.waiting import wait_until_set

EVENT_STREAM = "text/event-stream"
COMMENT = b":\n\n"
SILENCE = 15.0
"""Seconds after which a comment is sent."""
RETRY = 0.2
MOST_WAITING = 1_000
"""Changes that may wait in memory. If there are more, they are read from the database; a client
that does not read is disconnected, and resumes."""

P = ParamSpec("P")
T = TypeVar("T")


def routes() -> list[web.RouteDef]:
    return [web.get("/v1/changes", with_checks(check_read, changes))]


async def changes(call: Call) -> web.StreamResponse:
    """The changes after a token, oldest first."""
    request = ChangesRequest.of(call)
    if wants_stream(call.request):
        return await stream_changes(call, request)
    page, view = await first_page(call, request), request.view
    found, current = await view.with_current(page.changes)
    shown = list(view.changes(found, view.previous(page), current))
    following = shown[-1].id if shown else request.token_after(page)
    is_all = len(found) == len(page.changes)
    response = json_response(call, ChangesBody(shown, following, page.is_last and is_all))
    response.headers["Vary"] = "Accept"
    add_position(call, response, page.through)
    return response


def wants_stream(request: web.Request) -> bool:
    """Whether Accept names event streams and does not prefer JSON. ``*/*`` does not name them."""
    weights = qualities(accepted(request, "Accept"))
    of_stream = (n for name, n in weights.items() if name.partition(";")[0] == EVENT_STREAM)
    weight = max(of_stream, default=0)
    return request.method == "GET" and weight > 0 and weight >= weights.get("application/json", 0.0)


async def stream_changes(call: Call, request: ChangesRequest) -> web.StreamResponse:
    """Streams until the client leaves, its key ends or the process stops. Raises what a page
    raises, TooManyStreams and Busy."""
    stream = ChangeStream(call, request)
    with call.service.streams.admitted(stream.end, call.caller):
        page = await first_page(call, request)
        response = await open_stream(call.request, stream.end)
        await stream.run(response, page)
    return response


async def open_stream(request: web.Request, on_lost: Callable[[], None]) -> web.StreamResponse:
    """Sends the headers of a stream. ``on_lost`` is called when the client leaves; if it has left
    before, the first write fails."""
    if isinstance(request.protocol, Connection):
        request.protocol.on_lost = on_lost
    headers = {"Content-Type": EVENT_STREAM, "X-Accel-Buffering": "no"}
    response = web.StreamResponse(headers=headers)
    # Otherwise metrics would count the stream as a request that took hours.
    request[SECONDS] = 0.0
    with suppress(ConnectionError):
        await response.prepare(request)
    return response


class _Ended(Exception):
    """The client has left, its key has ended, or the process stops."""


class ChangeStream:
    """All selected changes up to ``_position`` were sent. ``_previous`` is the id of the last
    one."""

    def __init__(self, call: Call, request: ChangesRequest) -> None:
        self._call = call
        self._view = request.view
        self._secret = secret_of(call.request.headers)
        self._waiting: deque[tuple[Arrivals, list[ChangeRecord]]] = deque()
        self._number = 0
        self._wakeup = asyncio.Event()
        self._is_behind = self._is_writing = self._is_ended = False
        self._position = 0
        self._previous: str | None = None
        self._response: web.StreamResponse
        self._silent_since = 0.0

    async def run(self, response: web.StreamResponse, page: ChangePage) -> None:
        self._response = response
        tail, view = self._call.service.streams.tail, self._view
        try:
            self._previous = view.previous(page)
            await self._send_pages(page)
            await self._join()
            await self._send_caught_up()
            while True:
                await self._pause(None)
                await self._send_arrivals()
        except (_Ended, ConnectionError):
            return
        finally:
            tail.leave(view.scope, view.selection, self)

    # From the tail

    def arrived(self, arrivals: Arrivals, selected: list[ChangeRecord]) -> None:
        self._waiting.append((arrivals, selected))
        self._number += len(selected)
        self._wakeup.set()
        if self._number > MOST_WAITING:
            if self._is_writing:
                self._abort()
            self._waiting.clear()
            self._number, self._is_behind = 0, True

    def end(self) -> None:
        self._is_ended = True
        self._wakeup.set()

    def _abort(self) -> None:
        self.end()
        transport = self._call.request.transport
        if transport is not None:
            transport.abort()

    # From the database

    async def _send_pages(self, page: ChangePage) -> None:
        """This page and those after it."""
        while True:
            found, current = await self._retried(self._view.with_current, page.changes)
            await self._send_changes(list(self._view.changes(found, self._previous, current)))
            if page.is_last and len(found) == len(page.changes):
                self._position = page.through
                return
            page = await self._page(found[-1].position)

    async def _page(self, after: int) -> ChangePage:
        view, read_model = self._view, self._call.service.read_model
        where = (view.scope, view.selection, after, MOST)
        while (page := await self._retried(changes_after, read_model, *where)).through < after:
            # A crash of PostgreSQL has set the read model back: the changes will come again.
            await self._pause(RETRY)
        if self._previous != view.previous(page):
            raise _Ended  # the log was restored to an earlier point
        return page

    async def _join(self) -> None:
        """From now on, the tail delivers what is after the position."""
        tail, view = self._call.service.streams.tail, self._view
        joined = await self._retried(tail.join, view.scope, view.selection, self)
        while self._position < joined:
            await self._send_pages(await self._page(self._position))
            if self._position < joined:
                # The read model was set back after the tail read it: the changes will come again.
                await self._pause(RETRY)

    async def _retried(
        self, read: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Retries while the database is unavailable or overloaded."""
        while True:
            try:
                return await read(*args, **kwargs)
            except (ReadModelUnavailable, Overloaded):
                await self._pause(RETRY)

    # To the client

    async def _send_arrivals(self) -> None:
        while self._waiting or self._is_behind:
            if self._is_behind:
                self._is_behind = False
                await self._send_pages(await self._page(self._position))
                continue
            arrivals, selected = self._waiting.popleft()
            self._number -= len(selected)
            selected = [change for change in selected if change.position > self._position]
            if not selected:
                continue
            current = await self._current_of(arrivals)
            if current is None:
                await self._send_pages(await self._page(self._position))
                continue
            await self._write(
                b"".join(self._shared_event(arrivals, change, current) for change in selected)
            )
            self._position = selected[-1].position

    async def _current_of(self, arrivals: Arrivals) -> Current | None:
        """Read once for all streams with the same locale. None if that fails, or they are too large
        together."""
        view = self._view
        if view.locale is None:
            return {}
        key = ("current", view.locale)
        if key not in arrivals.shared:
            reading = view.current(arrivals.changes)
            arrivals.shared[key] = asyncio.create_task(reading, name="current entries")
        try:
            current: Current = await asyncio.shield(arrivals.shared[key])
        except (TooLarge, ReadModelUnavailable, Overloaded):
            return None
        return current

    def _shared_event(self, arrivals: Arrivals, change: ChangeRecord, current: Current) -> bytes:
        """Made once for all streams in which it is the same."""
        view = self._view
        key = (change.position, self._previous, view.selection.published_only, view.locale)
        found = arrivals.shared.get(key)
        if found is None:
            shown = view.change(change, self._previous, current)
            found = arrivals.shared[key] = (shown.id, _event(shown.id, shown.type, shown))
        self._previous = found[0]
        event: bytes = found[1]
        return event

    async def _send_changes(self, shown: list[Change]) -> None:
        if shown:
            await self._write(b"".join(_event(change.id, change.type, change) for change in shown))
            self._previous = shown[-1].id

    async def _send_caught_up(self) -> None:
        following = self._previous or self._view.token(None)
        await self._write(_event(following, "caught-up", CaughtUp(following)))

    async def _write(self, data: bytes) -> None:
        await self._check_key()
        self._call.service.limits.charge_bytes(self._call.caller, len(data))
        self._is_writing = True
        await self._response.write(data)
        self._is_writing = False
        self._silent_since = asyncio.get_running_loop().time()

    async def _check_key(self) -> None:
        """Raises _Ended for a key that has ended, or may do less than before."""
        call = self._call
        try:
            caller = await call.service.access.caller(self._secret)
            if caller is not call.caller:
                if caller is None:
                    raise _Ended
                before, call.caller = call.published_only, caller
                check_read(call)
                resolve_environment(call)
                if call.published_only != before:
                    raise _Ended
        except (ApiError, Refused, StoreUnavailable) as error:
            raise _Ended from error

    async def _pause(self, seconds: float | None) -> None:
        """Waits for this many seconds, or until changes arrive. Sends comments meanwhile. Raises
        _Ended."""
        loop = asyncio.get_running_loop()
        until = None if seconds is None else loop.time() + seconds
        while True:
            if self._is_ended:
                raise _Ended
            if until is None and (self._waiting or self._is_behind):
                self._wakeup.clear()
                return
            wait = self._silent_since + SILENCE - loop.time()
            if until is not None:
                wait = min(wait, until - loop.time())
            if await wait_until_set(self._wakeup, max(wait, 0.0)):
                self._wakeup.clear()
            elif until is not None and loop.time() >= until:
                return
            else:
                await self._write(COMMENT)


def _event(token: str, kind: str, data: wire.Wire) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (token.encode(), kind.encode(), wire.encode(data))
