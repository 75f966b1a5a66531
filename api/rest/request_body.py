"""The body of a POST: read within bounds, and for a create parsed (readings.md, step 9)."""

from __future__ import annotations

import asyncio

import msgspec
from aiohttp import web
from msgspec import Raw

from api.context import REQUEST_ID, Call
from api.errors import BadRequest, SlowClient
from api.http.compression import ENCODINGS, UNSUPPORTED, Damaged, Decompressor
from api.settings import ApiSettings
from write_side.commands import CreateEntry
from write_side.domain.identity import Actor
from write_side.domain.text import minified

_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_STRING = msgspec.json.Decoder(str)

SLOWEST = 8 * 1024  # bytes a second that a body must arrive with, after ``client_timeout``
MISSING = "Missing required fields: contentTypeSlug and title"
DAMAGED = "Request body cannot be read: its encoding is damaged"
NOT_OURS = "Request body cannot be read: Content-Encoding may be gzip or deflate"


async def receive_body(call: Call) -> bytes:
    """The body, decompressed. Its Content-Type does not matter: forms of other sites cannot send
    the header with the key.

    Raises BadRequest or SlowClient, and aiohttp's 413 as soon as it is too large.
    """
    request, settings = call.request, call.service.settings
    if (request.content_length or 0) > settings.max_body_bytes:
        raise _too_large(settings)
    try:
        return await _read(request, settings, _decompressor(request))
    except (web.RequestPayloadError, Damaged):
        raise BadRequest(DAMAGED) from None
    except ConnectionError:
        # The client will not see this, but it must not count as an internal error.
        raise BadRequest("The client disconnected before its request was complete") from None
    except TimeoutError:
        raise SlowClient from None


def _decompressor(request: web.Request) -> Decompressor | None:
    """None where the body is read as it arrives, also with an unknown encoding."""
    encoding = ",".join(request.headers.getall("Content-Encoding", ())).strip().lower()
    if encoding in UNSUPPORTED:
        raise BadRequest(NOT_OURS)
    return Decompressor(encoding) if encoding in ENCODINGS else None


async def _read(
    request: web.Request, settings: ApiSettings, decompressor: Decompressor | None
) -> bytes:
    """The size limit holds before and after decompression. A steady client may take longer than
    ``client_timeout``, but not forever."""
    body, arrived, limit = bytearray(), 0, settings.max_body_bytes
    began = asyncio.get_running_loop().time()
    patience = settings.client_timeout or None
    async with asyncio.timeout(patience) as deadline:
        while chunk := await request.content.readany():
            arrived += len(chunk)
            body += decompressor.decompress(chunk, limit + 1 - len(body)) if decompressor else chunk
            if max(arrived, len(body)) > limit:
                raise _too_large(settings)
            if patience:
                deadline.reschedule(began + patience + arrived / SLOWEST)
    if decompressor:
        decompressor.end()
    return bytes(body)


def _too_large(settings: ApiSettings) -> web.HTTPRequestEntityTooLarge:
    return web.HTTPRequestEntityTooLarge(settings.max_body_bytes)


def create_command(call: Call, body: bytes) -> CreateEntry:
    """Raises NotJSON, InvalidText or BadRequest."""
    entry = _object(minified(body), MISSING)
    type_slug, title = (_string(entry.get(name)) for name in ("contentTypeSlug", "title"))
    if not type_slug or not title:
        raise BadRequest(MISSING)
    caller = call.known_caller
    return CreateEntry(
        actor=Actor("key", caller.key_id, caller.key_name),
        request_id=call.request[REQUEST_ID],
        scope=call.scope,
        content_type_slug=type_slug,
        title=title,
        slug=_slug(entry),
        fields=_object(entry.get("fields", Raw(b"{}")), "fields must be an object"),
    )


def _slug(entry: dict[str, Raw]) -> str | None:
    """An empty slug counts as absent; null is not a string."""
    if "slug" not in entry:
        return None
    slug = _string(entry["slug"])
    if slug is None:
        raise BadRequest("slug must be a string")
    return slug or None


def _string(value: Raw | None) -> str | None:
    """None where the value is absent or not a string."""
    try:
        return None if value is None else _STRING.decode(value)
    except msgspec.ValidationError:
        return None


def _object(value: bytes | Raw, refusal: str) -> dict[str, Raw]:
    try:
        return _OBJECT.decode(value)
    except msgspec.ValidationError:
        raise BadRequest(refusal) from None
