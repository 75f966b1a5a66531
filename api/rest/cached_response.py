"""A response to a read: from the cache, or made and then cached (ADR 38)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web
from msgspec import Raw, Struct

from api.context import Call
from api.errors import NotVisibleYet
from api.http.compression import etag
from api.http.large_bodies import JSON
from api.rest import wire
from api.rest.response_cache import CachedResponse, ReadResponse
from api.rest.tokens import POSITION
from read_side.notices import Dependency
from read_side.pool import Pool, current_stamp
from read_side.refusals import NotFound, TypeNotFound
from read_side.stamp import position_of
from write_side import tracing

CACHE = "contentlog.response_cache"
"""The attribute of a request's span that says whether the response was in memory."""


class Reading(Struct, frozen=True):
    """A body in JSON, and what it depends on. ``stamp``: of the checkpoint at which it was read,
    None if no row with a stamp was read. ``may_grow``: see Page; such a response is not cached.
    """

    body: bytes
    stamp: int | None
    dependencies: tuple[Dependency, ...]
    may_grow: bool = False


async def cached_response(
    call: Call,
    parameters: tuple[object, ...],
    dependencies: Sequence[Dependency],
    read: Callable[[Pool], Awaitable[Reading]],
) -> web.Response:
    """The response for the parameters. It depends on nothing else but the workspace, the
    environment, the locale and what the key may read. ``dependencies``: as far as they are
    known before it is read; a replica may read it (ADR 52).

    Raises what ``read`` of the primary raises.
    """
    scope, cache = call.scope, call.service.responses
    key = (scope.workspace, scope.environment, call.locale, call.published_only, *parameters)
    response = cache.find(key)
    tracing.current().set(CACHE, "miss" if response is None else "hit")
    if response is not None:
        return _response(call, response, is_repeated=True)
    resets = cache.resets
    reading = await call.service.replicas.read(dependencies, read) or await _read(call, read)
    if reading.stamp is None:
        return await _without_stamp(call, read)
    # A copy, because the rest of msgspec's buffer stays unused behind what it has encoded.
    body = bytes(memoryview(reading.body))
    token = call.service.positions.token(scope.workspace, position_of(reading.stamp))
    response = CachedResponse(key, body, etag(body), token, reading.stamp, reading.dependencies)
    if not reading.may_grow:
        cache.put(response, resets)
    return _response(call, response, is_repeated=False)


async def _without_stamp(call: Call, read: Callable[[Pool], Awaitable[Reading]]) -> web.Response:
    """The response if no row with a stamp was read. Its position is then that of the checkpoint,
    which is read first, so that the response includes everything up to it."""
    stamp = await current_stamp(call.service.read_model)
    _check_position(call, stamp)
    reading = await _read(call, read)
    response = json_response(call, Raw(reading.body))
    add_position(call, response, position_of(stamp if reading.stamp is None else reading.stamp))
    return response


async def _read(call: Call, read: Callable[[Pool], Awaitable[Reading]]) -> Reading:
    """From the primary. If there is no content type, there is no stamp either. Then the checkpoint
    is read before the response is sent.

    Raises NotVisibleYet if the server was set back to before the position in the request: after a
    failover, a read may be faster than the watch that notices it (ADR 58).
    """
    try:
        reading = await read(call.service.read_model)
    except NotFound as error:
        if not call.position and not isinstance(error, TypeNotFound):
            raise
        _check_position(call, await current_stamp(call.service.read_model))
        if not call.position:
            raise
        # It may have been read before that checkpoint.
        reading = await read(call.service.read_model)
    if reading.stamp is not None:
        _check_position(call, reading.stamp)
    return reading


def _check_position(call: Call, stamp: int) -> None:
    if position_of(stamp) < call.position:
        raise NotVisibleYet


def json_response(call: Call, body: Struct | Raw, status: int = 200) -> web.Response:
    """A response that is not cached."""
    encoded = wire.encode(body)
    call.service.limits.charge_bytes(call.caller, len(encoded))
    return web.Response(status=status, body=encoded, content_type=JSON)


def _response(call: Call, cached: CachedResponse, *, is_repeated: bool) -> web.Response:
    response = ReadResponse(cached, call.caller, is_repeated=is_repeated)
    call.service.limits.charge_bytes(call.caller, len(cached.body))
    response.headers[POSITION] = _newer_token(call, position_of(cached.stamp), cached.token)
    return response


def add_position(call: Call, response: web.Response, position: int) -> None:
    """The position that the content includes, as a token."""
    token = call.service.positions.token(call.scope.workspace, position)
    response.headers[POSITION] = _newer_token(call, position, token)


def add_written_position(
    call: Call, response: web.Response, position: int, *, visible: bool
) -> None:
    """The position of a write, and whether it can be read."""
    add_position(call, response, position)
    response.headers["X-Content-Visible"] = "true" if visible else "false"


def _newer_token(call: Call, position: int, token: str) -> str:
    """The client's own if it is newer: a cached response may have been read at an earlier position,
    and not have changed since."""
    return call.request.headers[POSITION] if call.position > position else token
