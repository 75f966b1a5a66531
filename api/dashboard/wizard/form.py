"""A form with a file, taken as it comes: never more of it is held than may be uploaded, and who
sends it too slowly is not waited for."""

from __future__ import annotations

import asyncio

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import Struct

from api.dashboard.pages import CSRF, CSRF_HEADER
from api.dashboard.visit import Visit, check_token
from api.errors import BadRequest, SlowClient
from api.rest.request_body import SLOWEST
from write_side.imports.files import LIMITS

FILE = "file"
LONGEST_NAME = 1_000
MOST_FIELDS = 10
_LONGEST_FIELD = 4 * 1024
_PIECE = 64 * 1024
_UNREADABLE = "This form cannot be read"
_MALFORMED = (
    web.RequestPayloadError,
    HttpProcessingError,
    ValueError,
    AssertionError,
    RuntimeError,
)
"""All that aiohttp raises for parts that are none."""


class Sent(Struct):
    """``problem`` says why there is no file to read on with. ``status`` goes with it."""

    fields: dict[str, str]
    name: str = ""
    document: bytes = b""
    problem: str = ""
    status: int = 422

    def text(self, name: str) -> str:
        return self.fields.get(name, "")


async def sent_form(visit: Visit) -> Sent:
    """Its token is checked before anything else of it is read, where no header had it.

    Raises BadRequest, Forged, SlowClient.
    """
    if visit.request.content_type != "multipart/form-data":
        raise BadRequest(_UNREADABLE)
    try:
        return await _Receiving(visit).form()
    except TimeoutError:
        raise SlowClient from None
    except ConnectionError:
        raise BadRequest("The browser has gone before its file was whole") from None
    except _MALFORMED:
        raise BadRequest(_UNREADABLE) from None


class _Receiving:
    """The parts of one form, in time and within bounds."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._is_checked = CSRF_HEADER in visit.request.headers
        self._patience = visit.service.settings.client_timeout or None
        self._began = asyncio.get_running_loop().time()
        self._came = 0

    async def form(self) -> Sent:
        sent = Sent({})
        async with asyncio.timeout(self._patience) as self._deadline:
            reader = await self._visit.request.multipart()
            for _ in range(MOST_FIELDS):
                part = await reader.next()
                if part is None:
                    break
                if not isinstance(part, BodyPartReader):
                    raise BadRequest(_UNREADABLE)
                self._check_first(part)
                if part.name == FILE:
                    # The last part: what the form has to say besides has been read.
                    return await self._with_file(part, sent)
                await self._field(part, sent)
        sent.problem = "Choose a file"
        return sent

    def _check_first(self, part: BodyPartReader) -> None:
        if not self._is_checked and part.name != CSRF:
            check_token(self._visit, "")

    async def _field(self, part: BodyPartReader, sent: Sent) -> None:
        read = await self._read(part, _LONGEST_FIELD)
        if read is None:
            raise BadRequest(_UNREADABLE)
        text = read.decode()
        sent.fields[part.name or ""] = text
        if part.name == CSRF and not self._is_checked:
            check_token(self._visit, text)
            self._is_checked = True

    async def _with_file(self, part: BodyPartReader, sent: Sent) -> Sent:
        sent.name = (part.filename or "")[-LONGEST_NAME:]
        if not sent.name:
            sent.problem = "Choose a file"
            return sent
        document = await self._read(part, LIMITS.upload_bytes)
        if document is None:
            return _too_large(sent)
        sent.document = document
        return sent

    async def _read(self, part: BodyPartReader, limit: int) -> bytes | None:
        """None as soon as there is more than may be."""
        pieces: list[bytes] = []
        while piece := await part.read_chunk(_PIECE):
            pieces.append(piece)
            limit -= len(piece)
            self._came += len(piece)
            if limit < 0:
                return None
            if self._patience:
                self._deadline.reschedule(self._began + self._patience + self._came / SLOWEST)
        return b"".join(pieces)


def _too_large(sent: Sent) -> Sent:
    name = sent.name or "The file"
    sent.problem = f"{name} is too large: at most {_megabytes()} are imported. Split it in parts"
    sent.status = 413
    return sent


def _megabytes() -> str:
    return f"{LIMITS.upload_bytes // 1024**2} MB"
