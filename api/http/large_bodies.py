"""Bodies that take long to send or to receive: in memory within a budget, otherwise in a temporary
file.

A file has no name, so it disappears when the process ends for any reason. Both are sent in pieces
of 256 kB, each after the client has taken all but 64 kB of the one before.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import BinaryIO, cast

from aiohttp import web
from aiohttp.payload import BytesIOPayload, IOBasePayload, Payload

from api.errors import Busy, NoTemporarySpace
from api.http.compression import GZIP_FORMAT, GZIP_LEVEL, tag_of
from api.http.open_connections import most_connections
from write_side.fair_queue import FairQueue, is_within_share

LARGE = 64 * 1024
PIECE = 256 * 1024
"""Bytes that aiohttp sends at a time."""
MEMORY = 32 * 1024 * 1024
"""Bytes of bodies that a process holds in memory."""
PATIENCE = 20.0
"""Seconds to wait until others have given back enough bytes."""
AT_ONCE = 2
"""Bodies that are written to files at a time, each of a different workspace."""
SHARE = 0.25
"""The share of the connections on which such bodies may be sent at a time."""
JSON = "application/json"
WORKSPACE = web.RequestKey("workspace", str)
Release = Callable[[], None]
AFTER_HANDLING = web.RequestKey("after_handling", ExitStack)
AFTER_SENDING = web.RequestKey("after_sending", ExitStack)
"""The callbacks of the request. All are called, even if one fails."""


class ByteBudget:
    """The bytes that requests or responses of a process hold. A workspace may hold half of what the
    others leave, so something is left for each further workspace."""

    def __init__(self, total: int) -> None:
        self._total = total
        self.used = 0
        self._used_by: Counter[str] = Counter()
        self._returned = asyncio.Event()

    def has(self, workspace: str, number: int) -> bool:
        """Whether enough are left."""
        return is_within_share(self._total, self.used, self._used_by[workspace], number)

    def take(self, workspace: str, number: int) -> bool:
        """False if not enough are left."""
        if not self.has(workspace, number):
            return False
        self.used += number
        self._used_by[workspace] += number
        return True

    async def wait_and_take(self, workspace: str, number: int) -> None:
        """Raises Busy if not enough become free in time."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not self.take(workspace, number):
                    await self._returned.wait()
        except TimeoutError:
            raise Busy("Too many large requests and responses are in progress") from None

    def give_back(self, workspace: str, number: int) -> None:
        self.used -= number
        self._used_by[workspace] -= number
        if not self._used_by[workspace]:
            del self._used_by[workspace]
        # Wakes all current waiters.
        self._returned.set()
        self._returned.clear()


class LargeBodies:
    """``file_bytes``: of the temporary files of a process, including those of requests."""

    def __init__(self, file_bytes: int) -> None:
        self.memory = ByteBudget(MEMORY)
        self.files = ByteBudget(file_bytes)
        self._connections = ByteBudget(int(most_connections() * SHARE))
        self.turns = FairQueue(AT_ONCE)

    async def payload(
        self, request: web.BaseRequest, body: bytes, content_type: str, *, must_be_sent: bool
    ) -> bytes | Payload:
        """Counts the body until it is sent. Raises Busy or NoTemporarySpace, unless it must be sent
        because it reports a write."""
        workspace = request.get(WORKSPACE)
        # All responses with a public page share the same bytes.
        if workspace is None or self.hold(request, workspace, len(body)):
            if len(body) <= PIECE:
                return body
            return BytesIOPayload(io.BytesIO(body), content_type=content_type)
        try:
            file = await self.file(request, workspace, len(body))
            await asyncio.to_thread(file.end, body)
        except (Busy, NoTemporarySpace):
            if must_be_sent:
                return BytesIOPayload(io.BytesIO(body), content_type=content_type)
            raise
        return file.payload(content_type)

    def hold(self, request: web.BaseRequest, workspace: str, number: int) -> bool:
        """Counts bytes of memory until the response is sent; False if not enough are left."""
        if not self.has_room(workspace, number):
            return False
        self.memory.take(workspace, number)
        self._connections.take(workspace, 1)
        after_sending(request, partial(self._release, workspace, number))
        return True

    def _release(self, workspace: str, number: int) -> None:
        self.memory.give_back(workspace, number)
        self._connections.give_back(workspace, 1)

    def has_room(self, workspace: str, number: int) -> bool:
        """Whether ``hold`` would succeed."""
        return self.memory.has(workspace, number) and self._connections.has(workspace, 1)

    async def file(self, request: web.BaseRequest, workspace: str, size: int) -> BodyFile:
        """A file for about this many bytes, which are counted until it is sent.

        Raises Busy, NoTemporarySpace.
        """
        # Those who wait would hold connections, too.
        if not self._connections.take(workspace, 1):
            raise Busy("Too many large responses are being sent")
        after_sending(request, partial(self._connections.give_back, workspace, 1))
        await self.reserve(request, workspace, size)
        file = BodyFile()
        after_sending(request, file.close)
        return file

    async def reserve(self, request: web.BaseRequest, workspace: str, size: int) -> None:
        """Counts bytes of files until the response is sent. Raises Busy."""
        await self.files.wait_and_take(workspace, size)
        after_sending(request, partial(self.files.give_back, workspace, size))


@contextmanager
def temporary_space() -> Iterator[None]:
    """Raises NoTemporarySpace in place of OSError."""
    try:
        yield
    except OSError as error:
        raise NoTemporarySpace(error) from None


class BodyFile:
    """``write`` and ``end`` block, so call them in a thread. Raises NoTemporarySpace."""

    def __init__(self) -> None:
        with temporary_space():
            self._file = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - see close
        self._hash = hashlib.sha256()
        self._gzip: zlib._Compress | None = None

    def compress(self) -> None:
        """Call this before the first byte is written."""
        self._gzip = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_FORMAT)

    def write(self, piece: bytes) -> None:
        self._hash.update(piece)
        with temporary_space():
            self._file.write(self._gzip.compress(piece) if self._gzip else piece)

    def end(self, piece: bytes) -> None:
        """Writes the last piece."""
        self.write(piece)
        with temporary_space():
            if self._gzip:
                self._file.write(self._gzip.flush())
            self._file.flush()

    @property
    def tag(self) -> str:
        """The ETag of what was written."""
        return tag_of(self._hash.hexdigest())

    def payload(self, content_type: str) -> Payload:
        self._file.seek(0)
        return _FilePayload(self._file, content_type=content_type)

    def close(self) -> None:
        self._file.close()


class _FilePayload(IOBasePayload):
    """Leaves closing the file to BodyFile. aiohttp would close it in a thread, and of two threads
    that close a file at once, one may get a ValueError."""

    async def close(self) -> None:
        pass


class Spool:
    """A body that is received or exported: written first, then read. Up to LARGE bytes are in
    memory; a file counts among those of its workspace or address until it is closed."""

    def __init__(self, bodies: LargeBodies, client: str) -> None:
        self._files = bodies.files
        self._client = client
        self._file = tempfile.SpooledTemporaryFile(LARGE)  # noqa: SIM115 - see close
        self._counted = 0
        self.size = 0

    async def write(self, piece: bytes, *, patient: bool = False) -> None:
        """``patient``: waits until other files of the client are closed. Raises Busy,
        NoTemporarySpace."""
        self.size += len(piece)
        if self.size <= LARGE:
            self._file.write(piece)
            return
        added = self.size - self._counted
        if patient:
            await self._files.wait_and_take(self._client, added)
        elif not self._files.take(self._client, added):
            raise Busy("Too many large requests and responses are in progress")
        self._counted = self.size
        with temporary_space():
            await asyncio.to_thread(self._file.write, piece)

    async def rewind(self) -> None:
        """Ends writing. Raises NoTemporarySpace."""
        with temporary_space():
            # It writes what is still in a buffer.
            await asyncio.to_thread(self._file.seek, 0)

    async def read(self, size: int = -1) -> bytes:
        """The next bytes, or all; none at the end."""
        if self._counted:
            return await asyncio.to_thread(self._file.read, size)
        return self._file.read(size)

    def close(self) -> None:
        with suppress(OSError):  # the rest of a buffer may not fit on a full disk
            self._file.close()
        given_back, self._counted = self._counted, 0
        if given_back:
            self._files.give_back(self._client, given_back)


class LargeResponse(web.Response):
    """A response from a file. ``tag``: its ETag."""

    def __init__(self, body: Payload, tag: str) -> None:
        super().__init__(body=body, content_type=JSON)
        self.tag = tag


def request_handled(request: web.BaseRequest) -> None:
    """Releases what only the handler needed. The client may read its response slowly."""
    if AFTER_HANDLING in request:
        request.pop(AFTER_HANDLING).close()


def response_sent(request: web.BaseRequest) -> None:
    """Releases what the response held, even if it was not sent."""
    if AFTER_SENDING in request:
        request.pop(AFTER_SENDING).close()


def after_handling(request: web.BaseRequest, release: Release) -> None:
    """Calls ``release`` once the handler has returned or failed."""
    request.setdefault(AFTER_HANDLING, ExitStack()).callback(release)


def after_sending(request: web.BaseRequest, release: Release) -> None:
    """Calls ``release`` once the response is sent, or sending it has failed."""
    request.setdefault(AFTER_SENDING, ExitStack()).callback(release)
