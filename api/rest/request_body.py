"""The body of a POST, read and decompressed within limits, and the limit on values in JSON.

aiohttp's own decompression has no limit, and also applies to bodies that no handler reads: it
drains them from the connection after the response, and 2 MB may decompress to 2 GB.

A few kilobytes of gzip hold millions of empty objects, too. Decoding those takes seconds and blocks
the event loop; counting them takes milliseconds.
"""

from __future__ import annotations

import asyncio
import zlib
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import msgspec
from aiohttp import HttpVersion11, web
from msgspec import Raw

from api.context import Call
from api.errors import BadRequest, BodyTooLarge, SlowClient
from api.http.large_bodies import LARGE, Spool, after_handling
from api.http.loop_turns import DECOMPRESS
from write_side.domain.text import without_strings

SLOWEST = 8 * 1024  # bytes per second at which a body must arrive after ``client_timeout``
DAMAGED = "Request body cannot be read: its encoding is damaged"
NOT_OURS = "Request body cannot be read: Content-Encoding must be gzip or deflate"
ENCODINGS = ("gzip", "deflate")
# The rest after a member is copied for the next one, so pieces are small.
PIECE = 4096
# An empty member has 20 bytes but costs as much time as a full one.
MAX_MEMBERS = 1024
# A byte of DEFLATE decompresses to at most this many bytes.
MOST_INFLATED = 1032
MAX_VALUES = 100_000
"""Values in a JSON body, without keys: one per 20 bytes of a body of 2 MB."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
AWAITS_CONTINUE = web.RequestKey("awaits_continue", bool)
"""The client sends the body only after CONTINUE."""
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_STRUCTURE = b",[{"
_QUOTES = 4 * MAX_VALUES
"""Separators of this many values and as many keys."""


async def defer_continue(request: web.Request) -> None:
    """The expect handler of a route: CONTINUE is sent when the body is about to be read, after the
    checks of the request. aiohttp's own handler sends it at once."""
    if request.version == HttpVersion11:
        if request.headers["Expect"].lower() != "100-continue":
            raise web.HTTPExpectationFailed
        request[AWAITS_CONTINUE] = True


async def receive_body(call: Call, most: int | None = None) -> bytes:
    """The body, decompressed; up to ``most`` bytes if that is less than the setting. Its
    Content-Type does not matter, because forms of other sites cannot send the header with the key.

    A body of more than ``LARGE`` is in a temporary file until it is complete. From then on it is
    counted among those in memory; if there are too many, it waits until others are done.

    Raises BadRequest, SlowClient, Busy, NoTemporarySpace or Overloaded, and BodyTooLarge as soon as
    it is too large.
    """
    request, settings = call.request, call.service.settings
    limit = min(most or settings.max_body_bytes, settings.max_body_bytes)
    length = request.content_length or 0
    if length > limit:
        raise BodyTooLarge(limit)
    try:
        decompressor = _decompressor(request)
        if decompressor is None and 0 < length <= LARGE and request.content.is_eof():
            # Most bodies arrive together with their headers.
            return request.content.read_nowait().removeprefix(BOM_UTF8)
        return await _receive(call, limit, decompressor)
    except (web.RequestPayloadError, DamagedBody):
        raise BadRequest(DAMAGED) from None
    except ConnectionError:
        # The client will not see this, but it must not count as an internal error.
        raise BadRequest("The client disconnected before its request was complete") from None


@asynccontextmanager
async def arriving(call: Call) -> AsyncIterator[Callable[[int], Awaitable[None]]]:
    """Limits the number of large bodies of a workspace that arrive, and the time for each. A steady
    client may take longer than ``client_timeout``, but not forever. Yields a function to call with
    the size of each part that has arrived, before the part is kept.

    Raises SlowClient. The function raises Overloaded.
    """
    request = call.request
    if request.pop(AWAITS_CONTINUE, False) and request.transport is not None:
        request.transport.write(CONTINUE)
    loop = asyncio.get_running_loop()
    began, received = loop.time(), 0
    patience = call.service.settings.client_timeout or None
    try:
        async with AsyncExitStack() as turns, asyncio.timeout(patience) as deadline:

            async def arrived(size: int) -> None:
                nonlocal began, received
                was_small, received = received <= LARGE, received + size
                if was_small and received > LARGE:
                    # The client does not have to send while it waits.
                    deadline.reschedule(None)
                    waiting = loop.time()
                    await turns.enter_async_context(
                        call.service.file_turns.receiving.turn(call.client)
                    )
                    began += loop.time() - waiting
                if patience:
                    deadline.reschedule(began + patience + received / SLOWEST)

            yield arrived
    except TimeoutError:
        raise SlowClient(patience or 0, SLOWEST) from None


def content_encoding(request: web.Request) -> str:
    """In lower case; "" if the body is not encoded."""
    encoding = ",".join(request.headers.getall("Content-Encoding", ())).strip().lower()
    return "" if encoding == "identity" else encoding


def _decompressor(request: web.Request) -> Decompressor | None:
    """Returns None if the body is not encoded. Raises BadRequest for an unsupported encoding, and
    for several."""
    encoding = content_encoding(request)
    if not encoding:
        return None
    encoding = "gzip" if encoding == "x-gzip" else encoding  # RFC 9110, 8.4.1.3
    if encoding not in ENCODINGS:
        raise BadRequest(NOT_OURS)
    return Decompressor(encoding)


async def _receive(call: Call, limit: int, decompressor: Decompressor | None) -> bytes:
    """The size limit applies before and after decompression."""
    spool, body = Spool(call.service.large_bodies, call.client), bytearray()
    after_handling(call.request, spool.close)
    async with arriving(call) as arrived:
        while chunk := await call.request.content.readany():
            await arrived(len(chunk))
            await spool.write(chunk)
            if spool.size > limit:
                raise BodyTooLarge(limit)
    await spool.rewind()
    async with _counted(
        call, min(limit, spool.size * (MOST_INFLATED if decompressor else 1)), body
    ):
        if decompressor is None:
            body += await spool.read()
        else:
            while chunk := await spool.read(LARGE):
                # A compressed kilobyte may expand to a megabyte.
                async with call.service.loop_turns.turn(call.client, DECOMPRESS, len(chunk)):
                    body += decompressor.decompress(chunk, limit + 1 - len(body))
                if len(body) > limit:
                    raise BodyTooLarge(limit)
            decompressor.end()
        spool.close()
    return bytes(body).removeprefix(BOM_UTF8)


@asynccontextmanager
async def _counted(call: Call, most: int, body: bytearray) -> AsyncIterator[None]:
    """Reserves ``most`` bytes of the budget while the body is filled, and then the bytes that it
    has, until the request has been handled. Raises Busy."""
    if most <= LARGE:
        yield
        return
    budget, client = call.service.request_bodies, call.client
    await budget.wait_and_take(client, most)
    try:
        yield
    finally:
        after_handling(call.request, partial(budget.give_back, client, len(body)))
        budget.give_back(client, most - len(body))


class DamagedBody(Exception):
    """The body does not match its Content-Encoding."""


class Decompressor:
    """``encoding``: one of ``ENCODINGS``. A gzip file may have several members (RFC 1952, 2.2);
    "deflate" is zlib's format, or without its header, as some clients send it.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._member: zlib._Decompress | None = None
        self._members = 0

    def decompress(self, data: bytes, limit: int) -> bytes:
        """The next part of the body, up to ``limit`` (> 0) bytes; the rest is lost.

        Raises DamagedBody.
        """
        body = bytearray()
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            while piece:
                member = self._member_of(piece)
                try:
                    body += member.decompress(piece, limit - len(body))
                except zlib.error:
                    raise DamagedBody from None
                if len(body) >= limit:
                    return bytes(body)
                piece = member.unused_data
        return bytes(body)

    def end(self) -> None:
        """Raises DamagedBody if the body is incomplete; an empty one is complete."""
        if self._member is not None and not self._member.eof:
            raise DamagedBody

    def _member_of(self, piece: bytes) -> zlib._Decompress:
        """The current member, or the next one if it begins with this piece."""
        if self._member is None or self._member.eof:
            self._members += 1
            if self._members > (MAX_MEMBERS if self._encoding == "gzip" else 1):
                raise DamagedBody
            self._member = zlib.decompressobj(self._format(piece[0]))
        return self._member

    def _format(self, first: int) -> int:
        """zlib's number for the format. The lower half of the first byte of zlib's header is 8."""
        if self._encoding == "gzip":
            return zlib.MAX_WBITS + 16
        return zlib.MAX_WBITS if first & 0xF == zlib.DEFLATED else -zlib.MAX_WBITS


def json_object(document: bytes | Raw, refusal: str) -> dict[str, Raw]:
    """The members of an object. Raises BadRequest with the refusal for other JSON."""
    try:
        return _OBJECT.decode(document)
    except msgspec.ValidationError:
        raise BadRequest(refusal) from None


def check_values(document: bytes) -> None:
    """Raises BadRequest. Text that is not JSON passes or is refused because of its commas."""
    # Each value except the first follows one of these, which texts may contain as well.
    if _structure(document) >= MAX_VALUES and _has_too_many(document):
        raise BadRequest(
            f"The JSON of the request has more than {MAX_VALUES:,} values: "
            "send fewer at a time, or long lists as text"
        )


def _has_too_many(document: bytes) -> bool:
    quotes = document.count(b'"') - document.count(rb"\"")
    return quotes > _QUOTES or _structure(without_strings(document)) >= MAX_VALUES


def _structure(document: bytes) -> int:
    return len(document) - len(document.translate(None, _STRUCTURE))
