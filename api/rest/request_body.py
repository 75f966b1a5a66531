"""The body of a create, read in the order of readings.md, step 9."""

from __future__ import annotations

import asyncio

import msgspec
from aiohttp import web
from msgspec import Raw

from api.context import REQUEST_ID, Call
from api.errors import BadRequest, SlowClient
from api.http.compression import ENCODINGS, NOT_UNPACKED, Damaged, Unpacking
from api.settings import ApiSettings
from write_side.commands import CreateEntry
from write_side.domain.identity import Actor
from write_side.domain.text import minified

_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_STRING = msgspec.json.Decoder(str)

SLOWEST = 8 * 1024  # bytes a second that a body must come with, after the patience there is
MISSING = "Missing required fields: contentTypeSlug and title"
DAMAGED = "Request body cannot be read: its encoding is damaged"
NOT_OURS = "Request body cannot be read: Content-Encoding may be gzip or deflate"


def create_command(call: Call, sent: bytes) -> CreateEntry:
    """The command that a body asks for. Raises NotJSON, InvalidText or BadRequest."""
    body = _object(minified(sent), MISSING)
    type_slug, title = (_string(body.get(name)) for name in ("contentTypeSlug", "title"))
    if not type_slug or not title:
        raise BadRequest(MISSING)
    caller = call.known_caller
    return CreateEntry(
        actor=Actor("key", caller.key_id, caller.key_name),
        request_id=call.request[REQUEST_ID],
        scope=call.scope,
        content_type_slug=type_slug,
        title=title,
        slug=_slug(body),
        fields=_object(body.get("fields", Raw(b"{}")), "fields must be an object"),
    )


async def receive_body(call: Call) -> bytes:
    """The body, unpacked. Whatever is said of its type: what is JSON is read as such, since the
    key stands in a header that no form of another site can send.

    Raises BadRequest or SlowClient, and aiohttp's 413 as soon as it is too large.
    """
    request, settings = call.request, call.service.settings
    if (request.content_length or 0) > settings.max_body_bytes:
        raise _too_large(settings)
    try:
        return await _read(request, settings, _unpacking(request))
    except (web.RequestPayloadError, Damaged):
        raise BadRequest(DAMAGED) from None
    except ConnectionError:
        # Nobody is left to read this; it is no fault of ours, though.
        raise BadRequest("The client has gone before its request was whole") from None
    except TimeoutError:
        raise SlowClient from None


def _unpacking(request: web.Request) -> Unpacking | None:
    """None where the body is read as it comes: also under an encoding that nobody knows."""
    encoding = ",".join(request.headers.getall("Content-Encoding", ())).strip().lower()
    if encoding in NOT_UNPACKED:
        raise BadRequest(NOT_OURS)
    return Unpacking(encoding) if encoding in ENCODINGS else None


async def _read(request: web.Request, settings: ApiSettings, unpacking: Unpacking | None) -> bytes:
    """Who sends steadily may take longer than ``client_timeout``, but not for ever. The limit
    holds for what is sent and for what that unpacks to."""
    body, sent, limit = bytearray(), 0, settings.max_body_bytes
    began = asyncio.get_running_loop().time()
    patience = settings.client_timeout or None
    async with asyncio.timeout(patience) as deadline:
        while chunk := await request.content.readany():
            sent += len(chunk)
            body += unpacking.unpacked(chunk, limit + 1 - len(body)) if unpacking else chunk
            if max(sent, len(body)) > limit:
                raise _too_large(settings)
            if patience:
                deadline.reschedule(began + patience + sent / SLOWEST)
    if unpacking:
        unpacking.end()
    return bytes(body)


def _too_large(settings: ApiSettings) -> web.HTTPRequestEntityTooLarge:
    return web.HTTPRequestEntityTooLarge(settings.max_body_bytes)


def _slug(body: dict[str, Raw]) -> str | None:
    """An empty one counts as absent; null is not a string."""
    if "slug" not in body:
        return None
    slug = _string(body["slug"])
    if slug is None:
        raise BadRequest("slug must be a string")
    return slug or None


def _string(value: Raw | None) -> str | None:
    """The string, or None where the value is absent or something else."""
    try:
        return None if value is None else _STRING.decode(value)
    except msgspec.ValidationError:
        return None


def _object(value: bytes | Raw, otherwise: str) -> dict[str, Raw]:
    try:
        return _OBJECT.decode(value)
    except msgspec.ValidationError:
        raise BadRequest(otherwise) from None
