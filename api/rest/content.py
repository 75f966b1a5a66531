"""The endpoints for entries (behaviour.md §4.1 to §4.4)."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from aiohttp import web
from msgspec import Raw
from msgspec.structs import replace

from api.context import Call
from api.errors import BadRequest
from api.http.loop_turns import DECODE_JSON
from api.rest import parameters, point_in_time, wire
from api.rest.cached_response import add_written_position, json_response
from api.rest.entries_response import EntryReader, entries_response, past_response
from api.rest.idempotency import HEADER, command_key, digest
from api.rest.ignored_members import ignored_header, ignored_names
from api.rest.list_query import list_query
from api.rest.list_response import ListKind, list_response
from api.rest.point_in_time import PastSlugKey
from api.rest.request_body import check_values, defer_continue, json_object, receive_body
from api.rest.request_checks import check_edit, check_read, check_read_of_status, with_checks
from api.rest.shape import parse_shape
from read_side import entries, notices, paging
from read_side.entries import EntryRow
from read_side.paging import Page
from read_side.pool import Pool
from read_side.refusals import EntryNotFound
from write_side.commands import CreateEntry
from write_side.dispatch import execute
from write_side.domain.text import minified
from write_side.handlers.entries import command_parts
from write_side.waiting import in_thread_if_large

FIELDS = "fields must be an object; leave it out to set no values"
MISSING = "Missing required fields: contentTypeSlug and title"
_STRING = msgspec.json.Decoder(str)
# aiohttp's default pattern excludes braces, which slugs may contain.
_TYPE = "{type:[^/]+}"
_SLUG = "{slug:[^/]+}"


def routes() -> list[web.RouteDef]:
    return [
        web.get(f"/v1/content/{_TYPE}", with_checks(check_read_of_status, list_of_type)),
        web.get(f"/v1/content/{_TYPE}/{_SLUG}", with_checks(check_read, single_entry)),
        web.get("/v1/content", with_checks(check_read, list_across_types)),
        web.post("/v1/content", with_checks(check_edit, create), expect_handler=defer_continue),
    ]


_OF_TYPE = ListKind(True, wire.ListedEntry, wire.listed_entry, partial(wire.TypeListBody, True))
_ACROSS_TYPES = ListKind(False, wire.AnyEntry, wire.entry_of_any_type, wire.ListBody)


async def list_of_type(call: Call) -> web.Response:
    """§4.1: by default the published entries, 10 per page; with ``asOf``, those of that time."""
    query = call.request.query
    params = list_query(query, 10)
    filters = {
        "type_slug": parameters.searchable(call.request.match_info["type"]),
        "status": parameters.status(query),
        "language": parameters.language(query),
    }
    return await list_response(call, _OF_TYPE, params, filters, paging.list_of_type)


async def list_across_types(call: Call) -> web.Response:
    """§4.3: in every status that the key may read, 50 per page; with ``asOf``, those of that
    time."""
    query = call.request.query
    params = list_query(query, 50)
    filters = {
        "type_slug": parameters.type_slug(query),
        "status": "published" if call.published_only else None,
    }
    return await list_response(call, _ACROSS_TYPES, params, filters, paging.list_across_types)


async def single_entry(call: Call) -> web.Response:
    """§4.2: in any status that the key may read; with ``asOf``, as it was at that time."""
    query, service, scope = call.request.query, call.service, call.scope
    at = parameters.as_of(query)
    where = {
        "type_slug": parameters.searchable(call.request.match_info["type"]),
        "slug": parameters.searchable(call.request.match_info["slug"]),
        "language": parameters.language(query),
        "locale": call.locale,
    }
    shape = parse_shape(query, wire.SingleEntry)

    def body(shown: list[Any], _matches: object = 1) -> wire.SingleBody:
        return wire.SingleBody(True, shown[0])

    if at is not None:
        past = await point_in_time.entry_of_slug(service, scope, PastSlugKey(**where, at=at))
        if not call.may_read(past.entries[0].row.status):
            raise EntryNotFound
        budget = point_in_time.ListBudget()
        return await past_response(
            call, shape, past, at=at, budget=budget, entry=wire.single_entry, body=body
        )

    async def read_page(pool: Pool) -> Page[EntryRow, int]:
        row = await entries.entry_of_slug(pool, scope, **where)
        if not call.may_read(row.status):
            raise EntryNotFound
        return Page([row], 1, stamp=row.stamp)

    reader = EntryReader(
        call=call,
        shape=shape,
        parameters=("one", *where.values()),
        dependencies=(notices.singles_of_type(scope, where["type_slug"]),),
        type_slug=where["type_slug"],
        read_page=read_page,
        entry=wire.single_entry,
        body=body,
        is_single=True,
    )
    return await entries_response(reader)


async def create(call: Call) -> web.Response:
    """§4.4: always a draft. With an Idempotency-Key, repeated requests create nothing."""
    key = command_key(call.request.headers.get(HEADER), call.caller.key_id, call.scope)
    body = await receive_body(call)
    turn = partial(call.service.loop_turns.turn, call.scope.workspace, DECODE_JSON, len(body))
    async with turn():
        check_values(body)
    async with turn():
        stored = minified(body)
    async with turn():
        command = create_command(call, stored)
    if key is None:
        return await _created(call, command)
    with call.service.in_flight.reserve(key):
        return await _created(call, replace(command, command_key=key, digest=digest(body)))


async def _created(call: Call, command: CreateEntry) -> web.Response:
    """Responds once the entry can be read, or after ``read_your_writes`` seconds."""
    reserve = call.service.limits.projection(call.caller)
    executed = await execute(command, call.service.repository, reserve)
    # Made while the projector works.
    entry, ignored = await in_thread_if_large(
        command_parts(command),
        lambda: (wire.created_entry(executed), ignored_header(ignored_names(command, executed))),
    )
    response = json_response(
        call, wire.CreatedBody(entry, f"Content entry '{entry.slug}' was created")
    )
    response.headers.update(ignored)
    await wait_until_readable(call, response, executed.position)
    return response


async def wait_until_readable(call: Call, response: web.Response, position: int) -> None:
    """Waits until the write can be read, for up to ``read_your_writes`` seconds. Headers of the
    response give its position, and say whether it can be read."""
    service = call.service
    visible = await service.checkpoint.wait(position, service.settings.read_your_writes)
    add_written_position(call, response, position, visible=visible)


def create_command(call: Call, body: bytes) -> CreateEntry:
    """``body`` is minified JSON. Raises BadRequest."""
    entry = json_object(body, MISSING)
    type_slug, title = (_string(entry.get(name)) for name in ("contentTypeSlug", "title"))
    if not (type_slug and type_slug.strip() and title and title.strip()):
        raise BadRequest(MISSING)
    slug = _string(entry["slug"]) if "slug" in entry else ""
    if slug is None:
        raise BadRequest("slug must be a string: leave it out to derive it from the title")
    return CreateEntry(
        actor=call.actor,
        request_id=call.request_id,
        scope=call.scope,
        content_type_slug=type_slug,
        title=title,
        slug=slug or None,
        fields=json_object(entry.get("fields", Raw(b"{}")), FIELDS),
    )


def _string(value: Raw | None) -> str | None:
    """None if the value is absent or not a string."""
    try:
        return None if value is None else _STRING.decode(value)
    except msgspec.ValidationError:
        return None
