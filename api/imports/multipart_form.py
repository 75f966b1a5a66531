"""A multipart form with one file, read as a stream within limits of time and size."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator
from typing import Any, cast

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader
from msgspec import Struct

from api.context import Call
from api.errors import BadRequest, FileTooLarge
from api.http.large_bodies import Spool, after_handling
from api.rest.request_body import arriving
from write_side.domain.refusals import shortened
from write_side.domain.text import unstorable
from write_side.imports.table import LIMITS

FILE = "file"
MAX_NAME = 1_000
LINES_PER_FIELD = 20
"""Lines with boundaries and headers, which are read one by one."""
UNREADABLE = (
    "This form cannot be read: send multipart/form-data with its boundary, one file, and UTF-8"
)
_MAX_FIELD = 4 * 1024
_MAX_FIELDS = 1024 * 1024
"""Characters of all names and values, which are in memory while the rest arrives."""
_CHUNK = 64 * 1024
_MALFORMED = (
    web.RequestPayloadError,
    HttpProcessingError,
    ValueError,
    AssertionError,
    RuntimeError,
)
"""Every exception that aiohttp raises for malformed parts."""


def is_form(request: web.Request) -> bool:
    """Reads the media type alone. For its parameters, aiohttp's ``content_type`` takes quadratic
    time: up to 0.6 s."""
    media_type = request.headers.get("Content-Type", "").partition(";")[0]
    return media_type.strip().lower() == "multipart/form-data"


class FileForm(Struct):
    """``name`` is the file's name, "" if none was sent. ``is_cut``: there are more parts."""

    fields: dict[str, str]
    name: str = ""
    file: Spool | None = None
    is_cut: bool = False

    async def document(self) -> bytes:
        """The file. Call this in a turn, because it takes memory."""
        return await self.file.read() if self.file else b""

    def text(self, name: str) -> str:
        return self.fields.get(name, "")


class _BoundedLines:
    """The body, with a limit on the lines that are read one by one: boundaries and headers. aiohttp
    reads everything before the first boundary in this way, without a pause."""

    def __init__(self, content: StreamReader, most: int) -> None:
        self._content = content
        self._left = most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def readline(self, **options: Any) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise BadRequest(UNREADABLE)
        return await self._content.readline(**options)


class FormReader:
    """Reads the parts of one form: up to ``most`` of them, in any order."""

    def __init__(self, call: Call, most: int) -> None:
        self._call = call
        self._most = most
        self._characters = 0
        self.form = FileForm({})

    async def read(self) -> FileForm:
        """Raises BadRequest, SlowClient, FileTooLarge, Busy, NoTemporarySpace, Overloaded. ``form``
        then has what was read so far."""
        if not is_form(self._call.request):
            raise BadRequest(UNREADABLE)
        # aiohttp warns of malformed headers of parts, and a warning would print them to the log.
        warnings.filterwarnings("ignore", module=r"aiohttp\.multipart")
        try:
            await self._parts()
        except ConnectionError:
            closed = "The connection was closed before the file was complete"
            raise BadRequest(closed) from None
        except _MALFORMED:
            raise BadRequest(UNREADABLE) from None
        return self.form

    def check_part(self, name: str) -> None:
        """Called before a part is read."""

    def check_field(self, name: str, text: str) -> None:
        """Called after a field has been read."""

    async def _parts(self) -> None:
        async with arriving(self._call) as self._arrived:
            request = self._call.request
            bounded = _BoundedLines(request.content, self._most * LINES_PER_FIELD)
            reader = MultipartReader(request.headers, cast("StreamReader", bounded))
            for _ in range(self._most):
                # Parts that have arrived are read without waiting, in 0.3 ms each.
                await asyncio.sleep(0)
                part = await reader.next()
                if part is None:
                    return
                if not isinstance(part, BodyPartReader):
                    raise BadRequest(UNREADABLE)
                if unstorable(f"{part.name}{part.filename}"):
                    raise BadRequest(UNREADABLE)
                self.check_part(part.name or "")
                await (self._file if part.name == FILE else self._field)(part)
        self.form.is_cut = True

    async def _field(self, part: BodyPartReader) -> None:
        """If several fields have the same name, the first one counts."""
        content = bytearray()
        async for chunk in self._chunks(part):
            content += chunk
            if len(content) > _MAX_FIELD:
                field = shortened(part.name or "")
                raise BadRequest(f"Part {field!r} is too long: the limit is {_MAX_FIELD:,} bytes")
        name, text = part.name or "", content.decode()
        self._characters += len(name) + len(text)
        if self._characters > _MAX_FIELDS:
            raise BadRequest(UNREADABLE)
        self.form.fields.setdefault(name, text)
        self.check_field(name, text)

    async def _file(self, part: BodyPartReader) -> None:
        if self.form.name:
            raise BadRequest(UNREADABLE)
        self.form.name = (part.filename or "")[-MAX_NAME:]
        file = Spool(self._call.service.large_bodies, self._call.client)
        after_handling(self._call.request, file.close)
        async for chunk in self._chunks(part):
            await file.write(chunk)
            if file.size > LIMITS.upload_bytes:
                raise FileTooLarge(self.form.name, LIMITS.upload_bytes)
        await file.rewind()
        self.form.file = file

    async def _chunks(self, part: BodyPartReader) -> AsyncIterator[bytes]:
        while chunk := await part.read_chunk(_CHUNK):
            await self._arrived(len(chunk))
            yield chunk
