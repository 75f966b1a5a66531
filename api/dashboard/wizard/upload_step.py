"""The first step: a file, its content type and the language of its entries."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, cast

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader
from msgspec import Struct

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import CSRF, CSRF_HEADER, redirect
from api.dashboard.security import check_csrf_token
from api.dashboard.wizard.form_choices import form_choices, reading_choice
from api.dashboard.wizard.wizard_steps import RECEIVING, charge_worker, check_cost, show_step
from api.errors import BadRequest, SlowClient
from api.rest.request_body import SLOWEST
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.locales import supported_locales
from write_side.imports.table import LIMITS, FileRefused
from write_side.imports.uploads import keep_upload

FILE = "file"
MAX_NAME = 1_000
MAX_FIELDS = 10
MAX_LINES = 200
_MAX_FIELD = 4 * 1024
_CHUNK = 64 * 1024
_NO_FILE = "Choose a file"
_UNREADABLE = "This form cannot be read"
_MALFORMED = (
    web.RequestPayloadError,
    HttpProcessingError,
    ValueError,
    AssertionError,
    RuntimeError,
)
"""All that aiohttp raises for malformed parts."""


class FileForm(Struct):
    """``problem``: why there is no usable file; ``status`` is the response's status then."""

    fields: dict[str, str]
    name: str = ""
    document: bytes = b""
    problem: str = ""
    status: int = 422

    def text(self, name: str) -> str:
        return self.fields.get(name, "")


async def show_upload(request: DashboardRequest) -> web.StreamResponse:
    return await _show(request, FileForm(dict(request.query)), 200)


async def receive_upload(request: DashboardRequest) -> web.StreamResponse:
    """Nothing of the body is read before a slot is free."""
    await check_cost(request)
    async with request.request.app[RECEIVING].slot(request.scope.workspace):
        form = await read_file_form(request)
        form.problem = form.problem or await _problem(request, form)
        if form.problem:
            return await _show(request, form, form.status)
        try:
            upload = await keep_upload(
                request.repository,
                request.scope,
                form.name,
                form.document,
                reading_choice(form.fields),
                charge=partial(charge_worker, request),
            )
        except FileRefused as refused:
            form.problem = str(refused)
            return await _show(request, form, 422)
        chosen = {"type": form.text("type"), "language": _language(form)}
        return redirect(request.link("imports", upload.id, "columns", **chosen))


async def _problem(request: DashboardRequest, form: FileForm) -> str:
    """What is wrong with the fields next to the file."""
    if _language(form) not in supported_locales():
        return "Choose a language from the list"
    if form.text("type") not in dict((await form_choices(request)).types):
        return "Choose a content type for the entries"
    return ""


def _language(form: FileForm) -> str:
    return form.text("language") or BASE_LANGUAGE


async def _show(request: DashboardRequest, form: FileForm, status: int) -> web.StreamResponse:
    chosen = {"type": form.text("type"), "language": form.text("language")}
    return await show_step(
        request,
        "wizard/upload.html",
        request.link("imports", "new", **chosen),
        status,
        form=form,
        language=_language(form),
        choices=await form_choices(request),
        max_rows=LIMITS.rows,
        max_bytes=LIMITS.upload_bytes,
    )


async def read_file_form(request: DashboardRequest) -> FileForm:
    """Without a token in the header, the first part must be a valid token, or nothing after it is
    read.

    Raises BadRequest, ForgedRequest, SlowClient.
    """
    if request.request.content_type != "multipart/form-data":
        raise BadRequest(_UNREADABLE)
    try:
        return await _FormReader(request).read()
    except TimeoutError:
        raise SlowClient from None
    except ConnectionError:
        raise BadRequest("The connection was closed before the file was complete") from None
    except _MALFORMED:
        raise BadRequest(_UNREADABLE) from None


class _BoundedLines:
    """The body, of which so many lines may be read one by one: boundaries and headers. aiohttp
    reads all that comes before the first boundary in this way, without a pause."""

    def __init__(self, content: StreamReader) -> None:
        self._content = content
        self._left = MAX_LINES

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def readline(self, **options: Any) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise BadRequest(_UNREADABLE)
        return await self._content.readline(**options)


class _FormReader:
    """Reads the parts of one form, within limits of time and size."""

    def __init__(self, request: DashboardRequest) -> None:
        self._request = request
        self._is_checked = CSRF_HEADER in request.request.headers
        self._patience = request.service.settings.client_timeout or None
        self._began = asyncio.get_running_loop().time()
        self._received = 0

    async def read(self) -> FileForm:
        form = FileForm({})
        async with asyncio.timeout(self._patience) as self._deadline:
            http_request = self._request.request
            content = cast("StreamReader", _BoundedLines(http_request.content))
            reader = MultipartReader(http_request.headers, content)
            for _ in range(MAX_FIELDS):
                part = await reader.next()
                if part is None:
                    break
                if not isinstance(part, BodyPartReader):
                    raise BadRequest(_UNREADABLE)
                if not self._is_checked and part.name != CSRF:
                    check_csrf_token(self._request.session, "")
                if part.name == FILE:
                    # The last part: the page's form has all other fields before it.
                    await self._file(part, form)
                    return form
                await self._field(part, form)
        form.problem = _NO_FILE
        return form

    async def _field(self, part: BodyPartReader, form: FileForm) -> None:
        content = await self._content(part, _MAX_FIELD)
        if content is None:
            raise BadRequest(_UNREADABLE)
        text = content.decode()
        form.fields[part.name or ""] = text
        if part.name == CSRF and not self._is_checked:
            check_csrf_token(self._request.session, text)
            self._is_checked = True

    async def _file(self, part: BodyPartReader, form: FileForm) -> None:
        form.name = (part.filename or "")[-MAX_NAME:]
        if not form.name:
            form.problem = _NO_FILE
            return
        document = await self._content(part, LIMITS.upload_bytes)
        if document is None:
            limit = f"{LIMITS.upload_bytes // 1024**2} MB"
            form.problem = f"{form.name} is too large: the limit is {limit}. Split the file"
            form.status = 413
            return
        form.document = document

    async def _content(self, part: BodyPartReader, limit: int) -> bytes | None:
        """None as soon as the part exceeds the limit."""
        chunks: list[bytes] = []
        while chunk := await part.read_chunk(_CHUNK):
            chunks.append(chunk)
            limit -= len(chunk)
            self._received += len(chunk)
            if limit < 0:
                return None
            if self._patience:
                self._deadline.reschedule(self._began + self._patience + self._received / SLOWEST)
        return b"".join(chunks)
